"""The gradient as one program: forward and reverse sweep joined, so that it can be differentiated like any other."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import replace

from loopdiff.ir.build import zero
from loopdiff.ir.nodes import (
    Access,
    Allocate,
    ArrayDecl,
    ArrayResult,
    Assign,
    Const,
    Dim,
    Expr,
    Let,
    Load,
    LoopSet,
    Param,
    Result,
    ScalarDecl,
    ScalarResult,
    Stmt,
    Var,
)
from loopdiff.ir.types import INT
from loopdiff.ir.typing import type_env, type_of
from loopdiff.ir.walk import map_stmt_exprs, statements, substitute, written_arrays
from loopdiff.names import NameSupply, tail_names
from loopdiff.transform.eliminate import eliminate_dead
from loopdiff.transform.normalize import normalize, supply
from loopdiff.transform.rename import rename_everywhere
from loopdiff.transform.simplify import simplify

Arrays = Mapping[str, ArrayDecl]
Known = dict[Expr, Expr]


def build_gradient(
    ls: LoopSet, forward: LoopSet, reverse: LoopSet, count_names: Sequence[str], wrt: tuple[str, ...]
) -> LoopSet:
    """The normal LoopSet of `ls`, which returns one floating number, together with its gradient.

    `forward` and `reverse` are its sweeps. Parameters: the arguments, which end as `ls` leaves them, then the integers
    `count_names` that size tapes. Results: that of `ls`, then the gradients in the order of `wrt`.
    """
    reverse = apart(forward, reverse)
    seed, *tail = reverse.params[len(forward.params) :]
    buffers = tail_names(tail, [p for p in ls.params if ls.has_array(p)], "_adj")
    assert not written_arrays(reverse.body) & set(ls.params), "the reverse sweep works in the caller's arrays"
    arrays = own_arrays(ls, (forward, reverse), {b: p for p, b in buffers.items()})
    names = NameSupply(supply(forward).taken | supply(reverse).taken | set(count_names))
    value = Var(names.fresh("value"))
    body = (
        *allocations(arrays, (*forward.body, *reverse.body), buffers.values()),
        *forward.body,
        Let(value.name, result_of(forward)),
        *reverse.body,
    )
    known: Known = {Param(seed): Const(1.0, type_of(result_of(ls), type_env(ls))), **extents_of(arrays)}
    slopes = [ScalarResult(substitute(r.value, known)) for r in reverse.results if isinstance(r, ScalarResult)]
    results: dict[str, Result] = {p: gradient_result(b, arrays[b]) for p, b in buffers.items()}
    results |= zip((s.name for s in ls.scalars if s.name in wrt), slopes, strict=True)
    joined = LoopSet(
        name=f"{ls.name}_gradient",
        params=(*ls.params, *count_names),
        arrays=(*(a for a in ls.arrays if a.name in ls.params), *arrays.values()),
        scalars=(*ls.scalars, *(ScalarDecl(name, INT) for name in count_names)),
        body=tuple(map_stmt_exprs(lambda e: substitute(e, known), s) for s in body),
        results=(ScalarResult(value), *(results[n] for n in wrt)),
        returns_tuple=True,
        loc=ls.loc,
    )
    return simplify(normalize(joined))


def without_value(gradient: LoopSet) -> LoopSet:
    """The gradients alone, without what only the value needs."""
    return eliminate_dead(replace(gradient, results=gradient.results[1:]), frozenset(gradient.params))


def result_of(ls: LoopSet) -> Expr:
    (result,) = ls.results
    assert isinstance(result, ScalarResult)
    return result.value


def apart(forward: LoopSet, reverse: LoopSet) -> LoopSet:
    """`reverse` with none of its own variables, arrays and loop indices named like something in `forward`."""
    mine, other = supply(reverse), supply(forward)
    names = NameSupply(mine.taken | other.taken)
    clashing = (mine.taken & other.taken) - set(forward.params)
    return rename_everywhere(reverse, {n: names.fresh(n) for n in sorted(clashing)})


def own_arrays(ls: LoopSet, sweeps: Iterable[LoopSet], shaped_like: Mapping[str, str]) -> dict[str, ArrayDecl]:
    """The sweeps' arrays that are no arguments, as local ones; `shaped_like` names arguments of the same shape."""
    arrays: dict[str, ArrayDecl] = {}
    for decl in (a for sweep in sweeps for a in sweep.arrays if a.name not in ls.params):
        assert decl.type is not None
        extents = decl.extents
        if decl.name in shaped_like:
            extents = tuple(Dim(shaped_like[decl.name], axis) for axis in range(decl.type.rank))
        arrays[decl.name] = replace(decl, type=replace(decl.type, layout="C"), role="local", extents=extents)
    return arrays


def gradient_result(buffer: str, decl: ArrayDecl) -> Result:
    """The result that hands out `buffer`; of an array without axes, which is a variable here, its value."""
    assert decl.type is not None
    return ArrayResult(buffer) if decl.type.rank else ScalarResult(Load(Access(buffer)))


def allocations(arrays: Arrays, body: tuple[Stmt, ...], zeroed: Collection[str]) -> list[Stmt]:
    """Of the arrays that `body` does not allocate; `zeroed` ones start at zero."""
    made = {s.stmt.array for s in statements(body) if isinstance(s.stmt, Allocate)}
    out: list[Stmt] = []
    for name, decl in arrays.items():
        assert decl.type is not None
        nothing = zero(decl.type.element) if name in zeroed else None
        if decl.type.rank and name not in made:
            out.append(Allocate(name, nothing))
        elif nothing is not None:
            out.append(Assign(Access(name), nothing))
    return out


def extents_of(arrays: Arrays) -> Known:
    """The extents of local arrays, spelled out."""
    return {Dim(n, axis): e for n, a in arrays.items() for axis, e in enumerate(a.extents or ())}
