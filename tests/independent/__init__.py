"""A second generator of programs, with an oracle of its own: written from the documentation, not from the compiler."""
