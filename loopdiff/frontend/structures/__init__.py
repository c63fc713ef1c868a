"""Tuples, lists, dictionaries and records, taken apart before a function is parsed: what is left are variables."""
