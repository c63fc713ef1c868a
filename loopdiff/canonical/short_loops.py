"""Loops of a few iterations around gathers and choices, written out: what their index decides is then known.

    for a in range(2):                                   w = 1.0 - t
        w = t if a == 1 else 1.0 - t         becomes     y[n] += w * grid[i]
        y[n] += w * grid[i + a]                          y[n] += t * grid[i + 1]

where `i` comes from data. A loop of one iteration, as along the axis of a column that has one element, is what it
does. Other loops whose subscripts are affine stay as they are: tiles and vectors are made of them. (Muchnick, Advanced
Compiler Design and Implementation, 17.4.3, of complete unrolling.)
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import field

from loopdiff.canonical.simplify import simplify
from loopdiff.canonical.single_assignment import normalize
from loopdiff.immutable import immutable, replace
from loopdiff.ir import nodes as ir
from loopdiff.ir.affine import linear
from loopdiff.ir.build import integer
from loopdiff.ir.names import NameSupply, supply
from loopdiff.ir.ops import COMPARISONS
from loopdiff.ir.renaming import body_at, renamed_block
from loopdiff.ir.walk import accesses, all_statements, map_blocks, nodes_in, subexprs

Block = tuple[ir.Stmt, ...]
MOST_ITERATIONS = 4
MOST_STATEMENTS = 48  # of all copies of a body
MOST_ADDED = 96  # by all copies of a function
COPIED = (ir.Loop, ir.If, ir.Let, ir.Assign, ir.Accumulate)


def with_short_written_out(ls: ir.LoopSet) -> ir.LoopSet:
    """`ls`, normal, without loops of one iteration, and of a few whose index decides conditions or is part of computed
    places."""
    writer = Writer(supply(ls))
    body = writer.block(ls.body)
    return normalize(simplify(replace(ls, body=body)), keeps_reads=True) if writer.added else ls


@immutable
class Writer:
    """Writes out the loops of one function; `added` are the statements that copies have brought."""

    names: NameSupply
    added: list[int] = field(default_factory=list)

    def block(self, body: Block) -> Block:
        out: list[ir.Stmt] = []
        for stmt in body:
            if isinstance(stmt, ir.Loop):
                out += self.loop(replace(stmt, body=self.block(stmt.body)))
            else:
                out.append(map_blocks(self.block, stmt))
        return tuple(out)

    def loop(self, loop: ir.Loop) -> Iterator[ir.Stmt]:
        indices = iterations(loop)
        size = len(all_statements(loop.body))
        if len(indices) == 1 and not any(isinstance(s, ir.Exit) for s in all_statements(loop.body)):
            self.added.append(0)
            yield from body_at(loop, integer(indices[0]))
            return
        is_small = 0 < len(indices) <= MOST_ITERATIONS and len(indices) * size <= MOST_STATEMENTS
        more = (len(indices) - 1) * size
        if not is_small or sum(self.added) + more > MOST_ADDED or not is_decisive(loop):
            yield loop
            return
        self.added.append(more)
        for number, k in enumerate(indices):
            copy = body_at(loop, integer(k))
            yield from renamed_block(copy, self.names) if number else copy


def iterations(loop: ir.Loop) -> range:
    """The values of the index of a loop, where they are known; none otherwise."""
    match loop:
        case ir.Loop(lower=ir.Const(value=lower), upper=ir.Const(value=upper), step=ir.Const(value=step)) if step:
            return range(int(lower), int(upper), int(step))
        case _:
            return range(0)


def is_decisive(loop: ir.Loop) -> bool:
    """Whether the body compares the index of `loop` with numbers, or finds places from data and from it."""
    stmts = all_statements(loop.body)
    if not all(isinstance(s, COPIED) for s in stmts):
        return False
    if any(isinstance(e, ir.Apply) and is_decided(e, loop.index) for e in nodes_in(loop.body)):
        return True
    found = {s.name: s.value for s in stmts if isinstance(s, ir.Let)}
    return any(is_gathered(sub, loop.index, found) for s in stmts for a in accesses(s) for sub in a.subscripts)


def is_decided(expr: ir.Apply, index: str) -> bool:
    """Whether `expr` compares an index with a number."""
    if expr.op not in COMPARISONS:
        return False
    terms = [linear(a)[0] for a in expr.args]
    return {t for found in terms for t in found} == {ir.Index(index)}


def is_gathered(subscript: ir.Expr, index: str, found: Mapping[str, ir.Expr]) -> bool:
    """Whether `subscript` depends on an index and on data, directly or by the Lets `found`."""
    pending, has_index, has_data, seen = [subscript], False, False, set[str]()
    while pending:
        for part in subexprs(pending.pop()):
            match part:
                case ir.Index(name=name):
                    has_index |= name == index
                case ir.Load():
                    has_data = True
                case ir.Var(name=name):
                    if name not in found:
                        has_data = True
                    elif name not in seen:
                        seen.add(name)
                        pending.append(found[name])
                case _:
                    pass
    return has_index and has_data
