"""Both sweeps as one program, the gradient or the pullback, which can be differentiated like any other."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence

from loopdiff.canonical.simplify import simplify
from loopdiff.canonical.single_assignment import normalize
from loopdiff.immutable import replace
from loopdiff.ir import nodes as ir
from loopdiff.ir.build import nested, over_elements, zero
from loopdiff.ir.names import NameSupply, supply, tail_names
from loopdiff.ir.renaming import rename_everywhere
from loopdiff.ir.slicing import eliminate_dead
from loopdiff.ir.types import INT
from loopdiff.ir.typing import type_env, type_of
from loopdiff.ir.walk import all_statements, map_stmt_exprs, printed_in, substitute, written_arrays

Arrays = Mapping[str, ir.ArrayDecl]
Known = dict[ir.Expr, ir.Expr]


def build_gradient(
    ls: ir.LoopSet, forward: ir.LoopSet, reverse: ir.LoopSet, count_names: Sequence[str], wrt: tuple[str, ...]
) -> ir.LoopSet:
    """The normal LoopSet of `ls`, which returns one floating number, together with its gradient.

    `forward` and `reverse` are its sweeps. Parameters: the arguments, which end as `ls` leaves them, then the integers
    `count_names` that size tapes. Results: that of `ls`, then the gradients in the order of `wrt`.
    """
    (result,) = ls.results
    assert isinstance(result, ir.ScalarResult)
    seed = reverse.params[len(forward.params)]
    one: Known = {ir.Param(seed): ir.Const(1.0, type_of(result.value, type_env(ls)))}
    joined, gradients = join(ls, forward, reverse, count_names, wrt, (), one)
    return simplify(normalize(replace(joined, results=(*joined.results, *(gradients[n] for n in wrt)))))


def without_value(gradient: ir.LoopSet) -> ir.LoopSet:
    """The gradients alone, without what only the value needs."""
    live = frozenset(gradient.params) | printed_in(gradient.body)
    return eliminate_dead(replace(gradient, results=gradient.results[1:]), live)


def build_pullback(
    ls: ir.LoopSet, forward: ir.LoopSet, reverse: ir.LoopSet, count_names: Sequence[str], wrt: tuple[str, ...]
) -> ir.LoopSet:
    """The gradients of `ls` for any seeds and cotangents, from the sweeps `forward` and `reverse`.

    Parameters: the arguments, the seeds, the adjoints of written arrays (in for the final values, out for the initial
    ones), `count_names`. Results: the gradients by the other arguments, in the order of `wrt`.
    """
    tail = reverse.params[len(forward.params) :]
    buffers = buffers_of(ls, forward, reverse)
    zeroed = {b for p, b in buffers.items() if p not in written_arrays(ls.body)}
    given = tuple(n for n in tail if n not in zeroed)
    joined, gradients = join(ls, forward, reverse, count_names, wrt, given, {})
    kept = tuple(gradients[n] for n in wrt if n in gradients)
    pullback = replace(joined, name=f"{ls.name}_pullback", results=kept)
    live = frozenset(joined.params) | printed_in(joined.body)
    return simplify(normalize(eliminate_dead(pullback, live)))


def buffers_of(ls: ir.LoopSet, forward: ir.LoopSet, reverse: ir.LoopSet) -> dict[str, str]:
    """The adjoint buffer of each argument that has one: in `reverse`, after the seeds of floating results."""
    types = type_env(ls)
    kinds = [
        types.arrays[r.array].element if isinstance(r, ir.ArrayResult) else type_of(r.value, types) for r in ls.results
    ]
    tail = reverse.params[len(forward.params) + sum(k.is_float for k in kinds) :]
    return tail_names(tail, [p for p in ls.params if ls.has_array(p)], "_adj")


def join(
    ls: ir.LoopSet,
    forward: ir.LoopSet,
    reverse: ir.LoopSet,
    count_names: Sequence[str],
    wrt: tuple[str, ...],
    given: tuple[str, ...],
    known: Known,
) -> tuple[ir.LoopSet, Mapping[str, ir.Result]]:
    """One sweep after the other, with the scalar results of `ls`, and the gradients that it could return.

    `given` seeds and buffers stay parameters; of other seeds `known` has the value, other buffers start at zero.
    """
    buffers = {p: b for p, b in buffers_of(ls, forward, reverse).items() if b not in given}
    forward, reverse = apart(forward, reverse)
    reverse, copies = undisturbed(ls, forward, reverse)
    outer = (*ls.params, *given)
    shaped_like = {own: argument for argument, own in (*buffers.items(), *copies.items())}
    arrays = own_arrays(outer, (forward, reverse), shaped_like)
    names = NameSupply(supply(forward).taken | supply(reverse).taken | set(count_names))
    values = [ir.Let(names.fresh("value"), r.value) for r in forward.results if isinstance(r, ir.ScalarResult)]
    slopes = [ir.Let(names.fresh("slope"), r.value) for r in reverse.results if isinstance(r, ir.ScalarResult)]
    body = (
        *allocations(arrays, (*forward.body, *reverse.body), buffers.values()),
        *forward.body,
        *values,
        *(copy_array(copy, argument, arrays[copy], names) for argument, copy in copies.items()),
        *reverse.body,
        *slopes,
    )
    known = {**known, **extents_of(arrays)}
    seeds = [s for s in reverse.scalars if s.name in given]
    passed = [replace(a, role="argument", extents=None) for a in reverse.arrays if a.name in given]
    joined = ir.LoopSet(
        name=f"{ls.name}_gradient",
        params=(*outer, *count_names),
        arrays=(*(a for a in ls.arrays if a.name in ls.params), *passed, *arrays.values()),
        scalars=(*ls.scalars, *seeds, *(ir.ScalarDecl(name, INT) for name in count_names)),
        body=tuple(map_stmt_exprs(lambda e: substitute(e, known), s) for s in body),
        results=tuple(ir.ScalarResult(ir.Var(v.name)) for v in values),
        returns_tuple=True,
        loc=ls.loc,
    )
    found: dict[str, ir.Result] = {p: gradient_result(b, arrays[b]) for p, b in buffers.items()}
    numbers = [s.name for s in ls.scalars if s.name in wrt]
    found |= zip(numbers, (ir.ScalarResult(ir.Var(s.name)) for s in slopes), strict=True)
    return joined, found


def apart(forward: ir.LoopSet, reverse: ir.LoopSet) -> tuple[ir.LoopSet, ir.LoopSet]:
    """The sweeps with nothing named alike but the parameters they share; those of `reverse` keep their names."""
    names = NameSupply(supply(forward).taken | supply(reverse).taken)
    tail = frozenset(reverse.params[len(forward.params) :])
    forward = rename_everywhere(forward, {n: names.fresh(n) for n in sorted(supply(forward).taken & tail)})
    clashing = (supply(reverse).taken & supply(forward).taken) - set(forward.params)
    return forward, rename_everywhere(reverse, {n: names.fresh(n) for n in sorted(clashing)})


def undisturbed(ls: ir.LoopSet, forward: ir.LoopSet, reverse: ir.LoopSet) -> tuple[ir.LoopSet, dict[str, str]]:
    """`reverse` on copies of the arguments that it works in, and the names of these copies by argument."""
    names = NameSupply(supply(forward).taken | supply(reverse).taken)
    copies = {n: names.fresh(f"{n}_copy") for n in sorted(written_arrays(reverse.body) & set(ls.params))}
    return rename_everywhere(reverse, copies), copies


def copy_array(target: str, source: str, decl: ir.ArrayDecl, names: NameSupply) -> ir.Stmt:
    """`target[...] = source[...]` of arrays like `decl`."""
    loops, place = over_elements(decl.extents or (), names, "i")
    (nest,) = nested(loops, (ir.Assign(ir.Access(target, place), ir.Load(ir.Access(source, place))),))
    return nest


def own_arrays(
    outer: Sequence[str], sweeps: Iterable[ir.LoopSet], shaped_like: Mapping[str, str]
) -> dict[str, ir.ArrayDecl]:
    """The sweeps' arrays that are not `outer`, as local ones; `shaped_like` names arguments of the same shape."""
    arrays: dict[str, ir.ArrayDecl] = {}
    for decl in (a for sweep in sweeps for a in sweep.arrays if a.name not in outer):
        assert decl.type is not None
        extents = decl.extents
        if decl.name in shaped_like:
            extents = tuple(ir.Dim(shaped_like[decl.name], axis) for axis in range(decl.type.rank))
        arrays[decl.name] = replace(decl, type=replace(decl.type, layout="C"), role="local", extents=extents)
    known = extents_of(arrays)
    return {n: replace(a, extents=tuple(substitute(e, known) for e in a.extents or ())) for n, a in arrays.items()}


def gradient_result(buffer: str, decl: ir.ArrayDecl) -> ir.Result:
    """The result that hands out `buffer`; of an array without axes, which is a variable here, its value."""
    assert decl.type is not None
    return ir.ArrayResult(buffer) if decl.type.rank else ir.ScalarResult(ir.Load(ir.Access(buffer)))


def allocations(arrays: Arrays, body: tuple[ir.Stmt, ...], zeroed: Collection[str]) -> list[ir.Stmt]:
    """Of the arrays that `body` does not allocate; `zeroed` ones start at zero."""
    made = {s.array for s in all_statements(body) if isinstance(s, ir.Allocate)}
    out: list[ir.Stmt] = []
    for name, decl in arrays.items():
        assert decl.type is not None
        nothing = zero(decl.type.element) if name in zeroed else None
        if decl.type.rank and name not in made:
            out.append(ir.Allocate(name, nothing))
        elif nothing is not None and not decl.type.rank:
            out.append(ir.Assign(ir.Access(name), nothing))
    return out


def extents_of(arrays: Arrays) -> Known:
    """The extents of local arrays, spelled out."""
    return {ir.Dim(n, axis): e for n, a in arrays.items() for axis, e in enumerate(a.extents or ())}
