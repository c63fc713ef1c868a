"""One function for one combination of argument types: its units of compilation, and what it expects and gives."""
