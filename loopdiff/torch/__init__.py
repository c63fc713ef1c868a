"""Loop nests as PyTorch functions: tensors in and out without copies, derivatives by the loops' own sweeps.

Importing this module imports PyTorch. `wrap` is all there is to use.
"""

from loopdiff.torch import wrapping

wrap = wrapping.wrap

__all__ = ["wrap"]
