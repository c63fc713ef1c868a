"""Lists that change in other ways than at their ends, or give their names to others: as lists that grow and shrink."""
