"""Values that are known before the loops run, and what follows from them."""

from __future__ import annotations

import ast
import operator
from collections.abc import Callable, Sequence
from enum import Enum
from typing import Any

import numpy as np

from loopdiff.frontend.classes import alternatives, are_structures, is_derived, is_plain_class, may_be_row
from loopdiff.frontend.structures.absent import may_be_none
from loopdiff.frontend.structures.effects import require_settled
from loopdiff.frontend.structures.rewriting import base_of
from loopdiff.frontend.structures.scope import Place, Scope
from loopdiff.frontend.structures.trees import Branch, Leaf, Rank, Static, Tree, has_length, is_sequence, same
from loopdiff.immutable import replace
from loopdiff.source.functions import MISSING
from loopdiff.source.nodes import copied_tree

COMPARED: dict[type[ast.cmpop], Callable[[Any, Any], bool]] = {
    ast.Eq: operator.eq, ast.NotEq: operator.ne, ast.Lt: operator.lt, ast.LtE: operator.le, ast.Gt: operator.gt,
    ast.GtE: operator.ge, ast.Is: same, ast.IsNot: lambda a, b: not same(a, b),
}  # fmt: skip
CALCULATED: dict[type[ast.operator], Callable[[Any, Any], Any]] = {
    ast.Add: operator.add, ast.Sub: operator.sub, ast.Mult: operator.mul, ast.FloorDiv: operator.floordiv,
    ast.Mod: operator.mod,
}  # fmt: skip
COMPUTING = (str, int, abs, min, max)
TEXT_METHODS = (
    "startswith",
    "endswith",
    "format",
    "lower",
    "upper",
    "strip",
    "replace",
    "removeprefix",
    "removesuffix",
)
MADE = (np.zeros, np.ones, np.empty, np.full)  # of a shape
MADE_LIKE = (np.zeros_like, np.ones_like, np.empty_like, np.full_like, np.copy)  # of an array
KNOWN = (int, str, Enum, type, type(None))  # types of values from outside that may decide what there is


def static(scope: Scope, node: ast.expr) -> Any:
    """The value of `node` where it is known before the loops run; MISSING where it is not."""
    match node:
        case ast.Constant(value=value):
            return value
        case ast.JoinedStr(values=values):
            return formatted(scope, values)
        case ast.Name() | ast.Attribute() if (value := scope.value_outside(node)) is not MISSING:
            return value if isinstance(value, KNOWN) else MISSING
        case ast.UnaryOp(op=ast.Not(), operand=operand):
            value = truth(scope, operand)
            return value if value is MISSING else not value
        case ast.UnaryOp(op=ast.USub(), operand=operand):
            value = static(scope, operand)
            return -value if isinstance(value, int) else MISSING
        case ast.BinOp(left=left, op=op, right=right) if type(op) in CALCULATED:
            return computed(CALCULATED[type(op)], static(scope, left), static(scope, right))
        case ast.BoolOp(op=op, values=values):
            return known_truth(scope, isinstance(op, ast.Or), values)
        case ast.Compare(left=left, ops=[op], comparators=[right]):
            return compared(scope, left, op, right)
        case ast.Call(keywords=[]):
            return of_call(scope, node)
        case ast.Name() | ast.Attribute() | ast.Subscript():
            tree = base_of(scope, node)
            if tree is None:
                return known_number(scope.known(node.id) if isinstance(node, ast.Name) else MISSING)
            return tree.value if isinstance(tree, Static) else known_number(getattr(tree, "known", MISSING))
        case _:
            return MISSING


def truth(scope: Scope, node: ast.expr) -> Any:
    """Whether `node` is true where that is known before the loops run, as of a list; MISSING where it is not."""
    found = static(scope, node)
    is_place = isinstance(node, ast.Name | ast.Attribute | ast.Subscript)
    tree = base_of(scope, node) if found is MISSING and is_place else None
    if isinstance(tree, Branch) and is_plain_class(tree.type):
        return not any(hasattr(tree.type, name) for name in ("__bool__", "__len__")) or MISSING
    if not isinstance(tree, Branch) or not has_length(tree):
        return found
    require_settled(scope, [tree], node)
    return bool(tree.items)


def of_call(scope: Scope, node: ast.Call) -> Any:
    """What a call gives that is computed before the loops run."""
    function = scope.value_outside(node.func)
    match node:
        case ast.Call(args=[ast.Name(id=name), kinds]) if function is isinstance and name in scope.held:
            return is_instance(scope, name, kinds, node)
        case ast.Call(args=[of]) if function is np.isscalar or function is callable:
            tree = base_of(scope, of)
            return False if isinstance(tree, Branch) else function(tree.value) if isinstance(tree, Static) else MISSING
        case ast.Call(args=[of, name]) if function is hasattr and isinstance(text := static(scope, name), str):
            tree = base_of(scope, of)
            if not isinstance(tree, Branch) or tree.kind != "record":
                return MISSING
            return tree.item(text) is not None or hasattr(tree.type, text)
        case ast.Call(args=[of]) if function is type:
            tree = base_of(scope, of)
            return tree.type if isinstance(tree, Branch) else MISSING
        case ast.Call(args=[of]) if function is len:
            tree = base_of(scope, of)
            if not isinstance(tree, Branch) or not has_length(tree):
                return len(text) if isinstance(text := static(scope, of), str) else MISSING
            require_settled(scope, [tree], node)
            return len(tree.items)
        case ast.Call(func=ast.Attribute(value=base, attr=attr), args=args) if attr in TEXT_METHODS:
            text = static(scope, base)
            is_text = isinstance(text, str)
            return computed(getattr(text, attr), *(static(scope, a) for a in args)) if is_text else MISSING
        case ast.Call(args=args) if any(function is f for f in COMPUTING):
            return computed(function, *(static(scope, a) for a in args))
        case _:
            return MISSING


def known_number(known: Any) -> Any:
    return known if isinstance(known, int) else MISSING


def computed(function: Callable[..., Any], *values: Any) -> Any:
    """What `function` makes of integers and texts; MISSING where one is not known, or it makes nothing of them."""
    if not all(isinstance(v, int | str) for v in values):
        return MISSING
    try:
        found = function(*values)
    except (ArithmeticError, TypeError, ValueError, LookupError):
        return MISSING
    return found if isinstance(found, int | str) and not isinstance(found, Enum) else MISSING


def formatted(scope: Scope, values: Sequence[ast.expr]) -> Any:
    """The text of a formatted string."""
    parts = [static(scope, v.value) if isinstance(v, ast.FormattedValue) else static(scope, v) for v in values]
    plain = all(not isinstance(v, ast.FormattedValue) or (v.conversion == -1 and v.format_spec is None) for v in values)
    return computed(lambda *texts: "".join(map(str, texts)), *parts) if plain else MISSING


def is_instance(scope: Scope, name: str, kinds: ast.expr, node: ast.Call) -> Any:
    """`isinstance` of a structure, or of a number or an array with classes of structures: it is asked again once lists
    are told from arrays."""
    tree, classes = scope.tree(name, node), tuple(scope.value_outside(n) for n in alternatives(kinds))
    if not all(isinstance(c, type) for c in classes):
        return MISSING
    match tree or scope.known(name):
        case Branch(type=own):
            return issubclass(own, classes)
        case Static(value=value):
            return isinstance(value, classes)
        case Rank(axes=axes, kind=kind) if axes or kind is not None:
            scope.uses_ranks = True
            return is_derived(np.ndarray if kind is None else kind, classes)
        case _ if not are_structures(classes) or name in scope.bound:
            return MISSING
        case _:
            if any(map(may_be_row, classes)):
                asked = ast.If(copied_tree(node), [ast.copy_location(ast.Pass(), node)], [])
                scope.out.append(ast.copy_location(asked, node))
            return False


def known_truth(scope: Scope, deciding: bool, values: Sequence[ast.expr]) -> Any:
    """`and` and `or` as far as what comes first decides."""
    value: Any = MISSING
    for node in values:
        value = static(scope, node)
        if value is MISSING or bool(value) is deciding:
            return value
    return value


def compared(scope: Scope, left: ast.expr, op: ast.cmpop, right: ast.expr) -> Any:
    """A comparison of values that are known, or of a structure or an array with None."""
    is_none = isinstance(right, ast.Constant) and right.value is None and isinstance(op, ast.Is | ast.IsNot)
    if is_none and isinstance(left, ast.Attribute | ast.Subscript) and isinstance(base_of(scope, left), Branch):
        return isinstance(op, ast.IsNot)
    if is_none and isinstance(left, ast.Name) and left.id in scope.held:
        if may_be_none(scope, left.id):
            return MISSING
        held = scope.tree(left.id, left)
        return (isinstance(held, Static) and held.value is None) is isinstance(op, ast.Is)
    if isinstance(op, ast.In | ast.NotIn):
        tree, a = base_of(scope, right), static(scope, left)
        if not isinstance(tree, Branch) or not has_length(tree) or a is MISSING or tree.type is range:
            return MISSING
        require_settled(scope, [tree], right)
        found = [i.value for i in tree.items if isinstance(i, Static)] if is_sequence(tree) else list(tree.keys)
        return MISSING if len(found) < len(tree.items) else (a in found) is isinstance(op, ast.In)
    are_places = all(isinstance(n, ast.Name | ast.Attribute | ast.Subscript) for n in (left, right))
    if are_places and isinstance(op, ast.Is | ast.IsNot) and (same_one := are_one(scope, left, right)) is not MISSING:
        return same_one is isinstance(op, ast.Is)
    a, b = static(scope, left), static(scope, right)
    is_apart = isinstance(b, Enum) and not isinstance(b, int) and isinstance(left, ast.Name) and left.id in scope.held
    if a is MISSING and is_apart and isinstance(op, ast.Is | ast.IsNot):
        return isinstance(op, ast.IsNot)  # numbers, arrays and structures are none of an enumeration
    if a is MISSING or b is MISSING:
        return MISSING
    try:
        return COMPARED[type(op)](a, b)
    except TypeError:
        return MISSING


def held_place(scope: Scope, node: ast.expr) -> Place | None:
    """The name that holds what `node` stands for, and where in that it is."""
    match node:
        case ast.Name(id=name):
            return name, ()
        case ast.Attribute(value=base, attr=key):
            pass
        case ast.Subscript(value=base, slice=index):
            key = static(scope, index)
        case _:
            return None
    place, tree = held_place(scope, base), base_of(scope, base)
    if place is None or not isinstance(tree, Branch) or key is MISSING:
        return None
    return place[0], (*place[1], counted(tree, key))


def counted(tree: Branch, key: object) -> object:
    """`key` as it is among the keys of `tree`: not counted from the end."""
    if tree.kind == "list" and isinstance(key, int) and key < 0:
        return key + len(tree.items)
    place = tree.place(key)
    return key if place is None else tree.keys[place]


def are_one(scope: Scope, left: ast.expr, right: ast.expr) -> Any:
    """Whether two places hold the same structure; MISSING where others may have either."""
    trees, places = [base_of(scope, n) for n in (left, right)], [held_place(scope, n) for n in (left, right)]
    if not all(isinstance(tree, Branch) for tree in trees):
        return MISSING
    return places[0] == places[1] if all(place in scope.owned for place in places) else MISSING


# -- axes of arrays ------------------------------------------------------------------------------------------
def with_rank(scope: Scope, tree: Tree, value: ast.expr) -> Tree:
    """`tree`, the value of `value`, with the numbers of axes of its arrays where the text says how many these have."""
    if isinstance(tree, Branch) and isinstance(value, ast.Tuple) and len(tree.items) == len(value.elts):
        return tree.with_items(tuple(with_rank(scope, i, e) for i, e in zip(tree.items, value.elts, strict=True)))
    if not isinstance(tree, Leaf) or tree.known is not MISSING:
        return tree
    axes = axes_of(scope, value)
    return tree if not axes else replace(tree, known=Rank(axes))


def axes_of(scope: Scope, node: ast.expr) -> int | None:
    """How many axes `node` has, none for a number; None where the text does not say."""
    match node:
        case ast.Constant(value=bool() | int() | float() | complex()):
            return 0
        case ast.Name() | ast.Attribute() if (value := scope.value_outside(node)) is not MISSING:
            return np.ndim(value) if isinstance(value, int | float | np.ndarray) else None
        case ast.Name(id=name):
            return axes_known(scope.known(name))
        case ast.UnaryOp(op=ast.USub() | ast.UAdd(), operand=operand):
            return axes_of(scope, operand)
        case ast.BinOp(left=left, op=ast.MatMult(), right=right):
            return axes_of_product(axes_of(scope, left), axes_of(scope, right))
        case ast.BinOp(left=left, right=right):
            return most_axes([axes_of(scope, left), axes_of(scope, right)])
        case ast.Attribute(value=base, attr="T"):
            return axes_of(scope, base)
        case ast.Subscript(value=base, slice=index):
            return axes_of_part(axes_of(scope, base), index.elts if isinstance(index, ast.Tuple) else [index])
        case ast.Call(func=ast.Attribute(value=base, attr="copy"), args=[], keywords=[]):
            return axes_of(scope, base)
        case ast.Call(func=function, args=[first, *_] as args, keywords=named) if all(k.arg == "dtype" for k in named):
            return axes_of_call(scope, scope.value_outside(function), first, args)
        case _:
            return None


def axes_of_call(scope: Scope, function: Any, first: ast.expr, args: Sequence[ast.expr]) -> int | None:
    """How many axes there are in what `function`, one of NumPy, makes of `args`."""
    if any(function is f for f in MADE):
        return axes_of_shape(scope, first)
    if any(function is f for f in MADE_LIKE):
        return axes_of(scope, first)
    if any(function is f for f in (np.matmul, np.dot)) and len(args) == 2:
        return axes_of_product(axes_of(scope, first), axes_of(scope, args[1]))
    is_elementwise = isinstance(function, np.ufunc) and function.signature is None and function.nout == 1
    if is_elementwise and function.nin == len(args):
        return most_axes([axes_of(scope, a) for a in args])
    return None


def axes_of_shape(scope: Scope, node: ast.expr) -> int | None:
    """How many axes an array of the shape `node` has."""
    match node:
        case ast.Tuple(elts=elts) | ast.List(elts=elts):
            return None if any(isinstance(e, ast.Starred) for e in elts) else len(elts)
        case ast.Attribute(value=base, attr="shape") if base_of(scope, node) is None:
            return axes_of(scope, base)
        case ast.Call(func=ast.Name() as called, args=[_]) if scope.value_outside(called) is len:
            return 1
        case _:
            tree = base_of(scope, node) if isinstance(node, ast.Name | ast.Attribute) else None
            is_number = tree is None and isinstance(static(scope, node), int)
            return len(tree.items) if isinstance(tree, Branch) and is_sequence(tree) else 1 if is_number else None


def axes_of_part(axes: int | None, parts: Sequence[ast.expr]) -> int | None:
    """How many axes are left of `axes` by subscripts that are numbers, slices and None."""
    for part in parts:
        match part:
            case ast.Slice():
                pass
            case ast.Constant(value=None):
                axes = None if axes is None else axes + 1
            case ast.Constant(value=int() as value) | ast.UnaryOp(ast.USub(), ast.Constant(value=int() as value)) if (
                type(value) is int
            ):
                axes = axes - 1 if axes else None
            case _:
                return None
    return axes


def axes_known(known: Any) -> int | None:
    return known.axes if isinstance(known, Rank) else 0 if isinstance(known, int) else None


def most_axes(found: Sequence[int | None]) -> int | None:
    """How many axes arrays have together, element by element."""
    known = [axes for axes in found if axes is not None]
    return max(known) if len(known) == len(found) else None


def axes_of_product(left: int | None, right: int | None) -> int | None:
    """How many axes the product of a vector or a matrix with another has."""
    return None if left not in (1, 2) or right not in (1, 2) else left + right - 2
