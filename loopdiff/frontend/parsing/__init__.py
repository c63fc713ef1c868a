"""The walk over a function's syntax tree: statements, expressions, calls, and what names mean on the way."""
