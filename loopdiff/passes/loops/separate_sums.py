"""Distribution of nests that only sum: one for each array, with conditions inside of all loops that they are around.

    for i: for p:                                for p: for c: for i:
        if ok[i, p]:                                 if ok[i, p]: w[p, c] += g[i, c] * x[i + p, c]
            for c:                       becomes
                w[p, c] += g[i, c] * x[i + p, c]     for i: for p: for c:
                x_adj[i + p, c] += g[i, c] * v[p, c]     if ok[i, p]: x_adj[i + p, c] += g[i, c] * v[p, c]

No sum needs anything of another one, so that each may have the loops that are best for it. What they need is computed
for each of them: elements and arithmetic, but no elementary functions.
"""

from __future__ import annotations

from loopdiff.canonical.invariant_motion import is_total
from loopdiff.immutable import replace
from loopdiff.ir import nodes as ir
from loopdiff.ir.build import is_unit_step
from loopdiff.ir.names import NameSupply, supply
from loopdiff.ir.ops import INFO, PLAIN
from loopdiff.ir.renaming import renamed_block
from loopdiff.ir.slicing import keep_live, live_names
from loopdiff.ir.walk import all_statements, indices_in, loads_in, map_blocks, nodes_in, subexprs, written_arrays


def separate_sums(ls: ir.LoopSet) -> ir.LoopSet:
    """`ls` with nests that sum into several arrays as one for each of these."""
    names = supply(ls)
    body = separated(ls.body, names)
    return ls if body == ls.body else replace(ls, body=body)


def separated(body: tuple[ir.Stmt, ...], names: NameSupply) -> tuple[ir.Stmt, ...]:
    out: list[ir.Stmt] = []
    for stmt in body:
        if isinstance(stmt, ir.Loop) and is_unit_step(stmt) and only_sums(stmt.body):
            out += in_parts(stmt, names)
        else:
            out.append(map_blocks(lambda inner: separated(inner, names), stmt))
    return tuple(out)


def only_sums(body: tuple[ir.Stmt, ...]) -> bool:
    """Whether statements do nothing but add to elements that they do not read."""
    for stmt in all_statements(body):
        match stmt:
            case ir.Let() | ir.If() | ir.Accumulate(op="add", target=ir.Access(subscripts=[_, *_])):
                pass
            case ir.Loop() if is_unit_step(stmt):
                pass
            case _:
                return False
    return not written_arrays(body) & {load.access.array for load in loads_in(body)}


def in_parts(nest: ir.Loop, names: NameSupply) -> list[ir.Stmt]:
    """The nests of a nest's sums, by array."""
    arrays = list(dict.fromkeys(s.target.array for s in all_statements((nest,)) if isinstance(s, ir.Accumulate)))
    if len(arrays) < 2 or is_costly(nest):
        return list(with_conditions_inside((nest,)))
    parts = (keep_live((nest,), live_names((nest,), frozenset((a,)), frozenset((a,))), frozenset((a,))) for a in arrays)
    first, *rest = (with_conditions_inside(part) for part in parts)
    return [*first, *(s for part in rest for s in renamed_block(part, names))]


def is_costly(nest: ir.Loop) -> bool:
    """Whether elementary functions or quotients are in it."""
    exprs = nodes_in((nest,))
    return any(isinstance(e, ir.Apply) and INFO[e.op].result == "float" and e.op not in PLAIN for e in exprs)


def with_conditions_inside(body: tuple[ir.Stmt, ...]) -> tuple[ir.Stmt, ...]:
    """Statements of sums with conditions inside of loops that are all that there is under them."""
    return tuple(inside(map_blocks(with_conditions_inside, s)) for s in body)


def inside(stmt: ir.Stmt) -> ir.Stmt:
    match stmt:
        case ir.If(cond=cond, then=(ir.Loop() as loop,), orelse=()) if may_run_first(loop, cond):
            return replace(loop, body=(inside(replace(stmt, then=loop.body)),))
        case _:
            return stmt


def may_run_first(loop: ir.Loop, cond: ir.Expr) -> bool:
    """Whether the bounds of a loop may be asked for where a condition does not hold, and that in each iteration."""
    bounds = (loop.lower, loop.upper)
    is_known = not any(isinstance(e, ir.Var) for b in bounds for e in subexprs(b))
    return is_known and loop.index not in indices_in(cond) and all(map(is_always_there, bounds))


def is_always_there(bound: ir.Expr) -> bool:
    """Whether a bound can be asked for ahead of what is around its loop: it is no element, and raises nothing."""
    return not any(isinstance(e, ir.Load) or (isinstance(e, ir.Apply) and not is_total(e)) for e in subexprs(bound))
