"""Which names carry derivatives: varied (depend on a differentiated input) and useful (reach an output).

The classical pair of fixpoints (Hascoet, Naumann and Pascual 2005, "To be recorded analysis"), per name and
flow-insensitive: a name that is active anywhere is active everywhere, which costs adjoint work but no correctness.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator

from loopdiff.immutable import immutable
from loopdiff.ir import nodes as ir
from loopdiff.ir.mentions import written_parts
from loopdiff.ir.ops import INFO, ROUNDINGS, Op
from loopdiff.ir.reachability import reached
from loopdiff.ir.typing import TypeEnv, type_env, type_of
from loopdiff.ir.walk import all_statements, written_arrays

STEPS = frozenset((*ROUNDINGS, Op.SIGN, Op.FLOORDIV, Op.STOP))


@immutable
class Activity:
    """`active` names (arrays, cells, Lets, scalar arguments) carry derivatives; `tracked` ones have an adjoint.

    Every differentiated or written floating argument array is tracked, active or not: its adjoint buffer is part of
    the calling convention, and on exit holds the exact adjoint of the array's initial value. For that reason the
    written arguments count as inputs here.
    """

    wrt: tuple[str, ...]
    active: frozenset[str]
    tracked: frozenset[str]


def carriers(expr: ir.Expr, types: TypeEnv) -> Iterator[str]:
    """Names of the leaves through which `expr` passes derivatives on."""
    match expr:
        case ir.Load(access=access):
            if types.arrays[access.array].element.is_float:
                yield access.array
        case ir.Var(name=name) | ir.Param(name=name):
            if type_of(expr, types).is_float:
                yield name
        case ir.Cast(dtype=dtype, value=value):
            if dtype.is_float and type_of(value, types).is_float:
                yield from carriers(value, types)
        case ir.Select(then=then, orelse=orelse):
            yield from carriers(then, types)
            yield from carriers(orelse, types)
        case ir.Apply(op=Op.SLOPED, args=(value, x, _)):
            yield from carriers(value, types)
            yield from carriers(x, types)
        case ir.Apply(op=op, args=args):
            if op not in STEPS and INFO[op].result in ("same", "float"):
                for arg in args:
                    yield from carriers(arg, types)
        case _:
            return


def is_active(expr: ir.Expr, active: frozenset[str], types: TypeEnv) -> bool:
    """Whether `expr` carries a derivative."""
    return any(name in active for name in carriers(expr, types))


def flows(ls: ir.LoopSet, types: TypeEnv) -> list[tuple[str, frozenset[str]]]:
    """(defined name, names it takes derivatives from) for every definition of a floating name."""
    out: list[tuple[str, frozenset[str]]] = []
    for stmt in all_statements(ls.body):
        match stmt:
            case ir.Let(name=name, value=value):
                out.append((name, frozenset(carriers(value, types))))
            case ir.Assign(target=target, value=value) | ir.Accumulate(target=target, value=value):
                if types.arrays[target.array].element.is_float:
                    out.append((target.array, frozenset(carriers(value, types))))
            case ir.Allocate(array=array, fill=fill) if fill is not None:
                out.append((array, frozenset(carriers(fill, types))))
            case ir.Call() as call:
                targets = {a.array for a in (*call.results, *written_parts(call))}
                sources = frozenset(n for arg in differentiated(call) for n in carriers(arg, types))
                out += [(n, sources) for n in sorted(targets) if types.arrays[n].element.is_float]
            case _:
                pass
    return out


def differentiated(call: ir.Call) -> Iterator[ir.Expr]:
    """Arguments that what a call computes may have derivatives by; of a derived function these are not known."""
    constant = call.rule.constant if call.form == "primal" else frozenset[str]()
    given = zip(call.rule.names(call.form), call.args, strict=True)
    return (arg for name, arg in given if arg is not None and name not in constant)


def analyse_activity(ls: ir.LoopSet, wrt: tuple[str, ...]) -> Activity:
    """Activity of the normal LoopSet `ls` with respect to the arguments `wrt`."""
    types = type_env(ls)
    stored = written_arrays(ls.body)
    written = [
        a.name for a in ls.arrays
        if a.role == "argument" and a.name in stored and a.type is not None and a.type.element.is_float
    ]  # fmt: skip
    onward: defaultdict[str, list[str]] = defaultdict(list)
    back: defaultdict[str, list[str]] = defaultdict(list)
    for name, sources in flows(ls, types):
        back[name] += sources
        for source in sources:
            onward[source].append(name)
    varied = reached((*wrt, *written), onward)
    outputs = frozenset(written) | frozenset(
        name for r in ls.results for name in ([r.array] if isinstance(r, ir.ArrayResult) else carriers(r.value, types))
    )
    active = frozenset(varied & reached(outputs, back))
    arrays = frozenset(n for n in active if n in types.arrays)
    arguments = frozenset(n for n in wrt if n in types.arrays) | frozenset(written)
    return Activity(wrt, active, arrays | arguments)


def differentiable_arguments(ls: ir.LoopSet) -> tuple[str, ...]:
    """Floating arguments, arrays and scalars, in order."""
    types = type_env(ls)
    out: list[str] = []
    for name in ls.params:
        kind = types.arrays[name].element if name in types.arrays else types.scalars[name]
        if kind.is_float:
            out.append(name)
    return tuple(out)


def default_wrt(ls: ir.LoopSet, arrays_read_first: frozenset[str]) -> tuple[str, ...]:
    """Floating arguments without the pure outputs and scratch: arrays that are written and in no element read first.

    `arrays_read_first` names the arrays with a read that may see the caller's value.
    """
    written = written_arrays(ls.body)
    return tuple(n for n in differentiable_arguments(ls) if n not in written or n in arrays_read_first)
