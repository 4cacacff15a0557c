"""What may be said in public about the accuracy of a release."""
