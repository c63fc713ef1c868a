"""Foreign calls for a batch: `jax.vmap` makes a loop of the LoopSet, not a loop around calls.

There may be several levels, batches of batches. Operands and results are marked with a truth value for each level, the
innermost first: whether they have an axis for it. Axes of outer levels come first.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import jax.numpy as jnp

from loopdiff.canonical.batching import Batch, decides_sizes
from loopdiff.immutable import immutable, replace
from loopdiff.ir import nodes as ir
from loopdiff.ir.walk import all_statements, written_access
from loopdiff.jax.calls import ForeignCall, LoopCode, Wiring
from loopdiff.jax.extents import Shape
from loopdiff.jax.ports import HandlerArgument, Port

Marks = tuple[bool, ...]


def unmarked(values: Sequence[Any]) -> tuple[Marks, ...]:
    """Marks of as many values without a batch."""
    return tuple(() for _ in values)


def levels(marks: Sequence[Marks]) -> int:
    return max(map(len, marks), default=0)


def sizes_of(shapes: Sequence[Shape], marks: Sequence[Marks]) -> tuple[int, ...]:
    """How large the batch of each level is, from operands."""
    found: dict[int, int] = {}
    for shape, own in zip(shapes, marks, strict=True):
        for level, is_mapped in enumerate(own):
            if is_mapped:
                found[level] = shape[sum(own[level + 1 :])]
    return tuple(found[level] for level in range(levels(marks)))


def in_batch(shape: Shape, marks: Marks, sizes: Sequence[int]) -> Shape:
    """The shape for all examples of what has `shape` for each."""
    return (*(sizes[k] for k in reversed(range(len(marks))) if marks[k]), *shape)


def with_wanted_axes(value: Any, marks: Marks, wanted: Marks, sizes: Sequence[int]) -> Any:
    """`value` with an axis for every level where it is `wanted`, the same for all of the batch."""
    if marks == wanted:
        return value
    own = jnp.shape(value)[sum(marks) :]
    between = tuple(sizes[k] if marks[k] else 1 for k in reversed(range(len(wanted))) if wanted[k])
    return jnp.broadcast_to(jnp.reshape(value, (*between, *own)), in_batch(own, wanted, sizes))


def summed(value: Any, marks: Marks, wanted: Marks) -> Any:
    """`value` summed over levels where it is not `wanted`."""
    mapped = [k for k in reversed(range(len(marks))) if marks[k]]
    axes = tuple(place for place, k in enumerate(mapped) if not wanted[k])
    return value.sum(axes) if axes else value


def may_be_batched(code: LoopCode, names: Sequence[str]) -> bool:
    """Whether the loops of `code` can run for a batch of the arguments `names`: on the CPU, where these do not decide
    how large arrays are."""
    return code.spec.options.is_for_cpu and not decides_sizes(code.ls, names)


def call_batch(
    call: ForeignCall, operands: Sequence[Any], marks: Sequence[Marks], shapes: Mapping[str, Shape],
    wanted: Mapping[str, Marks],
) -> dict[str, Any]:  # fmt: skip
    """The results of `call` for a batch of `operands`, by the names of their buffers.

    `shapes` are those of single examples. Results have an axis for every level, but for those that are `wanted`
    otherwise, summed over a level; those wanted without axes that the loops overwrite are scratch.
    """
    if not levels(marks):
        found = call(operands, [shapes.get(port.name, ()) for port in call.results])
        return {port.name: value for port, value in zip(call.results, found, strict=True)}
    sizes = sizes_of([v.shape for v in operands], marks)
    plan = marked(call, marks, wanted, len(sizes))
    given = [with_wanted_axes(v, m, w, sizes) for v, m, w in zip(operands, marks, plan.given, strict=True)]
    own = {port.name: axes for port, axes in zip(call.results, plan.made, strict=True)}
    whole = batched(call, plan)
    kinds = [in_batch(shapes.get(p.name, ()), own[p.name], sizes) for p in whole.results]
    found = zip((p.name for p in whole.results), whole(given, kinds), strict=True)
    return {name: summed(value, own[name], wanted.get(name, own[name])) for name, value in found}


@immutable
class Marked:
    """How the buffers of a call are marked: operands as they are `given`, and results as they are `made`, those but
    that are `scratch`, by number."""

    given: tuple[Marks, ...]
    made: tuple[Marks, ...]
    scratch: frozenset[int]


def marked(call: ForeignCall, marks: Sequence[Marks], wanted: Mapping[str, Marks], count: int) -> Marked:
    """What the loops can do of what is wanted: they sum numbers from the innermost level on, and into buffers that they
    only add to; what is overwritten is each example's own."""
    every = (True,) * count
    given = list(marks)
    place = {a.result: a for a in call.wiring.arguments if a.result is not None}
    made: list[Marks] = []
    scratch: set[int] = set()
    for number, port in enumerate(call.results):
        argument, own = place.get(number), wanted.get(port.name, every)
        if argument is None:
            made.append(tuple(any(own[: k + 1]) for k in range(count)))
        elif argument.operand is not None:
            made.append(every)
            given[argument.operand] = every
        elif not argument.is_zeroed:
            made.append(own)
            scratch |= {number} if not any(own) else set()
        else:
            made.append(own if is_only_added_to(call.code.ls, port.name) else every)
    return Marked(tuple(given), tuple(made), frozenset(scratch))


def is_only_added_to(ls: ir.LoopSet, array: str) -> bool:
    for stmt in all_statements(ls.body):
        written = written_access(stmt)
        if isinstance(stmt, ir.Accumulate) and stmt.op == "add":
            continue
        if (written is not None and written.array == array) or (isinstance(stmt, ir.Allocate) and stmt.array == array):
            return False
        if isinstance(stmt, ir.Call):
            return False
    return True


def batched(call: ForeignCall, plan: Marked) -> ForeignCall:
    """The call for a batch, made once."""
    with call.lock:
        if plan not in call.batches:
            call.batches[plan] = Rewired(call, plan).call()
        return call.batches[plan]


class Rewired:
    """The foreign call of the loops for a batch, whose numbers become arrays where they are not summed."""

    def __init__(self, call: ForeignCall, plan: Marked) -> None:
        self.of, self.plan, self.code = call, plan, call.code
        self.numbers = [n for n in call.returns if n is not None]  # results that the function returns
        self.arrays: dict[str, int] = {}  # results that became parameters
        for level in range(levels(plan.made)):
            self.add(level)

    def add(self, level: int) -> None:
        """One level more."""
        call, plan, ls = self.of, self.plan, self.code.ls
        ports = [*zip(call.operands, plan.given, strict=True), *zip(call.results, plan.made, strict=True)]
        mapped = {port.name: port.dtype for port, own in ports if own[level]}
        mapped |= {name: call.results[n].dtype for name, n in self.arrays.items() if plan.made[n][level]}
        scalars = {n: dtype for n, dtype in mapped.items() if n in ls.params and not ls.has_array(n)}
        places = [k for k, r in enumerate(ls.results) if isinstance(r, ir.ScalarResult)]
        sums = [not plan.made[n][level] for n in self.numbers]
        scratch = {call.results[n].name for n in plan.scratch} & set(ls.params)
        batch = Batch(
            frozenset(n for n in mapped if ls.has_array(n)), scalars,
            {k: call.results[n].dtype for k, n in zip(places, self.numbers, strict=True)},
            frozenset(k for k, is_sum in zip(places, sums, strict=True) if is_sum), frozenset(scratch),
        )  # fmt: skip
        self.code = self.code.batched(batch)
        new = [p for p in self.code.ls.params if p not in ls.params]
        apart = [n for n, is_sum in zip(self.numbers, sums, strict=True) if not is_sum]
        self.arrays |= zip(new, apart, strict=True)
        self.numbers = [n for n, is_sum in zip(self.numbers, sums, strict=True) if is_sum]

    def call(self) -> ForeignCall:
        call, plan = self.of, self.plan
        operands = [with_axes(p, own) for p, own in zip(call.operands, plan.given, strict=True)]
        results = [with_axes(p, own) for p, own in zip(call.results, plan.made, strict=True)]
        left = [n for n in range(len(results)) if n not in plan.scratch]
        number_of = {old: new for new, old in enumerate(left)}
        before = {a.port.name: a for a in call.wiring.arguments}
        arguments: list[HandlerArgument] = []
        for name in self.code.ls.params:
            if name in self.arrays:
                number = self.arrays[name]
                arguments.append(HandlerArgument(replace(results[number], name=name), result=number_of[number]))
                continue
            argument = before[name]
            port = argument.port
            if argument.result is not None:
                port = results[argument.result]
            elif argument.operand is not None:
                port = operands[argument.operand]
            result = None if argument.result is None else number_of[argument.result]
            arguments.append(replace(argument, port=port, result=result))
        aliases = {operand: number_of[result] for operand, result in call.wiring.aliases.items()}
        unseen = {number_of[n] for n in call.wiring.unseen if n in number_of}
        wiring = Wiring(operands, [results[n] for n in left], arguments, aliases, unseen)
        numbers = iter(number_of[n] for n in self.numbers)
        returns = [None if isinstance(r, ir.ArrayResult) else next(numbers) for r in self.code.ls.results]
        return ForeignCall(wiring, self.code, returns, call.statics)


def with_axes(port: Port, marks: Marks) -> Port:
    return replace(port, kind="array", rank=port.rank + sum(marks)) if any(marks) else port
