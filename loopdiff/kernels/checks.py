"""What operators ask of their arguments, written out where they are called."""

from __future__ import annotations

from loopdiff.numpy_functions.branching import holds_integers


def require_floats(x):
    """Refuse an array of integers whose type the result would have."""
    if holds_integers(x):
        raise ValueError("integers have no room for the result, which has their type: use `x.astype(float)`")


def require_ascending(starts):
    """Refuse places where lists begin, one behind the other, that go back."""
    for k in range(starts.shape[0] - 1):
        if starts[k] > starts[k + 1]:
            raise ValueError("`starts` must ascend")
