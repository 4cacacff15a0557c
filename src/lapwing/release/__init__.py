"""What a release can do: rows, queries, accuracy, replicates, reports, files."""
