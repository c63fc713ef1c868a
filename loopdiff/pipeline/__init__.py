"""From a Python function to compiled code: the passes in their order, what runs them, and what is derived when."""
