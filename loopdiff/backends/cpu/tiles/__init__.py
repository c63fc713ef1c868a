"""Contractions as register tiles, as tiles over windows, and as products of matrices."""
