"""Source text of functions: where it is, what its names mean, and places in it as reports give them."""
