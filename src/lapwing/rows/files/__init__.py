"""Files and folders of rows, read in chunks."""
