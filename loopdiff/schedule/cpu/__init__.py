"""Schedules for processors: vectors, register tiles, threads."""
