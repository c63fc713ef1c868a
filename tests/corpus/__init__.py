"""The corpus: one list of named loop nests that drives the gradient battery and the benchmarks."""

from __future__ import annotations

from tests.corpus import (
    arrays,
    bindings,
    calls,
    carried,
    cases,
    complex_numbers,
    control,
    counters,
    dense,
    found,
    functions,
    jumps,
    learning,
    lists,
    loops,
    matrices,
    newer_numpy,
    nothing,
    numpy_calls,
    once,
    periodic,
    polybench,
    recurrences,
    ruled,
    same_shape,
    scalars,
    sparse,
    spellings,
    stencils,
    structures,
    subscripts,
    textbooks,
    traps,
    triangular,
    whole_arrays,
)
from tests.corpus.entry import Arguments, Entry, as_float32

SUITE: tuple[Entry, ...] = (
    *dense.ENTRIES,
    *learning.ENTRIES,
    *stencils.ENTRIES,
    *triangular.ENTRIES,
    *sparse.ENTRIES,
    *recurrences.ENTRIES,
)
CONSTRUCTS: tuple[Entry, ...] = (
    *loops.ENTRIES,
    *control.ENTRIES,
    *jumps.ENTRIES,
    *scalars.ENTRIES,
    *subscripts.ENTRIES,
    *arrays.ENTRIES,
    *whole_arrays.ENTRIES,
    *complex_numbers.ENTRIES,
    *functions.ENTRIES,
    *calls.ENTRIES,
    *ruled.ENTRIES,
    *spellings.ENTRIES,
    *numpy_calls.ENTRIES,
    *structures.ENTRIES,
    *lists.ENTRIES,
)
ENTRIES: tuple[Entry, ...] = (
    *SUITE,
    *cases.ENTRIES,
    *traps.ENTRIES,
    *carried.ENTRIES,
    *found.ENTRIES,
    *once.ENTRIES,
    *nothing.ENTRIES,
    *newer_numpy.ENTRIES,
    *bindings.ENTRIES,
    *same_shape.ENTRIES,
    *textbooks.ENTRIES,
    *polybench.ENTRIES,
    *periodic.ENTRIES,
    *matrices.ENTRIES,
    *counters.ENTRIES,
    *CONSTRUCTS,
)
BY_NAME: dict[str, Entry] = {entry.name: entry for entry in ENTRIES}

__all__ = ["BY_NAME", "CONSTRUCTS", "ENTRIES", "SUITE", "Arguments", "Entry", "as_float32"]
