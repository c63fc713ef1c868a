"""The run that sizes tapes below loops whose trip counts depend on data."""

from __future__ import annotations

from loopdiff.ad.facts import Facts, is_open
from loopdiff.ad.tape.plan import TapeCounter
from loopdiff.ad.tape.record import trips_made
from loopdiff.analysis.repeatable import repeatable
from loopdiff.immutable import immutable, replace
from loopdiff.ir import nodes as ir
from loopdiff.ir.build import integer
from loopdiff.ir.slicing import eliminate_dead
from loopdiff.ir.types import ArrayType
from loopdiff.ir.walk import Path, map_blocks_at, map_body, touched_arrays

ZERO = integer(0)
LIMITS = ("LD310", "LD311")


def counting_loopset(facts: Facts, counters: tuple[TapeCounter, ...]) -> ir.LoopSet:
    """A slice of the primal that returns, for each counter, the trips of its loop over the counter's scope.

    For a loop that runs again that is the largest number over its iterations. The slice may write the arrays it is
    given.
    """
    ls = facts.ls
    body = Counting(facts, counters).block(ls.body, ())
    start = tuple(ir.Assign(ir.Access(name), ZERO) for c in counters for name in (c.total, c.base))
    cells = tuple(
        ir.ArrayDecl(name, ArrayType("int64", 0), "local", ()) for c in counters for name in (c.total, c.base)
    )
    results = tuple(ir.ScalarResult(ir.Load(ir.Access(c.total))) for c in counters)
    counted = replace(
        ls, name=f"{ls.name}_counts", arrays=(*ls.arrays, *cells), body=(*start, *body), results=results,
        returns_tuple=True,
    )  # fmt: skip
    unguarded = eliminate_dead(replace(counted, body=map_body(counted.body, without_limits)), frozenset())
    return eliminate_dead(counted, frozenset()) if touches_elements(unguarded) else unguarded


def without_limits(stmt: ir.Stmt) -> tuple[ir.Stmt, ...]:
    """No checks of subscripts; the forward sweep makes them before it touches memory."""
    return () if isinstance(stmt, ir.Require) and stmt.code in LIMITS else (stmt,)


def touches_elements(ls: ir.LoopSet) -> bool:
    """Whether `ls` reads or writes memory, rather than variables, shapes and scalar arguments alone."""
    return any(rank_of(ls, name) for name in touched_arrays(ls.body))


def rank_of(ls: ir.LoopSet, array: str) -> int:
    kind = ls.array(array).type
    return 0 if kind is None else kind.rank


def counts_exactly(counts: ir.LoopSet) -> bool:
    """Whether the run must find the number of trips that the forward sweep makes: arithmetic on floating numbers may
    be rounded differently in another program.
    """
    return repeatable(counts).is_block(counts.body)


@immutable
class Counting:
    facts: Facts
    counters: tuple[TapeCounter, ...]

    def block(self, body: tuple[ir.Stmt, ...], prefix: Path, offset: int = 0) -> tuple[ir.Stmt, ...]:
        return tuple(new for k, s in enumerate(body, offset) for new in self.statement(s, (*prefix, k)))

    def statement(self, stmt: ir.Stmt, path: Path) -> list[ir.Stmt]:
        match stmt:
            case ir.Loop(body=body):
                inner = self.block(body, path)
                start = tuple(ir.Assign(ir.Access(c.base), ZERO) for c in self.counters if c.scope == path)
                count = trips_made(stmt, self.facts)
                mine: list[ir.Stmt] = []
                for c in self.counters:
                    if c.path == path:
                        mine.append(ir.Accumulate("add", ir.Access(c.total if c.scope is None else c.base), count))
                    if c.path == path and c.scope is not None:
                        mine.append(ir.Accumulate("max", ir.Access(c.total), ir.Load(ir.Access(c.base))))
                loop = replace(stmt, body=(*start, *inner))
                return [loop, *mine] if is_open(stmt) else [*mine, loop]
            case _:
                return [map_blocks_at(self.block, stmt, path)]
