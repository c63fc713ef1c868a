"""Automatic sharding under `jit`: examples of a batch may be on several devices, which run the loops for their own.

What all examples share is the same everywhere, and gradients by it are summed over the devices. All other axes are
whole on each device.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Sequence
from itertools import count
from typing import Any

import jax
from jax.experimental.custom_partitioning import custom_partitioning
from jax.extend.core import Primitive
from jax.sharding import NamedSharding, PartitionSpec

Compute = Callable[..., Sequence[Any]]
# JAX 0.6 takes no axes that are whole: there, XLA gathers batches.
CAN_PARTITION = "need_replication_factors" in inspect.signature(custom_partitioning.def_partition).parameters


def let_know_devices(primitive: Primitive) -> None:
    """JAX must know the devices when it makes code of a primitive that may be partitioned."""
    from jax._src import dispatch

    dispatch.prim_requires_devices_during_lowering.add(primitive)


def partitioned(
    compute: Compute, local: Callable[[int], Compute], given: Sequence[Any], in_batch: Sequence[bool],
    out_batch: Sequence[bool], kinds: Sequence[Any],
) -> list[Any]:  # fmt: skip
    """`compute(*given)`, which XLA may partition along the batch.

    `in_batch` and `out_batch` say of operands and results whether their first axis is the batch; other results are
    summed over it. `local` gives the function for a part of so many examples, `kinds` are the results for all of them.
    """
    if not (CAN_PARTITION and any(in_batch)):
        return [*compute(*given)]
    rule, whole = rule_of([v.ndim for v in given], [len(k.shape) for k in kinds], in_batch, out_batch)
    first = list(in_batch).index(True)

    def partition(mesh: Any, operands: Any, results: Any) -> Any:
        own = operands[first].sharding.spec
        axes = axes_of_batch(own[0] if len(own) else None)

        def run(*parts: Any) -> Any:
            found = local(parts[first].shape[0])(*parts)
            sums = [v if b or not axes else jax.lax.psum(v, axes) for v, b in zip(found, out_batch, strict=True)]
            return tuple(sums)

        apart = NamedSharding(mesh, PartitionSpec(axes or None))
        same = NamedSharding(mesh, PartitionSpec())
        sides = zip((out_batch, in_batch), (results, operands), strict=True)
        placed = (tuple(apart if b else same for b, _ in zip(marks, v, strict=True)) for marks, v in sides)
        return mesh, run, *placed

    call = custom_partitioning(lambda *values: tuple(compute(*values)))
    call.def_partition(partition=partition, sharding_rule=rule, need_replication_factors=whole)
    return [*call(*given)]


def axes_of_batch(entry: Any) -> tuple[str, ...]:
    return () if entry is None else entry if isinstance(entry, tuple) else (entry,)


def rule_of(
    given: Sequence[int], made: Sequence[int], in_batch: Sequence[bool], out_batch: Sequence[bool]
) -> tuple[str, tuple[str, ...]]:
    """The sharding rule of operands and results of these ranks, and its axes that are whole everywhere."""
    whole: list[str] = []
    numbers = count()

    def axes(rank: int, has_batch: bool) -> str:
        own = [f"u{next(numbers)}" for _ in range(rank - has_batch)]
        whole.extend(own)
        return " ".join([*(["b"] if has_batch else []), *own])

    sides = ((given, in_batch), (made, out_batch))
    texts = [", ".join(axes(r, b) for r, b in zip(ranks, marks, strict=True)) for ranks, marks in sides]
    return " -> ".join(texts), tuple(whole)
