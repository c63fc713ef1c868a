"""Derivatives of LoopSets as LoopSets: partials, tangents, the two sweeps, and what is kept between them."""
