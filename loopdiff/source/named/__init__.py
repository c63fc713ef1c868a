"""Names that stand for ranges, slices and parts of results, which are written where the names are read."""
