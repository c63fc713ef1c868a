"""Transformations of loops that do not depend on a schedule."""
