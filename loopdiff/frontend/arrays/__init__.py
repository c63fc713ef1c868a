"""Arrays as programs use them: subscripts, views, whole-array expressions, reductions, all written out as loops."""
