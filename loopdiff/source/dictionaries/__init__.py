"""Dictionaries whose keys the run says, as lists of their keys, in the order of insertion, and of their values."""
