"""Loop nests as JAX functions: compiled handlers behind XLA's typed foreign function interface, no Python callback.

Importing this module imports JAX. `wrap` is all there is to use.
"""

from loopdiff.jax.wrapping import wrap

__all__ = ["wrap"]
