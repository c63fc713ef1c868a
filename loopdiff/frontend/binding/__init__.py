"""From the surface LoopSet to one for the types of a call: types, shapes, lifetimes, complex numbers as pairs."""
