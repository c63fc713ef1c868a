"""Checks of derivatives against each other, and of rules against the functions that they are for."""
