"""Which reorderings of iterations and statements the dependences allow.

Two accesses conflict when they may touch one element and at least one writes it. Additions into the same array
(`+=` with `+=`, likewise `max=`, `min=`) commute and do not conflict, wherever reassociation is allowed.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from loopdiff.analysis.affine import Model, Reference
from loopdiff.analysis.flow import equal_indices, later
from loopdiff.ir.walk import Path


@dataclass(frozen=True, slots=True)
class Conflict:
    """Two references that may touch one element in different iterations of the loop at `carrier`."""

    array: str
    first: Reference
    second: Reference
    carrier: Path


def within(model: Model, path: Path) -> list[Reference]:
    """References of the statements below the loop at `path`."""
    out: list[Reference] = []
    for references in model.references.values():
        out += [r for r in references if len(r.site.path) > len(path) and r.site.path[: len(path)] == path]
    return out


def commute(a: Reference, b: Reference) -> bool:
    return a.update is not None and a.update == b.update


def pairs(references: Iterable[Reference]) -> Iterator[tuple[Reference, Reference]]:
    """Pairs on one array of which one writes; a write is also paired with itself."""
    listed = list(references)
    for k, a in enumerate(listed):
        for b in listed[k:]:
            if a.access.array == b.access.array and (a.is_write or b.is_write):
                yield a, b


def may_meet(model: Model, a: Reference, b: Reference, constraints: list[str]) -> bool:
    """Whether an instance x of `a` and an instance y of `b` may touch one element under `constraints`."""
    path_a, path_b = a.site.path, b.site.path
    every = [*model.constraints(path_a, "x"), *model.constraints(path_b, "y"), *constraints]
    if not (a.is_whole or b.is_whole):
        every += model.same_address(a.access, "x", b.access, "y")
    variables = [*model.variables(path_a, "x"), *model.variables(path_b, "y")]
    return not model.make_set(variables, every).is_empty()


def carried(model: Model, path: Path, private: frozenset[str], *, is_strict: bool = False) -> Conflict | None:
    """A conflict between different iterations of the loop at `path`, arrays in `private` apart; None if there is none.

    `is_strict`: accumulations conflict with each other too.
    """
    outer = [p for p in model.loops_of(path)]
    same_outer = equal_indices(model, tuple(outer), "x", "y")
    index = model.loop(path).index
    for a, b in pairs(within(model, path)):
        if a.access.array in private or (commute(a, b) and not is_strict):
            continue
        if may_meet(model, a, b, [*same_outer, f"{index}_x != {index}_y"]):
            return Conflict(a.access.array, a, b, path)
    return None


def lanes_meet(model: Model, path: Path, reference: Reference) -> bool:
    """Whether two iterations of the loop at `path` may accumulate into one element through `reference`."""
    same = equal_indices(model, model.loops_of(path), "x", "y")
    inner = tuple(p for p in model.loops_of(reference.site.path) if len(p) > len(path))
    index = model.loop(path).index
    together = [*same, *equal_indices(model, inner, "x", "y"), f"{index}_x != {index}_y"]
    return may_meet(model, reference, reference, together)


def may_split(model: Model, path: Path, first: list[Reference], second: list[Reference]) -> bool:
    """Whether all iterations of the references `first` may run before all of `second`, within one run of the loop."""
    same_outer = equal_indices(model, model.loops_of(path), "x", "y")
    index = model.loop(path).index
    for a in first:
        for b in second:
            if a.access.array != b.access.array or not (a.is_write or b.is_write) or commute(a, b):
                continue
            orders = [[later(model, path, "y", "x")]]
            if b.site.path < a.site.path:
                orders.append([f"{index}_x = {index}_y"])
            if any(may_meet(model, a, b, [*same_outer, *order]) for order in orders):
                return False
    return True
