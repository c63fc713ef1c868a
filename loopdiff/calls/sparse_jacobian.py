"""Sparse Jacobians: which entries there are, by sets of inputs as bits; then several columns or rows in each run.

Columns without a row in common are found by one run of forward mode, along the sum of their inputs; rows without a
column in common by one reverse sweep (Curtis, Powell and Reid, "On the estimation of sparse Jacobian matrices", 1974).
There are as many runs as groups: for a band its width, for blocks their size, however large the matrix is.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from itertools import accumulate
from typing import Any

import numpy as np

from loopdiff.ad.sparsity import BITS
from loopdiff.calls.jacobian import Side, arranged, entry_type, pulled, pushed, sides_of
from loopdiff.calls.pullback import Pullback
from loopdiff.calls.runs import Arguments, ReverseRun
from loopdiff.calls.sweep_entry_points import vjp
from loopdiff.errors import NOWHERE, DifferentiationError
from loopdiff.errors.codes import reject
from loopdiff.ir import nodes as ir
from loopdiff.ir.names import tail_names
from loopdiff.ir.walk import expressions, read_arrays, written_arrays
from loopdiff.memory.host import HOST
from loopdiff.settings.deferred import deferred_interrupts
from loopdiff.specialize.specialization import Specialization
from loopdiff.specialize.units import Unit


@dataclass(frozen=True, slots=True, eq=False)
class Pattern:
    """The entries of a matrix by rows, and which run finds each: that of the group of its column, or of its row.

    `rows` and `columns` are those of the entries, `groups` of the matrix's columns or rows, as `by_columns` says.
    """

    rows: np.ndarray
    columns: np.ndarray
    by_columns: bool
    groups: np.ndarray

    @property
    def count(self) -> int:
        return int(self.groups.max(initial=-1)) + 1


def sparse_jacobian(spec: Specialization, reverse_run: Callable[[Arguments], ReverseRun], args: Arguments) -> Any:
    """The record of `Differentiable.jacobian` with SciPy's `csr_array`s, each of as many rows and columns as there are
    elements. Raises DifferentiationError (LD408) without SciPy."""
    try:
        with deferred_interrupts():
            from scipy.sparse import csr_array
    except ImportError as error:
        message = "a sparse Jacobian is made of SciPy's arrays, and SciPy is not installed"
        raise DifferentiationError(reject("LD408", message, NOWHERE, "`pip install scipy`")) from error
    inputs, outputs = sides_of(spec, args)
    pattern = spec.once("pattern run", lambda: PatternRun(spec)).pattern(args, inputs, outputs)
    shape = (sum(o.size for o in outputs), sum(i.size for i in inputs))
    if pattern.by_columns:
        values = values_by_columns(spec, args, inputs, outputs, pattern)
        spec.primal.run(*args)
    else:
        values = values_by_rows(vjp(reverse_run(args), args)[1], outputs, pattern)
    whole = csr_array((values, (pattern.rows, pattern.columns)), shape=shape)
    blocks = [
        [whole[top:bottom, left:right].astype(entry_type(o, i)) for left, right, i in spans(inputs)]
        for top, bottom, o in spans(outputs)
    ]
    return arranged(spec, outputs, blocks)


def spans(sides: Sequence[Side]) -> Iterator[tuple[int, int, Side]]:
    """Where each begins and ends when all are laid out one after the other."""
    ends = accumulate((s.size for s in sides), initial=0)
    return ((end - s.size, end, s) for s, end in zip(sides, list(ends)[1:], strict=True))


def parts(sides: Sequence[Side], flat: np.ndarray) -> dict[Any, Any]:
    """What `flat` says of each of them."""
    return {s.key: flat[first:last].astype(s.dtype).reshape(s.shape)[()] for first, last, s in spans(sides)}


def values_by_columns(
    spec: Specialization, args: Arguments, inputs: list[Side], outputs: list[Side], pattern: Pattern
) -> np.ndarray:
    """The values of the entries: one run of forward mode for each group of columns."""
    values = np.zeros(len(pattern.rows))
    for group, entries in enumerate(entries_of(pattern, pattern.columns)):
        found = pushed(spec, args, outputs, parts(inputs, pattern.groups == group))
        values[entries] = np.concatenate(found)[pattern.rows[entries]]
    return values


def values_by_rows(pullback: Pullback, outputs: list[Side], pattern: Pattern) -> np.ndarray:
    """The values of the entries: one reverse sweep for each group of rows."""
    values = np.zeros(len(pattern.rows))
    for group, entries in enumerate(entries_of(pattern, pattern.rows)):
        found = pulled(pullback, parts(outputs, pattern.groups == group))
        values[entries] = np.concatenate(found)[pattern.columns[entries]]
    return values


def entries_of(pattern: Pattern, members: np.ndarray) -> list[np.ndarray]:
    """The entries that each run finds, given which column or row each belongs to."""
    run = pattern.groups[members]
    order = np.argsort(run, kind="stable")
    return np.split(order, np.searchsorted(run[order], np.arange(1, pattern.count))) if pattern.count else []


# -- which entries there are -------------------------------------------------------------------------------------
class PatternRun:
    """Finds the pattern of one specialization's Jacobian; that of the last call serves again where it must be the same.

    A pattern depends on shapes and, where branches, loops or subscripts do, on values. It is found anew wherever these
    are floating numbers.
    """

    def __init__(self, spec: Specialization) -> None:
        self.spec, self.unit = spec, spec.sparsity
        ls, params = self.unit.ls, spec.normal.params
        self.buffers = tail_names(ls.params[len(params) :], params, "_tan")
        written, read = written_arrays(ls.body), values_read(self.unit)
        self.written = tuple(k for k, p in enumerate(params) if p in written)
        self.decisive = tuple(k for k, p in enumerate(params) if p in read)
        self.latest: tuple[Any, Pattern] | None = None

    def pattern(self, args: Arguments, inputs: list[Side], outputs: list[Side]) -> Pattern:
        key, latest = self.key(args), self.latest
        if key is not None and latest is not None and latest[0] == key:
            return latest[1]
        rows, columns = self.entries(args, inputs, outputs)
        found = in_groups(rows, columns, sum(o.size for o in outputs), sum(i.size for i in inputs))
        self.latest = (key, found)
        return found

    def key(self, args: Arguments) -> Any:
        """What the pattern depends on; None where that is more than is worth remembering."""
        values = [np.asarray(args[k]) for k in self.decisive]
        if any(v.dtype.kind == "f" for v in values):
            return None
        return tuple(np.shape(a) for a in args), tuple(v.tobytes() for v in values)

    def entries(self, args: Arguments, inputs: list[Side], outputs: list[Side]) -> tuple[np.ndarray, np.ndarray]:
        """Rows and columns of the entries.

        First for blocks of columns, 64 of them, then for 64 parts of each block: of blocks without a row in common in
        one run. For a band these are a few runs on each level, at worst one for every 63 columns.
        """
        height, width = (sum(s.size for s in sides) for sides in (outputs, inputs))
        columns, bits = np.arange(width), np.left_shift(np.uint64(1), np.arange(BITS, dtype=np.uint64))
        rows = np.arange(height if width else 0)
        blocks, size = np.zeros_like(rows), BITS
        while size < width:
            size *= BITS
        while size > 1:
            groups = grouped(blocks, rows, -(-width // size), height)
            part = size // BITS
            sets = bits[columns % size // part]
            found = [(rows[:0], blocks[:0])]
            for group in range(groups.max(initial=-1) + 1):
                given = np.where(groups[columns // size] == group, sets, np.uint64(0))
                hits = self.sets(args, inputs, outputs, given.view(np.int64)).view(np.uint64)
                is_own = groups[blocks] == group
                block_of = np.zeros(height, np.int64)
                block_of[rows[is_own]] = blocks[is_own]
                hit = np.flatnonzero(hits)
                which, bit = np.nonzero(hits[hit, None] & bits)
                found.append((hit[which], block_of[hit[which]] * BITS + bit))
            rows, blocks = (np.concatenate(each) for each in zip(*found, strict=True))
            size = part
        return rows, blocks

    def sets(self, args: Arguments, inputs: list[Side], outputs: list[Side], given: np.ndarray) -> np.ndarray:
        """The sets that all outputs depend on, where the inputs have the sets `given`."""
        args = tuple(HOST.copy(a) if k in self.written else a for k, a in enumerate(args))
        known = {side.key: given[first:last].reshape(side.shape) for first, last, side in spans(inputs)}
        buffers = {n: self.buffer(n, args, known.get(n)) for n in self.buffers}
        values = self.unit.run(*args, *buffers.values())
        results = iter(values if isinstance(values, tuple) else (values,))
        found = (buffers[str(o.key)] if isinstance(o.key, str) else next(results) for o in outputs)
        return np.concatenate([np.zeros(0, np.int64), *(np.ravel(np.asarray(v, np.int64)) for v in found)])

    def buffer(self, name: str, args: Arguments, given: np.ndarray | None) -> Any:
        """The sets of argument `name`, an array's in memory of its own: those `given`, or empty ones."""
        ls = self.unit.ls
        if not ls.has_array(self.buffers[name]):
            return 0 if given is None else int(given)
        declared = ls.array(self.buffers[name]).type
        assert declared is not None
        sets = np.zeros(args[self.spec.normal.params.index(name)].shape, np.int64) if given is None else given
        return np.array(sets, order="F" if declared.layout == "F" else "C")


def values_read(unit: Unit) -> frozenset[str]:
    """Arrays and arguments whose values `unit` reads."""
    numbers = (e.name for e in expressions(unit.ls) if isinstance(e, ir.Param))
    return read_arrays(unit.ls.body).union(numbers)


# -- groups ------------------------------------------------------------------------------------------------------
def in_groups(rows: np.ndarray, columns: np.ndarray, height: int, width: int) -> Pattern:
    """The pattern with groups of columns, or of rows where the fullest column says that these are less."""
    by_columns = int(np.bincount(rows).max(initial=0)) <= int(np.bincount(columns).max(initial=0))
    groups = grouped(columns, rows, width, height) if by_columns else grouped(rows, columns, height, width)
    return Pattern(rows, columns, by_columns, groups)


def grouped(own: np.ndarray, other: np.ndarray, size: int, others: int) -> np.ndarray:
    """The group of each of `size` columns, no two of which share one of `others` rows (or the reverse), given those of
    each entry: the first group that is free, in their own order."""
    mates = other[np.argsort(own, kind="stable")].tolist()
    ends = np.cumsum(np.bincount(own, minlength=size)).tolist()
    used, groups, first = [0] * others, np.zeros(size, np.int64), 0
    for k, end in enumerate(ends):
        taken = 0
        for mate in mates[first:end]:
            taken |= used[mate]
        free = ~taken & (taken + 1)
        groups[k] = free.bit_length() - 1
        for mate in mates[first:end]:
            used[mate] |= free
        first = end
    return groups
