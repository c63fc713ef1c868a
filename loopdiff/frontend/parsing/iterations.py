"""What is known of a loop while its body is parsed: what iterations start with, and how they end."""

from __future__ import annotations

import ast
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from loopdiff.frontend.parsing.bindings import Bindings
from loopdiff.frontend.parsing.sites import Place
from loopdiff.immutable import immutable
from loopdiff.ir import nodes as ir


@immutable
class Trips:
    """How often a loop runs: at most `limit` times, None if that is not known at entry, and just as often if it
    `is_exact`. `number`: of the iteration, from zero."""

    limit: ir.Expr | None = None
    is_exact: bool = False
    number: ir.Expr | None = None


@dataclass(frozen=True, slots=True, eq=False)
class MadeList:
    """A list in an array: the `place` and the display that made it, in which State (`owner`), in how many loops
    (`depth`), and which these are. `grown_in` are the loops around the statements that it grew by so far. `kinds`:
    which lists its elements are, the outermost first."""

    place: Place
    display: ast.List
    owner: Any
    depth: int
    around: tuple[int, ...]
    grown_in: frozenset[int] = frozenset()
    kinds: tuple[type, ...] = ()


@immutable
class Resized:
    """Memory for a name whose arrays loops make shorter or longer. The cells `counts` hold how many elements there are,
    None along axes where that does not change. There were as many as `given` before the loop, `first` at most, and each
    iteration adds at most `more`, to what is there or in the memory of `peers`."""

    counts: tuple[str | None, ...]
    first: tuple[ir.Expr, ...]
    more: tuple[ir.Expr, ...]
    given: tuple[ir.Expr, ...]
    peers: tuple[str, ...] = ()


@immutable
class Resizing:
    """What a way out of an iteration does to the arrays of a name whose memory is resized: whether they `fit`, and have
    at most as many elements as such iterations add (`is_relative`); how many elements there are `more` at most, `less`
    at most, and `exactly`, along each axis; None where nothing known at entry says that. `beside`: how many more than
    other names had, of those whose arrays it is made of, if it does not fit."""

    fits: bool
    is_relative: bool
    more: tuple[ir.Expr, ...] | None
    less: tuple[ir.Expr, ...] | None
    exactly: tuple[ir.Expr, ...] | None
    beside: tuple[tuple[str, tuple[ir.Expr, ...]], ...] = ()


@dataclass(slots=True)
class Heads:
    """For a loop whose iterations start with `names` standing for different arrays: the combinations, `parts`, and the
    cell `which` that holds the number of the current one.

    `earlier` are the arrays from before the loop. `buffers` are arrays by the place where they are made, `cells` hold
    where the views of `parts` begin, by the number of the name and that of the place; both are `declared` once and made
    before the loop.
    """

    which: ir.Access
    names: tuple[str, ...]
    parts: list[tuple[Any, ...]]
    earlier: frozenset[str]
    buffers: dict[int, list[str]] = field(default_factory=dict)
    cells: dict[tuple[int, int], str] = field(default_factory=dict)
    declared: dict[str, ir.ArrayDecl] = field(default_factory=dict)


@dataclass(slots=True)
class LoopState:
    """What is known of a loop while its body is parsed: what names stood for at each `break`, and at each end of an
    iteration (`continue` included). `broke`: a cell that says whether a `break` was taken; None if nothing asks.

    `memory` are arrays for names, to which every way out of an iteration copies. `ways` are what names stood for on
    each before; `refused` are names of `memory` for which there was no copy. Names that are `dead`
    where iterations start are bound again before they are read. It runs as `trips` says; `changes` are those of names
    whose memory is resized, on each way.
    """

    broke: ir.Access | None = None
    heads: Heads | None = None
    memory: Mapping[str, str] = field(default_factory=dict)
    breaks: list[Bindings] = field(default_factory=list)
    ends: list[Bindings] = field(default_factory=list)
    ways: list[Bindings] = field(default_factory=list)
    refused: set[str] = field(default_factory=set)
    dead: frozenset[str] = frozenset()
    trips: Trips = Trips()
    changes: dict[str, list[Resizing]] = field(default_factory=dict)
