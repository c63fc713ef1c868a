"""Calls from Python: arguments in, compiled sweeps run, values and derivatives out."""
