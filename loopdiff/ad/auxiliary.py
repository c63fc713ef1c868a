"""A function that returns a loss and values beside it, for the gradient of the loss alone.

    return loss, y          becomes        for i: y_1[i] = stop(y[i])
                                           return loss, y_1

Nothing that only the values beside it need has an adjoint, and no derivative of theirs, infinite perhaps, is multiplied
by their zero seeds.
"""

from __future__ import annotations

from collections.abc import Iterator

from loopdiff.immutable import replace
from loopdiff.ir import nodes as ir
from loopdiff.ir.build import extents_of, nested, over_elements
from loopdiff.ir.names import NameSupply, supply
from loopdiff.ir.ops import Op
from loopdiff.ir.typing import type_env, type_of


def with_slope_of_first(ls: ir.LoopSet) -> ir.LoopSet:
    """`ls` with results of which only the first has a derivative."""
    env, names = type_env(ls), supply(ls)
    results, arrays, copies = list(ls.results[:1]), list(ls.arrays), list[ir.Stmt]()
    for result in ls.results[1:]:
        match result:
            case ir.ScalarResult(value=value) if type_of(value, env).is_float:
                results.append(ir.ScalarResult(ir.Apply(Op.STOP, (value,))))
            case ir.ArrayResult(array=array) if env.arrays[array].element.is_float:
                made = replace(ls.array(array), name=names.fresh(array))
                arrays.append(made)
                copies += stopped_copy(ls, array, made.name, names)
                results.append(ir.ArrayResult(made.name))
            case _:
                results.append(result)
    return replace(ls, arrays=tuple(arrays), body=(*ls.body, *copies), results=tuple(results))


def stopped_copy(ls: ir.LoopSet, array: str, to: str, names: NameSupply) -> Iterator[ir.Stmt]:
    """Make the array `to`, which holds what `array` does, without its derivative."""
    yield ir.Allocate(to)
    loops, place = over_elements(extents_of(ls.array(array)), names, "i")
    value = ir.Apply(Op.STOP, (ir.Load(ir.Access(array, place)),))
    yield from nested(loops, (ir.Assign(ir.Access(to, place), value),))
