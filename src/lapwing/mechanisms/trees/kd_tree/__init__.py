"""KDTree: cells that are cut where rows are."""
