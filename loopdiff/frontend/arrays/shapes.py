"""Questions about shapes: `.shape`, `.ndim`, `.size` and `len` of anything that is an array; and other shapes of one.

A reshape is a view of an array in one piece, in which rows follow one another in memory, and a copy of others. NumPy
decides by the order that elements have in its memory. That is known here for arguments, and for most of what is made;
where it is not, or not before the call, what is given is whatever is simpler, as long as nobody can tell a view from a
copy.
"""

from __future__ import annotations

import ast
from collections.abc import Sequence

from loopdiff.errors import Span
from loopdiff.frontend.arrays.elementwise import is_costly
from loopdiff.frontend.arrays.integers import ONE, ZERO, distance, maximum, plus, times
from loopdiff.frontend.arrays.nests import copied_view, keep_type, made_of, nest, new_array
from loopdiff.frontend.arrays.ranges import is_nonnegative_here, limit
from loopdiff.frontend.arrays.values import Array, ArrayValue, Quantity, View, as_array, fill, hole
from loopdiff.frontend.arrays.views import Call, is_contiguous, is_numpys_number, product, taken, transposed
from loopdiff.frontend.parsing.bindings import Cell, Given, LocalFunction, Outside, Rejected
from loopdiff.frontend.parsing.outside import array_of, root_is_local
from loopdiff.frontend.parsing.sites import Copy
from loopdiff.frontend.parsing.state import State
from loopdiff.frontend.refused import REFUSED_ATTRIBUTES
from loopdiff.immutable import replace
from loopdiff.ir import nodes as ir
from loopdiff.ir.affine import exponents_in, joined_powers, quotient_of_powers
from loopdiff.ir.ops import Op
from loopdiff.numpy_functions import is_of_numpy
from loopdiff.source.nodes import NumberOrArray


def shaped(state: State, node: ast.expr, takes_numbers: bool = False) -> str | Array | None:
    """The array that `node` is: the name of a whole one, or its value; None if it is no array, for which numbers of
    NumPy's are taken where it `takes_numbers`."""
    if (array := array_of(state, node)) is not None:
        return array
    is_number = isinstance(node, NumberOrArray) or (takes_numbers and is_numpys_number(state, node))
    if not is_number and (not root_is_local(state, node) or not may_be_array(state, node)):
        return None
    state.need_types()
    value = state.quantity(node)
    return as_array(value) if is_number or isinstance(value, View | ArrayValue) else None


def may_be_array(state: State, node: ast.expr) -> bool:
    """Whether `node` may be an array, as far as can be said without types."""
    match node:
        case ast.Name(id=name):
            match state.binding(name):
                case Cell(cell=cell):
                    return state.types is None and cell in state.whole.undecided
                case Given(value=value):
                    return state.types is None and isinstance(value, ir.Param)
                case None:
                    return state.types is None and name in state.survey.parameters
                case Outside() | LocalFunction() | Rejected():
                    return False
                case _:
                    return True
        case ast.Constant() | ast.Tuple() | ast.List() | ast.Dict() | ast.Set() | ast.JoinedStr() | ast.Lambda():
            return False
        case ast.Attribute(value=ast.Call() | ast.Subscript(value=ast.Call()), attr=attr):
            return attr not in ("shape", "ndim", "size", "dtype")  # a field of what `f.grad(x)` gives
        case ast.Attribute(attr=attr):
            return attr in ("T", "real", "imag")
        case _:
            return True


def extent_at(state: State, array: str | Array, axis: int, span: Span) -> ir.Expr | None:
    """The extent along `axis`; None if there is no such axis."""
    if isinstance(array, str):
        return state.dim(array, axis, span)
    return array.extents[axis] if -array.rank <= axis < array.rank else None


def rank_of(array: str | Array, span: Span) -> ir.Expr:
    return ir.RankOf(array, loc=span) if isinstance(array, str) else ir.Const(array.rank, loc=span)


def size_of(array: str | Array, span: Span) -> ir.Expr:
    if isinstance(array, str):
        return ir.SizeOf(array, loc=span)
    total: ir.Expr = ONE
    for extent in array.extents:
        total = times(total, extent)
    return total


def array_extents(state: State, array: str | Array, span: Span) -> tuple[ir.Expr, ...]:
    return state.all_of(array, span).extents if isinstance(array, str) else array.extents


def shape_attribute(state: State, node: ast.Attribute) -> Quantity:
    span, text = state.source.span(node), ast.unparse(node)
    array = shaped(state, node.value, takes_numbers=True)
    if array is None:
        hint = f"pass `{text}` as an argument" if isinstance(node.value, ast.Name) else None
        return state.reject("LD119", f"`{text}` reads an attribute of a local value", node, hint)
    match node.attr:
        case "size":
            return size_of(array, span)
        case "ndim":
            if isinstance(array, str) and state.types is not None:
                return ir.Const(state.rank(array), loc=span)
            return rank_of(array, span)
        case "shape":
            return state.reject(
                "LD119", f"`{text}` is a tuple, used here as a number", node, "take one extent: `.shape[0]`"
            )
        case "T":
            whole = as_view(state, array, span)
            return transposed(whole, range(whole.rank)[::-1])
        case attr:
            hint = REFUSED_ATTRIBUTES.get(attr)
            return state.reject("LD119", f"`.{attr}` of an array is not supported here", node, hint)


def as_view(state: State, array: str | Array, span: Span) -> Array:
    state.need_types()
    return state.all_of(array, span) if isinstance(array, str) else array


# -- shapes that are written -----------------------------------------------------------------------------------
def shape_extents(state: State, node: ast.expr) -> tuple[ir.Expr, ...] | None:
    """Extents written as a number, as a tuple of numbers, `A.shape` or a part of it, or as some of these behind each
    other; None after a rejection."""
    match node:
        case ast.BinOp(left=left, op=ast.Add(), right=right) if is_shape(state, left) and is_shape(state, right):
            first, second = shape_extents(state, left), shape_extents(state, right)
            return None if first is None or second is None else (*first, *second)
        case ast.Attribute(value=base, attr="shape") if (found := shaped(state, base)) is not None:
            return array_extents(state, found, state.source.span(node))
        case ast.Tuple(elts=elts) | ast.List(elts=elts):
            parts = [starred_extents(state, e) if isinstance(e, ast.Starred) else (state.number(e),) for e in elts]
            return None if None in parts else tuple(extent for part in parts for extent in part or ())
        case ast.Subscript(value=ast.Attribute(value=base, attr="shape"), slice=ast.Slice() as part):
            array, bounds = array_of(state, base), constant_slice(part)
            if array is not None and bounds is not None:
                return tuple(ir.Dim(array, k, loc=state.source.span(node)) for k in range(*bounds))
            given, whole = (part.lower, part.upper), shaped(state, base)
            lower, upper = (None if b is None else constant_bound(b) for b in given)
            is_constant = all((b is None) == (k is None) for b, k in zip(given, (lower, upper), strict=True))
            if whole is not None and is_constant and part.step is None:
                return array_extents(state, whole, state.source.span(node))[lower:upper]
            state.reject("LD115", "a part of a shape must have constant bounds", node, "write the extents one by one")
            return None
        case _:
            return (state.number(node),)


def starred_extents(state: State, node: ast.Starred) -> tuple[ir.Expr, ...] | None:
    """Extents written as `*A.shape` or a part of it; None after a rejection."""
    if is_shape(state, node.value):
        return shape_extents(state, node.value)
    state.reject("LD115", "`*` in a shape", node, "write the extents one by one")
    return None


def is_shape(state: State, node: ast.expr) -> bool:
    """Whether `node` is a tuple of extents."""
    match node:
        case ast.Tuple():
            return True
        case (
            ast.Attribute(value=base, attr="shape")
            | ast.Subscript(value=ast.Attribute(value=base, attr="shape"), slice=ast.Slice())
        ):
            return shaped(state, base) is not None
        case ast.BinOp(left=left, op=ast.Add(), right=right):
            return is_shape(state, left) and is_shape(state, right)
        case _:
            return False


def shape_compared(state: State, node: ast.expr) -> tuple[ir.Expr, ...] | None:
    """The extents of `A.shape` or `(n, m)`, of which it is asked whether they are those of another; of a number of
    NumPy's there are none. None for others."""
    match node:
        case ast.Tuple(elts=elts) if not any(isinstance(e, ast.Starred) for e in elts):
            return tuple(map(state.number, elts))
        case ast.Attribute(value=base, attr="shape") if (found := shaped(state, base, takes_numbers=True)) is not None:
            state.need_types()
            return array_extents(state, found, state.source.span(node))
        case _:
            return None


def constant_slice(node: ast.Slice) -> tuple[int, int] | None:
    """`[a:b]` with constants a and b that are not negative."""
    start, stop = constant_bound(node.lower), constant_bound(node.upper)
    is_fixed = node.upper is not None and node.step is None
    if start is None or stop is None or start < 0 or stop < 0 or not is_fixed:
        return None
    return start, stop


def constant_bound(node: ast.expr | None) -> int | None:
    """The integer written as `node`, 0 if there is none; None for anything else."""
    match node:
        case None:
            return 0
        case ast.Constant(value=int(value)):
            return value
        case ast.UnaryOp(op=ast.USub(), operand=ast.Constant(value=int(value))):
            return -value
        case _:
            return None


# -- other shapes ----------------------------------------------------------------------------------------------
def reshape(state: State, call: Call) -> Quantity:
    """A view of contiguous arrays, a new array of others."""
    array = whole_piece(state, as_array(call.array))
    given = call.given.get("shape")
    nodes = call.more or ([] if given is None else [given])
    extents = shape_of(state, nodes, call.node)
    if extents is None:
        return ir.Const(0, loc=state.source.span(call.node))
    is_piece = changes_units(array.extents, extents) or is_contiguous(state, array)
    if not is_piece and not is_turned_piece(state, array, call.node):
        site = state.site("reshape", state.source.span(call.node))
        if not isinstance(array, View) or site in state.whole.decisions.shared:
            return refuse_strided(state, call.node)
        strided_array, array = array, copied_view(state, array, "rows", state.source.span(call.node))
        state.whole.copies.append(Copy(site, state.whole.event(array.array), strided_array.array))
    found = reshaped(state, array, extents, call.node)
    if isinstance(found, View) and isinstance(array, View):
        state.whole.pieces[found] = array
    return found


def changes_units(old: Sequence[ir.Expr], new: Sequence[ir.Expr | None]) -> bool:
    """Whether a reshape adds axes of one element, or takes them away, which NumPy does without a copy. One of the other
    extents follows from the rest."""
    before, after = ([e for e in extents if not (isinstance(e, ir.Const) and e.value == 1)] for extents in (old, new))
    pairs = zip(before, after, strict=False)
    is_open = [n is None or e is None or distance(e, n) != 0 for e, n in pairs]
    return len(before) == len(after) and sum(is_open) <= 1


def whole_piece(state: State, array: Array) -> Array:
    """What `array` is a reshape of, if it is one: it has the same elements in the same order."""
    return state.whole.pieces.get(array, array) if isinstance(array, View) else array


def is_turned_piece(state: State, array: Array, node: ast.AST) -> bool:
    """Whether `array` would be in one piece if its rows followed one another in NumPy's memory, which they may not. As
    long as nobody can tell a view from the copy that NumPy makes then, it may be reshaped as if they did."""
    if not isinstance(array, View) or array.array not in state.whole.turned:
        return False
    turned = state.whole.turned
    state.whole.turned = turned - {array.array}
    is_piece = is_contiguous(state, array)
    state.whole.turned = turned
    site = state.site("reshape", state.source.span(node))
    state.whole.copies.append(Copy(site, state.whole.event(array.array), array.array))
    return is_piece and site not in state.whole.decisions.shared


def refuse_strided(state: State, node: ast.Call) -> Quantity:
    hint = "copy it first: `x.copy().reshape(...)`"
    return state.reject("LD122", f"`{ast.unparse(node)}` is not contiguous in memory", node, hint)


def shape_of(state: State, nodes: Sequence[ast.expr], at: ast.AST) -> list[ir.Expr | None] | None:
    """A shape written as numbers, a tuple of them or `A.shape`; None in it for -1. None after a rejection."""
    match nodes:
        case [ast.Tuple(elts=elts) | ast.List(elts=elts)]:
            return shape_of(state, elts, at)
        case [ast.Attribute(value=base, attr="shape")] if (array := shaped(state, base)) is not None:
            return list(array_extents(state, array, state.source.span(at)))
        case [ast.BinOp(left=left, op=ast.Add(), right=right)] if is_shape(state, left) and is_shape(state, right):
            return shape_of(state, [*behind_each_other(left), *behind_each_other(right)], at)
        case _:
            pass
    found: list[ir.Expr | None] = []
    for node in nodes:
        values = shape_extents(state, node) if is_shape(state, node) else starred_or_one(state, node)
        if values is None:
            return None
        known = map(state.known, values)
        found += [None if isinstance(v, ir.Const) and v.value == -1 else v for v in known]
    if found.count(None) > 1 or not found:
        state.reject("LD110", "a shape has one extent for each axis, and -1 at most once", at)
        return None
    return found


def behind_each_other(node: ast.expr) -> list[ast.expr]:
    """The extents, and parts of shapes, of which `node` consists."""
    match node:
        case ast.BinOp(left=left, right=right):
            return [*behind_each_other(left), *behind_each_other(right)]
        case ast.Tuple(elts=elts):
            return elts
        case _:
            return [node]


def starred_or_one(state: State, node: ast.expr) -> tuple[ir.Expr, ...] | None:
    return starred_extents(state, node) if isinstance(node, ast.Starred) else (state.number(node),)


def reshaped(state: State, array: Array, extents: Sequence[ir.Expr | None], node: ast.AST) -> Array:
    """`array` in another shape, row by row; None stands for the extent that follows from the others.

    Extents that the old shape has too cancel, so that an array without elements keeps the others, where NumPy refuses.
    """
    span = state.source.span(node)
    given = [e for e in extents if e is not None]
    total, rest = joined_powers(product(array.extents)), product(given)
    for extent in given:
        if not is_nonnegative_here(state, extent):
            low = ir.Apply(Op.GE, (extent, ZERO), loc=span)
            message = f"`{ast.unparse(node)}` is a shape with a negative extent"
            state.out.append(ir.Require(low, "LD322", message, loc=span))
    left = divided_evenly(array.extents, given) if None in extents else None
    sizes = [(left or extent_left(total, rest)) if e is None else e for e in extents]
    if None in extents and left is None and not is_positive(rest):
        message = f"`{ast.unparse(node)}` leaves open how many -1 is: the other extents make no element"
        state.out.append(ir.Require(ir.Apply(Op.GT, (rest, ZERO), loc=span), "LD322", message, loc=span))
    before, after = (ir.Apply(Op.EQ, pair, loc=span) for pair in ((total, rest), (total, product(sizes))))
    check = after if None in extents else before
    if None in extents and left is None and (power := whole_quotient(state, total, rest)) is not None:
        sizes = [power if e is None else e for e in extents]  # it is checked to be the quotient
    if distance(*check.args) != 0:
        message = f"`{ast.unparse(node)}` changes the number of elements"
        state.out.append(ir.Require(check, "LD322", message, loc=span))
    positions = unravelled(array.extents, sizes)
    site = state.site("reshape", span)
    is_plain = site in state.whole.decisions.shared or is_read_in_part(state, node)
    if is_plain or not is_better_copied(state, array, positions, sizes):
        found = taken(array, positions, sizes)
        is_piece = isinstance(found, View) and is_contiguous(state, array)
        return replace(found, is_piece=True) if is_piece else found
    found = in_rows(state, array, sizes, span)
    if isinstance(array, View):
        state.whole.copies.append(Copy(site, state.whole.event(found.array), array.array))
    return found


def is_read_in_part(state: State, node: ast.AST) -> bool:
    """Whether an iteration of a loop, or brackets behind it, may read little of what would be copied. Functions
    of NumPy read all."""
    return node in state.whole.indexed or (bool(state.whole.around) and not is_of_numpy(state.source.home.file))


def is_better_copied(state: State, array: Array, positions: Sequence[ir.Expr], sizes: Sequence[ir.Expr]) -> bool:
    """Whether a copy takes less time than to divide for every element that is read. Shapes with as many axes are left:
    what names say of them is mostly that they are the same, and then nothing is divided in the end."""
    if not any(map(is_costly, positions)) or (isinstance(array, ArrayValue) and array.memory is not None):
        return False
    if ZERO in sizes:  # only its type is asked for
        return False
    before, after = (sum(not is_one(e) for e in extents) for extents in (array.extents, sizes))
    return before != after and all(limit(state, state.known(e)) is not None for e in (*array.extents, *sizes))


def in_rows(state: State, array: Array, sizes: Sequence[ir.Expr], span: Span) -> View:
    """`array` in a shape of other `sizes`, in memory of its own, without a division: along its own axes, of which those
    that become others are one axis first, and then along those of the shape."""
    first, last = axes_alike(array.extents, sizes)
    behind = len(array.extents) - last
    middle = joined_powers(product(array.extents[first:behind]))
    rows = new_array(state, "rows", (*array.extents[:first], middle, *array.extents[behind:]), span)
    keep_type(state, rows.array, array.element)
    made_of(state, rows.array, array.element)
    places = unravelled(rows.extents, array.extents)

    def make(subscripts: tuple[ir.Expr, ...]) -> list[ir.Stmt]:
        target = rows.access([fill(p, subscripts) for p in places])
        return [ir.Assign(target, fill(array.element, subscripts), loc=span)]

    state.out += nest(state, array.extents, make, span)
    found = taken(rows, unravelled(rows.extents, sizes), sizes)
    assert isinstance(found, View)
    axes = [e for e in sizes[first : len(sizes) - last] if not is_one(e)]
    return found if len(axes) < 2 else copied_view(state, found, "rows", span)


def axes_alike(old: Sequence[ir.Expr], new: Sequence[ir.Expr]) -> tuple[int, int]:
    """How many of the first axes, and of the last, two shapes have in common."""
    pairs = list(zip(old, new, strict=False))
    first = next((k for k, (a, b) in enumerate(pairs) if distance(a, b) != 0), len(pairs))
    rest = list(zip(reversed(old[first:]), reversed(new[first:]), strict=False))
    return first, next((k for k, (a, b) in enumerate(rest) if distance(a, b) != 0), len(rest))


def is_one(extent: ir.Expr) -> bool:
    return isinstance(extent, ir.Const) and extent.value == 1


def divided_evenly(old: Sequence[ir.Expr], given: Sequence[ir.Expr]) -> ir.Expr | None:
    """The extent that `-1` stands for, if all that are `given` are among the `old` ones."""
    left = list(old)
    for extent in given:
        same = next((k for k, e in enumerate(left) if distance(e, extent) == 0), None)
        if same is None:
            if isinstance(extent, ir.Const) and extent.value == 1:
                continue
            return None
        del left[same]
    return joined_powers(product(left))


def whole_quotient(state: State, total: ir.Expr, rest: ir.Expr) -> ir.Expr | None:
    """`total // rest`, if that is a power for certain."""
    found = quotient_of_powers(total, rest)
    return found if found is not None and all(is_nonnegative_here(state, e) for e in exponents_in(found)) else None


def extent_left(total: ir.Expr, rest: ir.Expr) -> ir.Expr:
    """`total // rest`, the extent that others leave of a number of elements. Where these make none, that is an error,
    and nothing that is evaluated ahead of it divides by zero."""
    return ir.Apply(Op.FLOORDIV, (total, rest if is_positive(rest) else maximum(rest, ONE)))


def is_positive(extent: ir.Expr) -> bool:
    return isinstance(extent, ir.Const) and extent.value > 0


def unravelled(old: Sequence[ir.Expr], new: Sequence[ir.Expr]) -> list[ir.Expr]:
    """The subscripts in a shape `old` of what has the subscripts `#k` in the shape `new`."""
    positions: list[ir.Expr] = [ZERO] * len(old)
    sources = [k for k, e in enumerate(old) if not is_one(e)]
    targets = [k for k, e in enumerate(new) if not is_one(e)]
    while sources and targets and distance(old[sources[0]], new[targets[0]]) == 0:
        positions[sources.pop(0)] = hole(targets.pop(0))
    while sources and targets and distance(old[sources[-1]], new[targets[-1]]) == 0:
        positions[sources.pop()] = hole(targets.pop())
    flat: ir.Expr = ZERO
    for axis in targets:
        flat = plus(scaled(flat, new[axis]), hole(axis))
    for place, axis in enumerate(sources):
        inner = product([old[k] for k in sources[place + 1 :]])
        part = flat if isinstance(inner, ir.Const) and inner.value == 1 else ir.Apply(Op.FLOORDIV, (flat, inner))
        positions[axis] = part if place == 0 else ir.Apply(Op.MOD, (part, old[axis]))
    return positions


def scaled(value: ir.Expr, factor: ir.Expr) -> ir.Expr:
    return value if value == ZERO else times(value, factor)


def flat(state: State, array: Array, node: ast.AST) -> Array:
    return array if array.rank == 1 else reshaped(state, array, [None], node)
