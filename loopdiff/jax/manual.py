"""Inside `jax.shard_map`: over which axes of the mesh values vary, which is part of their types there.

An output whose type leaves an axis out that an operand varies over makes JAX forget a sum over it: a wrong gradient
without an error. The names of these things changed with JAX 0.7, 0.9 and 0.10.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import jax
from jax.core import ShapedArray

Kinds = Sequence[jax.ShapeDtypeStruct]


def axes_of(value: Any) -> frozenset[str]:
    """The axes over which a value, or one of its type, varies."""
    kind = value if isinstance(value, ShapedArray) else jax.typeof(value)
    if hasattr(kind, "mat"):
        return kind.mat.varying
    return getattr(kind, "vma", frozenset())


def attributes(like: Sequence[Any], rank: int) -> dict[str, Any]:
    """What the type of an array of `rank` says besides shape and dtype where it follows from the values `like`."""
    axes = frozenset[str]().union(*map(axes_of, like))
    if not axes:
        return {}
    (kind, *_) = (jax.typeof(v) if not isinstance(v, ShapedArray) else v for v in like if axes_of(v))
    everywhere = jax.sharding.PartitionSpec(*[None] * rank)
    sharding = jax.sharding.NamedSharding(kind.sharding.mesh, everywhere)
    manual: Any = getattr(jax.sharding, "ManualAxisType", None)
    return {"sharding": sharding, "vma": axes} if manual is None else {
        "sharding": sharding, "manual_axis_type": manual(varying=axes)
    }  # fmt: skip


def types_like(kinds: Kinds, like: Sequence[Any]) -> list[Any]:
    """The types of outputs that follow from values of the types `like`."""
    return [ShapedArray(k.shape, k.dtype, **attributes(like, len(k.shape))) for k in kinds]


def structs_like(kinds: Kinds, like: Sequence[Any]) -> list[jax.ShapeDtypeStruct]:
    """`types_like`, for foreign calls."""
    return [jax.ShapeDtypeStruct(k.shape, k.dtype, **attributes(like, len(k.shape))) for k in kinds]


def varying_together(values: Sequence[Any]) -> tuple[Any, ...]:
    """Values that vary over the same axes: what is made to vary has the sum over these axes as its derivative."""
    axes = frozenset[str]().union(*map(axes_of, values))
    missing = [tuple(sorted(axes - axes_of(v))) for v in values] if axes else [() for _ in values]
    return tuple(spread(v, over) if over else v for v, over in zip(values, missing, strict=True))


def spread(value: Any, axes: tuple[str, ...]) -> Any:
    cast: Any = getattr(jax.lax, "pcast", None)
    return cast(value, axes, to="varying") if cast is not None else jax.lax.pvary(value, axes)  # pyright: ignore
