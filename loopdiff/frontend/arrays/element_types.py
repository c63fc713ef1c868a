"""What can be said of the types of elements before binding: whether they are booleans."""

from __future__ import annotations

from loopdiff.frontend.parsing.state import State
from loopdiff.ir.nodes import Access, Apply, Cast, Const, Expr, Load, Select
from loopdiff.ir.ops import COMPARISONS, FLOAT_TESTS, Op
from loopdiff.ir.types import BOOL, ArrayType

TRUTH_OPS = (*COMPARISONS, *FLOAT_TESTS, Op.AND, Op.OR, Op.NOT)
BITS = (Op.BITAND, Op.BITOR, Op.BITXOR, Op.INVERT)


def is_truth_value(state: State, expr: Expr) -> bool:
    """Whether `expr` is a boolean, as far as the parser can see."""
    match expr:
        case Const(value=value):
            return isinstance(value, bool)
        case Apply(op=op, args=args):
            return op in TRUTH_OPS or (op in BITS and all(is_truth_value(state, a) for a in args))
        case Select(then=then, orelse=orelse):
            return is_truth_value(state, then) and is_truth_value(state, orelse)
        case Cast(dtype=dtype):
            return dtype is BOOL
        case Load(access=access):
            return holds_truths(state, access)
        case _:
            return False


def holds_truths(state: State, access: Access) -> bool:
    decl = state.arrays[access.array]
    if decl.role == "argument":
        kind = state.need_types()[access.array]
    elif decl.type is None and (decl.dtype_like or decl.like) is not None and access.array not in state.whole.truths:
        return holds_truths(state, Access(decl.dtype_like or decl.like or ""))
    else:
        kind = decl.type
    return access.array in state.whole.truths or (isinstance(kind, ArrayType) and kind.element is BOOL)
