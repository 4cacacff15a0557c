"""k-anonymous tables by microaggregation, which are not differentially private."""
