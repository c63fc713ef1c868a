"""What a compilation derived, kept for later processes under a key of everything that it depends on."""
