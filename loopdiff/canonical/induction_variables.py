"""Induction variables: counters that each iteration raises by as much are sums of the indices.

    p = 0                                        p = 0
    for i in range(n):                           for i in range(n):
        for j in range(i + 1):                       for j in range(i + 1):
            s += P[p] * x[i] * x[j]   becomes            s += P[i * (i + 1) // 2 + j] * x[i] * x[j]
            p += 1                                   p += i + 1, in the end as one sum

(Aho, Lam, Sethi and Ullman, Compilers, 9.8; Gerlek, Stoltz and Wolfe, "Beyond induction variables", TOPLAS 1995, for
sums of sums.) Iterations then do not wait for each other, vectors load what lies side by side, and nothing has to be
kept of the counter for the reverse sweep. Where a loop raises it by other numbers, it is a counter of that loop, and
a sum in the loops inside.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import reduce

from loopdiff.canonical.invariant_motion import is_total
from loopdiff.immutable import immutable, replace
from loopdiff.ir import nodes as ir
from loopdiff.ir.affine import Sum, added, from_linear, linear
from loopdiff.ir.build import add, floordiv, integer, is_constant, mul, sub
from loopdiff.ir.names import NameSupply, supply
from loopdiff.ir.ops import Op
from loopdiff.ir.types import INT
from loopdiff.ir.walk import (
    all_statements,
    exits,
    indices_in,
    lets_in,
    map_blocks,
    map_stmt_exprs,
    mentioned,
    subexprs,
    substitute,
    written_access,
    written_arrays,
)

Block = tuple[ir.Stmt, ...]
Loops = Mapping[str, ir.Loop]


def without_counters(ls: ir.LoopSet) -> ir.LoopSet:
    """`ls`, normal, with sums of indices in place of counters that loops raise in every iteration."""
    cells = {a.name for a in ls.arrays if a.role == "local" and not a.extents and is_integer(a)}
    counters = {s.target.array for s in all_statements(ls.body) if isinstance(s, ir.Accumulate)} & cells
    if not counters:
        return ls
    body = Inducer(frozenset(counters), supply(ls)).block(ls.body, {})
    return ls if body == ls.body else replace(ls, body=body)


def is_integer(decl: ir.ArrayDecl) -> bool:
    return decl.type is not None and decl.type.dtype == INT.value


@immutable
class Raise:
    """`loop` raises `counter` in each iteration, by so much in statements of such numbers."""

    loop: ir.Loop
    counter: str
    parts: Mapping[int, ir.Expr]

    @property
    def step(self) -> ir.Expr:
        return self.within(len(self.loop.body))

    def within(self, number: int) -> ir.Expr:
        """By how much the statements ahead of one have raised it."""
        return reduce(add, (e for k, e in self.parts.items() if k < number), integer(0))

    def by(self, index: ir.Expr) -> ir.Expr | None:
        """By how much the iterations ahead of `index` have raised it; None if that is no plain sum."""
        lower, name = self.loop.lower, self.loop.index
        if name not in indices_in(self.step):
            return mul(self.step, sub(index, lower))
        terms, constant = linear(self.step)
        factor = terms.pop(ir.Index(name), 0)
        if any(name in indices_in(e) for e in terms) or not isinstance(lower, ir.Const):
            return None
        first, rest = int(lower.value), from_linear(terms, constant, self.loop.loc, INT)
        pairs = sub(floordiv(mul(index, sub(index, integer(1))), integer(2)), integer(first * (first - 1) // 2))
        return add(mul(integer(factor), pairs), mul(rest, sub(index, lower)))


@immutable
class Inducer:
    counters: frozenset[str]
    names: NameSupply

    def block(self, body: Block, around: Loops) -> Block:
        out: list[ir.Stmt] = []
        for stmt in body:
            if not isinstance(stmt, ir.Loop):
                out.append(map_blocks(lambda inner: self.block(inner, around), stmt))
                continue
            loop, after = replace(stmt, body=self.block(stmt.body, {**around, stmt.index: stmt})), list[ir.Stmt]()
            for counter in sorted(self.counters & written_arrays(loop.body)):
                found = raise_of(loop, counter)
                start = None if found is None else self.start(counter, out)
                changed = None if found is None or start is None else self.without(found, start, around)
                if changed is not None:
                    loop, last = changed
                    after.append(last)
            out += [loop, *after]
        return tuple(out)

    def start(self, counter: str, before: list[ir.Stmt]) -> ir.Expr:
        """What the counter is behind the statements `before`: a name for it, if it is no constant."""
        for stmt in reversed(before):
            match stmt:
                case ir.Assign(target=ir.Access(array=array), value=ir.Const() as value) if array == counter:
                    return value
                case _ if counter in written_arrays((stmt,)):
                    break
        name = self.names.fresh(counter)
        before.append(ir.Let(name, ir.Load(ir.Access(counter))))
        return ir.Var(name)

    def without(self, found: Raise, start: ir.Expr, around: Loops) -> tuple[ir.Loop, ir.Stmt] | None:
        """The loop that does not raise the counter, and what raises it behind the loop."""
        loop, index = found.loop, ir.Index(found.loop.index)
        here = found.by(index)
        total = found.by(end_of(loop, around))
        if here is None or total is None:
            return None
        counter: ir.Expr = ir.Load(ir.Access(found.counter))
        ahead = add(start, here)

        def at(number: int, stmt: ir.Stmt) -> ir.Stmt:
            value: dict[ir.Expr, ir.Expr] = {counter: add(ahead, found.within(number))}
            return map_stmt_exprs(lambda e: substitute(e, value), stmt)

        body = (at(k, s) for k, s in enumerate(loop.body) if k not in found.parts)
        last = ir.Accumulate("add", ir.Access(found.counter), total, loc=loop.loc)
        return replace(loop, body=tuple(body)), last


def raise_of(loop: ir.Loop, counter: str) -> Raise | None:
    """How `loop` raises `counter`, if it does so in every iteration, by what is the same or a sum of indices."""
    writes = [s for s in all_statements(loop.body) if (t := written_access(s)) is not None and t.array == counter]
    made = lets_in(loop.body)
    if not is_constant(loop.step, 1) or exits(loop) or calls_with(loop.body, counter):
        return None
    found = {k: step for k, s in enumerate(loop.body) if (step := raised_by(s, counter)) is not None}
    parts = [e for step in found.values() for e in subexprs(step)]
    varies = any(isinstance(e, ir.Load) or (isinstance(e, ir.Var) and e.name in made) for e in parts)
    varies = varies or any(isinstance(e, ir.Apply) and not is_total(e) for e in parts)
    return None if varies or len(writes) != len(found) else Raise(loop, counter, found)


def raised_by(stmt: ir.Stmt, counter: str) -> ir.Expr | None:
    """By how much `stmt` raises `counter`, if that is all it does."""
    cell = ir.Access(counter)
    match stmt:
        case ir.Accumulate(op="add", target=target, value=value) if target == cell:
            return value
        case ir.Assign(target=target, value=ir.Apply(op=Op.ADD, args=(a, b))) if target == cell:
            parts = [e for e in (a, b) if e != ir.Load(cell)]
            return parts[0] if len(parts) == 1 else None
        case _:
            return None


def calls_with(body: Block, counter: str) -> bool:
    """Whether a function that is not looked into gets the counter."""
    return any(isinstance(s, ir.Call) and counter in mentioned((s,)) for s in all_statements(body))


# -- how long loops are ------------------------------------------------------------------------------------------
def end_of(loop: ir.Loop, around: Loops) -> ir.Expr:
    """The index behind the last iteration."""
    terms, constant = linear(sub(loop.upper, loop.lower))
    return loop.upper if is_never_negative(terms, constant, around) else ir.Apply(Op.MAX, (loop.lower, loop.upper))


def is_never_negative(terms: Sum, constant: int, around: Loops) -> bool:
    """Whether a sum of extents, and of indices of loops `around`, can be seen to be zero or more."""
    for term, factor in terms.items():
        loop = around.get(term.name) if isinstance(term, ir.Index) else None
        if loop is not None and is_constant(loop.step, 1):
            rest = {t: n for t, n in terms.items() if t != term}
            extreme, by = (loop.lower, 0) if factor > 0 else (loop.upper, -1)
            more, offset = linear(extreme)
            return is_never_negative(added(rest, more, factor), constant + factor * (offset + by), around)
    return constant >= 0 and all(isinstance(t, ir.Dim) and n > 0 for t, n in terms.items())
