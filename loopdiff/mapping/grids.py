"""Grids: which loops of a nest are the threads of a kernel, and what each thread has for itself."""

from __future__ import annotations

from loopdiff.immutable import immutable, replace
from loopdiff.ir import nodes as ir

AXES = 3  # that a grid of CUDA has: the outermost of more share the last of these
MOST_AXES = 6


BUSY = 1 << 14  # threads that a GPU needs at least to be busy


# Threads at most that sum into copies: so many that a GPU is busy; and elements that all copies have together, unless
# those of 32 threads have more.
MOST_COPIES, COPIED, LEAST_COPIES = 4096, 1 << 24, 32


@immutable
class Axis:
    """One axis of a grid: iterations of `loop`, which lie between `lower` and `upper`, at its step, for all threads."""

    loop: ir.Loop
    lower: ir.Expr
    upper: ir.Expr

    @property
    def span(self) -> ir.Loop:
        """The loop over all iterations that lie there."""
        return replace(self.loop, lower=self.lower, upper=self.upper)


@immutable
class Grid:
    """Threads: `axes` from the outside in.

    `arrays` are each thread's own, those of `zero` all zero at first. `sums`: cells over which all threads sum;
    `copies`: arrays into which each sums in a copy of its own; `lists`: arrays for which they list what is added, those
    of `starts` to zero.
    """

    axes: tuple[Axis, ...]
    arrays: tuple[str, ...] = ()
    zero: tuple[str, ...] = ()
    sums: tuple[tuple[str, ir.AccumulateOp], ...] = ()
    copies: tuple[str, ...] = ()
    lists: tuple[str, ...] = ()
    starts: tuple[str, ...] = ()

    @property
    def last(self) -> ir.Loop | None:
        """The loop of the last axis, if all of its iterations are threads."""
        return self.axes[-1].loop if self.axes[-1].span == self.axes[-1].loop else None
