"""Schedules and launch plans in words."""
