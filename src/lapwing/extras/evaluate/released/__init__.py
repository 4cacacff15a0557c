"""The report of a release, of one table or of linked ones: the sections of `report`, filled with its numbers."""
