"""Loop transformations: distribution, reversal, fusion, gather form."""
