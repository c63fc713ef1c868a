"""Transformations of reverse sweeps, and of both sweeps together."""
