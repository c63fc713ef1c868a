"""Loops on several threads: a pool of native threads, and what generated code says to it."""
