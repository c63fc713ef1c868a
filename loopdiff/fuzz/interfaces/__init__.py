"""Programs about what functions take, give and are differentiated by: structures, methods, values beside a loss, parts
in `wrt`, and gradients inside programs."""
