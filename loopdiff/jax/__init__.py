"""Loop nests as JAX functions: compiled handlers behind XLA's typed foreign function interface, no Python callback.

Importing this module imports JAX. `wrap` makes such functions; `targets` is for `jax.export`.
"""

from loopdiff.jax.exporting import targets
from loopdiff.jax.wrapping import wrap

__all__ = ["targets", "wrap"]
