"""Programs with more around them: values beside the loss, methods, any number of arguments, parts of structures in
`wrt`, and gradients inside programs. What they compute is drawn elsewhere."""
