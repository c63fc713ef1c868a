"""Automatic sharding under `jit`: what loops do apart from each other may be done on several devices.

Parts of arrays stay where they are along axes that may be split; sums are added up over the devices. All other axes are
whole on each device.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from itertools import count
from math import prod
from typing import Any

import jax
from jax.experimental.custom_partitioning import custom_partitioning
from jax.extend.core import Primitive
from jax.interpreters import mlir
from jax.sharding import NamedSharding, PartitionSpec

from loopdiff.immutable import immutable
from loopdiff.jax.extents import Shape

Call = Callable[[Sequence[Any], Sequence[Shape]], Sequence[Any]]  # of operands, and of the shapes of results
# JAX 0.6 takes no axes that are whole: there, XLA gathers what is split.
CAN_PARTITION = "need_replication_factors" in inspect.signature(custom_partitioning.def_partition).parameters


SPLITTING = ContextVar("splitting", default=False)  # whether code is made that calls may be split in
ALONE = ContextVar("alone", default=False)  # whether code is made for one device, where calls may have effects
EXPORTING = ContextVar("exporting", default=False)  # whether code is made to see what it calls when it is exported


@contextmanager
def during(flag: ContextVar[bool]) -> Iterator[None]:
    token = flag.set(True)
    try:
        yield
    finally:
        flag.reset(token)


def lowering(compute: Callable[..., Sequence[Any]]) -> Callable[..., Any]:
    """The rule that makes code of `compute`, whose calls XLA may partition."""

    def under(flag: ContextVar[bool]) -> Callable[..., Sequence[Any]]:
        def flagged(*given: Any, **params: Any) -> Sequence[Any]:
            with during(flag):
                return compute(*given, **params)

        return flagged

    split, single, whole = (
        mlir.lower_fun(f, multiple_results=True) for f in (under(SPLITTING), under(ALONE), compute)
    )  # fmt: skip

    def rule(context: Any, *operands: Any, **params: Any) -> Any:
        made = split if is_for_devices(context) else whole if device_count(context) > 1 else single
        return made(context, *operands, **params)

    return rule


def is_for_devices(context: Any) -> bool:
    """Whether code is for several CPUs of this process that nobody tells what to do (as `shard_map` does), and XLA goes
    by rules of ours."""
    if not CAN_PARTITION or not getattr(jax.config, "jax_use_shardy_partitioner", True) or is_explicit():
        return False
    module = context.module_context
    is_kept = not (module.lowering_parameters.for_export or EXPORTING.get()) and tuple(module.platforms) == ("cpu",)
    return is_kept and device_count(context) > 1


def device_count(context: Any) -> int:
    return getattr(context.module_context.axis_context, "num_devices", 1)


def is_explicit() -> bool:
    """Whether shardings are parts of types: what JAX makes of a sum in parts there, XLA does not take since 0.12."""
    known: Any = getattr(jax.sharding, "get_abstract_mesh", None)
    mesh = None if known is None else known()
    return any(str(kind).endswith("Explicit") for kind in getattr(mesh, "axis_types", None) or ())


def let_know_devices(primitive: Primitive) -> None:
    """JAX must know the devices when it makes code of a primitive that may be partitioned."""
    from jax._src import dispatch

    dispatch.prim_requires_devices_during_lowering.add(primitive)


@immutable
class Layout:
    """How a call may be split along axes of so many elements, its `extents`.

    For each axis of each operand and result, the number of the one that it is, None if it is whole; for each result the
    `sums`, the axes over whose parts it is summed.
    """

    operands: tuple[tuple[int | None, ...], ...]
    results: tuple[tuple[int | None, ...], ...]
    sums: tuple[frozenset[int], ...]
    extents: tuple[int, ...]

    def rule(self) -> tuple[str, tuple[str, ...]]:
        """The sharding rule in JAX's notation, and its axes that are whole everywhere."""
        whole: list[str] = []
        numbers = count()

        def named(axis: int | None) -> str:
            if axis is not None:
                return f"s{axis}"
            whole.append(f"u{next(numbers)}")
            return whole[-1]

        sides = (", ".join(" ".join(map(named, own)) for own in side) for side in (self.operands, self.results))
        return " -> ".join(sides), tuple(whole)

    def devices(self, mesh: Any, specs: Sequence[Sequence[Any]]) -> dict[int, tuple[str, ...]]:
        """The axes of the mesh that each axis is split over, by the specs of operands."""
        found: dict[int, tuple[str, ...]] = {}
        free = set(mesh.shape)
        for own, spec in zip(self.operands, specs, strict=True):
            for axis, entry in zip(own, spec, strict=False):
                if axis is None or axis in found or entry is None:
                    continue
                names = entry if isinstance(entry, tuple) else (entry,)
                if free.issuperset(names) and self.extents[axis] % prod(mesh.shape[n] for n in names) == 0:
                    found[axis] = names
                    free -= {*names}
        return found


def partitioned(
    call: Call, part: Callable[[tuple[int, ...]], Call], operands: Sequence[Any], shapes: Sequence[Shape],
    layout: Layout,
) -> tuple[Any, ...]:  # fmt: skip
    """`call(operands, shapes)`, which XLA may split as `layout` says. `part` gives the call for parts of it."""

    def partition(mesh: Any, given: Any, made: Any) -> Any:
        over = layout.devices(mesh, [operand.sharding.spec for operand in given])

        def placed(own: Sequence[int | None]) -> NamedSharding:
            return NamedSharding(mesh, PartitionSpec(*(over.get(k) if k is not None else None for k in own)))

        def share(axis: int | None, extent: int) -> int:
            names = over.get(axis, ()) if axis is not None else ()
            return extent // prod(mesh.shape[n] for n in names)

        def run(*parts: Any) -> Any:
            own = [tuple(map(share, axes, s)) for axes, s in zip(layout.results, shapes, strict=True)]
            found = zip(part(tuple(sorted(over)))(parts, own), layout.sums, strict=True)
            return tuple(summed(v, [n for k in sums for n in over.get(k, ())]) for v, sums in found)

        return mesh, run, tuple(map(placed, layout.results)), tuple(map(placed, layout.operands))

    rule, whole = layout.rule()
    split = custom_partitioning(lambda *values: tuple(call(values, shapes)))
    split.def_partition(partition=partition, sharding_rule=rule, need_replication_factors=whole)
    return tuple(split(*operands))


def summed(value: Any, names: Sequence[str]) -> Any:
    return jax.lax.psum(value, tuple(names)) if names else value
