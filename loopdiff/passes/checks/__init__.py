"""Checks that keep compiled code inside of its arrays: which there are, and where they are made."""
