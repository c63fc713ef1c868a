"""Calls: of functions of the program, of what is known, of rules and of derivatives."""
