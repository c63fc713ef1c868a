"""Whose number a number surely is, NumPy's or Python's, which are not rounded in the same way."""

from __future__ import annotations

import ast
from collections.abc import Iterable, Mapping
from typing import cast

import numpy as np

from loopdiff.frontend.arrays.element_types import arrays_in, kind_so_far, may_widen, stores_so_far
from loopdiff.frontend.binding.types import Kind
from loopdiff.frontend.capture import ScalarArgument
from loopdiff.frontend.parsing.state import State
from loopdiff.ir import nodes as ir
from loopdiff.ir.ops import Op
from loopdiff.ir.types import ScalarType
from loopdiff.ir.walk import stmt_exprs
from loopdiff.numpy_functions import elementwise
from loopdiff.source.scopes import own_nodes

ARITHMETIC = (Op.ADD, Op.SUB, Op.MUL, Op.DIV, Op.NEG, Op.POW, Op.FLOORDIV, Op.MOD)
RING = (Op.ADD, Op.SUB, Op.MUL, Op.NEG)
MAKING_ARRAYS = (np.zeros, np.ones, np.empty, np.full, np.zeros_like, np.ones_like, np.empty_like, np.full_like)
ROUNDING = (elementwise.around, elementwise.to_digits, elementwise.to_nearest_decimal, elementwise.product_error)

# How surely a number is NumPy's: not; or else it is whole, which both round alike; or else zero; in any case.
NOT, OR_WHOLE, OR_ZERO, SURELY = range(4)
Stores = Mapping[str, list[ir.Stmt]]


def note_made(state: State, callee: object) -> None:
    """Remember that `callee`, a function of NumPy, may have made a number of Python's numbers, which is NumPy's."""
    is_of_arrays = any(callee is known for known in MAKING_ARRAYS)
    is_rounding = any(state.source.function is known for known in ROUNDING)
    state.whole.makes_numbers |= not is_of_arrays and not is_rounding


def is_surely_numpys(state: State, value: ir.Expr) -> bool:
    """Whether the number `value` is one of NumPy's floats, or one that Python rounds in the same way, whatever of what
    is stored in its cells they hold: what is assigned to them in the text behind may be one of Python's, what is added
    to them not."""
    if may_widen(state, value, is_added=False):
        return False
    values = stores_so_far(state)
    levels = dict.fromkeys(cells_in(state, value, values), SURELY)
    before: dict[str, int] = {}
    while levels != before:
        before = dict(levels)
        levels = {name: level_of_stores(state, values.get(name, []), before) for name in before}
    level = level_of(state, value, levels)
    added = added_behind(state, levels, values) if level != SURELY and state.whole.around else set()
    is_settled = not added or (level == OR_ZERO and added <= {ast.Mult, ast.Div})
    return is_settled and level != NOT and kind_so_far(state, value) in (Kind.WEAK, Kind.F32, Kind.F64)


def added_behind(state: State, cells: Iterable[str], values: Stores) -> set[type[ast.operator]]:
    """The operators of augmented assignments that change `cells` in the text behind."""
    found = set[type[ast.operator]]()
    for inner in state.whole.active:
        seen = {name: {s.loc.line for s in values.get(cell, [])} for name, cell in inner.cells.items() if cell in cells}
        for node in own_nodes(inner.source.node):
            target = node.target.id if isinstance(node, ast.AugAssign) and isinstance(node.target, ast.Name) else ""
            if target in seen and inner.source.span(node).line not in seen[target]:
                found.add(type(cast(ast.AugAssign, node).op))
    return found


def is_surely_pythons(state: State, value: ir.Expr) -> bool:
    """Whether the number `value` is one of Python's: a literal, an argument, or computed of these alone."""
    if kind_so_far(state, value) is not Kind.WEAK or may_widen(state, value):
        return False
    values = stores_so_far(state)
    cells = cells_in(state, value, values)
    stored = [e for name in cells for s in values.get(name, []) for e in stmt_exprs(s)]
    has_stores = all(values.get(name) and name not in state.whole.kinds for name in cells)
    return has_stores and all(is_made_by_python(state, e) for e in (value, *stored))


def is_made_by_python(state: State, value: ir.Expr) -> bool:
    match value:
        case ir.Const(dtype=dtype):
            return dtype is None
        case ir.Param(name=name):
            kind = state.need_types()[name]
            return isinstance(kind, ScalarArgument) and kind.is_weak
        case ir.Dim() | ir.Index():
            return not state.whole.makes_numbers
        case ir.Load(access=access):
            return is_cell(state, access.array)
        case ir.Cast(dtype=ScalarType.F64, value=inner):  # `float(v)`; of two, it is `np.float64(v)`
            return not (isinstance(inner, ir.Cast) and inner.dtype is ScalarType.F64)
        case ir.Cast(dtype=ScalarType.INT):
            return not state.whole.makes_numbers
        case ir.Apply(op=op, args=args) if (
            op in (*ARITHMETIC, Op.MIN, Op.MAX, Op.ABS) and not state.whole.makes_numbers
        ):
            return all(is_made_by_python(state, a) for a in args)
        case _:
            return False


def is_cell(state: State, array: str) -> bool:
    return state.arrays[array].role == "local" and state.arrays[array].extents == ()


def cells_in(state: State, value: ir.Expr, values: Stores) -> set[str]:
    """The cells that `value` is computed of, with those that what they hold is computed of."""
    found, left = set[str](), list(arrays_in((value,)))
    while left:
        name = left.pop()
        if name not in found and is_cell(state, name):
            found.add(name)
            left += arrays_in(tuple(e for store in values.get(name, ()) for e in stmt_exprs(store)))
    return found


def level_of_stores(state: State, stores: list[ir.Stmt], levels: Mapping[str, int]) -> int:
    """That of a cell with these `stores`: what is added to a number of NumPy's leaves it one."""
    given = [level_of(state, s.value, levels) for s in stores if isinstance(s, ir.Assign)]
    added = [level_of(state, s.value, levels) for s in stores if isinstance(s, ir.Accumulate)]
    is_sum = all(s.op == "add" for s in stores if isinstance(s, ir.Accumulate))
    if not given:
        return NOT
    return SURELY if min(given) == SURELY and is_sum else min(given + added)


def level_of(state: State, value: ir.Expr, levels: Mapping[str, int]) -> int:
    match value:
        case ir.Const(value=float() | int() as number, dtype=dtype):
            if float(number).is_integer():
                return OR_ZERO if number == 0 else OR_WHOLE
            return NOT if dtype is None else SURELY
        case ir.Param(name=name):
            kind = state.need_types()[name]
            return NOT if isinstance(kind, ScalarArgument) and kind.is_weak else SURELY
        case ir.Dim() | ir.Index() | ir.Cast(dtype=ScalarType.INT):
            return OR_WHOLE
        case ir.Load(access=access) if is_cell(state, access.array):
            return NOT if access.array in state.whole.kinds else levels.get(access.array, NOT)
        case ir.Load(access=access):
            is_given = state.arrays[access.array].role == "argument"
            return SURELY if is_given or not state.whole.lists else NOT  # what lists hold may stand in other arrays
        case ir.Apply(op=op, args=args) if op in ARITHMETIC:
            return level_of_result(op, [level_of(state, a, levels) for a in args])
        case ir.Apply(op=Op.MIN | Op.MAX, args=args):
            return min(level_of(state, a, levels) for a in args)
        case _:
            return NOT


def level_of_result(op: Op, args: list[int]) -> int:
    if max(args) == SURELY:
        return SURELY
    if (op in (Op.ADD, Op.SUB, Op.NEG) and min(args) == OR_ZERO) or (op is Op.MUL and max(args) == OR_ZERO):
        return OR_ZERO
    if op is Op.DIV and args[0] == OR_ZERO:
        return OR_ZERO
    return min(*args, OR_WHOLE) if op in RING else NOT
