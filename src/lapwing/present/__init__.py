"""What a release, a plan or a certificate says: documents, and how they are shown."""
