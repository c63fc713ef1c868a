"""Arrays and tables of other libraries: what to pass in their place."""

from __future__ import annotations

from typing import Any, NamedTuple


class Foreign(NamedTuple):
    """What a value is, and what to write."""

    said: str
    hint: str


# By the library of a class and the start or end of its name, or of the name of a class above it; the first that fits.
KINDS: tuple[tuple[str, str, Foreign], ...] = (
    ("jax", "Tracer", Foreign("is traced by JAX", "`loopdiff.jax.wrap(f)` is a function for `jit`, `grad` and `vmap`")),
    ("jaxlib", "Array", Foreign("is an array of JAX", "pass `np.asarray({})`, or call `loopdiff.jax.wrap(f)`")),
    ("torch", "Tensor", Foreign("is a tensor of PyTorch", "pass `{}.numpy()`, or call `loopdiff.torch.wrap(f)`")),
    ("tensorflow", "Tensor", Foreign("is a tensor of TensorFlow", "pass `{}.numpy()`")),
    ("pandas", "", Foreign("is a table or column of pandas", "pass `{}.to_numpy()`")),
    ("polars", "", Foreign("is a table or column of polars", "pass `{}.to_numpy()`")),
    ("xarray", "", Foreign("is an array of xarray", "pass `{}.values`")),
    ("scipy", "sparse", Foreign("is a sparse matrix", "pass `{0}.toarray()`, or `{0}.data`, `{0}.indices` and so on")),
)  # fmt: skip


def foreign_value(name: str, value: Any) -> Foreign | None:
    """What `value`, the argument `name`, is and what to pass, where it is of a known library."""
    for kind in type(value).__mro__:
        library, *rest = str(kind.__module__).split(".")
        for of, word, found in KINDS:
            if library == of and (word in kind.__name__ or word in rest or word == ""):
                return Foreign(found.said, found.hint.format(name))
    return None
