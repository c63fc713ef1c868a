"""Products summed over axes: `@`, np.dot, np.inner, np.outer and np.einsum with a literal string."""

from __future__ import annotations

import ast
from collections.abc import Mapping, Sequence
from typing import Literal

from loopdiff.errors import Span
from loopdiff.frontend.arrays.broadcasting import require_equal, shape_text
from loopdiff.frontend.arrays.element_types import holds_halves, kind_of
from loopdiff.frontend.arrays.elementwise import is_costly
from loopdiff.frontend.arrays.nests import copied_view, made_of, nest, new_array
from loopdiff.frontend.arrays.reductions import reduced
from loopdiff.frontend.arrays.values import Array, ArrayValue, Quantity, View, as_array, fill, hole, is_array
from loopdiff.frontend.arrays.views import taken
from loopdiff.frontend.binding.types import Kind
from loopdiff.frontend.parsing.folding import binary
from loopdiff.frontend.parsing.state import State
from loopdiff.ir import nodes as ir
from loopdiff.ir.ops import Op
from loopdiff.ir.types import F32
from loopdiff.ir.walk import loads

Factor = tuple[Array, str]  # with a letter for each axis
Part = Literal["real", "imag", "less"]  # the last is the imaginary one less than zero
ZERO = ir.Const(0)
RESULT, SUM = "φψ"  # axes of parts
PARTS: dict[tuple[int, ...], Part] = {(0,): "real", (1,): "imag"}
ROWS_OF_PARTS: dict[tuple[int, ...], Part] = {(0, 0): "real", (0, 1): "less", (1, 0): "imag", (1, 1): "real"}
LETTERS = "abcdefghijklmnopqrstuvwxyz"


def matmul(state: State, left: Quantity, right: Quantity, node: ast.AST) -> Quantity:
    """`left @ right`."""
    state.need_types()
    a, b = as_array(left), as_array(right)
    if a.rank == 0 or b.rank == 0:
        return state.reject("LD108", "`@` multiplies arrays, here a number", node, "multiply by it with `*`")
    batch = max(a.rank, b.rank, 2) - 2
    common = LETTERS[:batch]
    rows, inner, columns = "xyz"
    first = inner if a.rank == 1 else common[batch - a.rank + 2 :] + rows + inner
    second = inner if b.rank == 1 else common[batch - b.rank + 2 :] + inner + columns
    out = common + (rows if a.rank > 1 else "") + (columns if b.rank > 1 else "")
    return sum_of_products(state, [(a, first), (b, second)], out, node)


def dot(state: State, left: Quantity, right: Quantity, node: ast.AST) -> Quantity:
    """`np.dot`: over the last axis of the first and the last but one of the second."""
    if not is_array(left) and not is_array(right):
        return binary(Op.MUL, left, right, state.source.span(node))  # type: ignore[arg-type]
    a, b = as_array(left), as_array(right)
    first = LETTERS[: a.rank]
    second = LETTERS[a.rank : a.rank + b.rank]
    if a.rank and b.rank:
        place = max(b.rank - 2, 0)
        second = second[:place] + first[-1] + second[place + 1 :]
    out = (first[:-1] if b.rank else first) + "".join(c for c in second if c not in first)
    return sum_of_products(state, [(a, first), (b, second)], out, node)


def inner(state: State, left: Quantity, right: Quantity, node: ast.AST) -> Quantity:
    a, b = as_array(left), as_array(right)
    if not a.rank or not b.rank:
        return dot(state, left, right, node)
    first = LETTERS[: a.rank]
    second = LETTERS[a.rank : a.rank + b.rank - 1] + first[-1]
    return sum_of_products(state, [(a, first), (b, second)], first[:-1] + second[:-1], node)


def einsum(state: State, formula: str, operands: Sequence[Quantity], node: ast.AST) -> Quantity:
    """`np.einsum(formula, *operands)`: letters, and `...` for the axes that have none."""
    arrays = [as_array(o) for o in operands]
    inputs, arrow, out = with_letters(formula.replace(" ", ""), [a.rank for a in arrays]).partition("->")
    labels = inputs.split(",")
    if not arrow:
        once = sorted(c for c in set(inputs) - {","} if inputs.count(c) == 1 and c not in FURTHER)
        out = "".join([c for c in FURTHER if c in inputs] + once)
    letters = set(inputs) - {","}
    is_proper = all(c.isalpha() for c in letters | set(out)) and len(set(out)) == len(out) and set(out) <= letters
    if not is_proper or [len(t) for t in labels] != [a.rank for a in arrays]:
        return state.reject("LD110", f"`{formula}` does not fit the operands of `np.einsum`", node, EINSUM_HINT)
    return sum_of_products(state, list(zip(arrays, labels, strict=True)), out, node)


def with_letters(formula: str, ranks: Sequence[int]) -> str:
    """`formula` with letters of no alphabet in it for the axes that `...` stands for, the last ones alike."""
    parts, arrow, out = formula.partition("->")
    labels = parts.split(",")
    if "..." not in formula or len(labels) != len(ranks):
        return formula
    counts = [rank - len(part.replace("...", "")) for part, rank in zip(labels, ranks, strict=True)]
    if not all(0 <= c <= len(FURTHER) for c in counts) or (any(counts) and arrow and "..." not in out):
        return formula
    named = [part.replace("...", FURTHER[len(FURTHER) - c :]) for part, c in zip(labels, counts, strict=True)]
    most = max((c for part, c in zip(labels, counts, strict=True) if "..." in part), default=0)
    return ",".join(named) + arrow + out.replace("...", FURTHER[len(FURTHER) - most :])


FURTHER = "αβγδεζηθ"
EINSUM_HINT = "write one letter for each axis of each operand, and `->` with the letters of the result"


def sum_of_products(state: State, factors: Sequence[Factor], out: str, node: ast.AST) -> Quantity:
    """The product of arrays whose axes are called by letters, summed over those that are not in `out`."""
    span = state.source.span(node)
    sizes: dict[str, ir.Expr] = {}
    for array, labels in factors:
        for letter, size in zip(labels, array.extents, strict=True):
            known = sizes.setdefault(letter, size)
            shapes = " and ".join(shape_text(a.extents) for a, _ in factors)
            require_equal(state, size, known, f"the shapes {shapes} do not fit together", span)
    letters = out + "".join(c for c in sizes if c not in out)
    if len(factors) == 1 and len(letters) == len(out) > 0:
        ((array, labels),) = factors  # a view, as in NumPy
        return taken(array, [hole(out.index(c)) for c in labels], [sizes[c] for c in out])
    if is_matrix_product(factors, out) and any(is_complex(state, a) for a, _ in factors):
        return product_of_parts(state, factors, out, node)
    element: ir.Expr | None = None
    for array, labels in factors:
        if array.rank and set(labels) != set(letters) and (is_costly(array.element) or has_halves(state, array)):
            array = copied_view(state, in_single(state, array), "factor", span)
        factor = fill(array.element, [hole(letters.index(c)) for c in labels])
        element = factor if element is None else binary(Op.MUL, element, factor, span)
    assert element is not None
    value = ArrayValue(tuple(sizes[c] for c in letters), element)
    if len(letters) == len(out):
        return value if letters else element
    return reduced(state, "sum", value, range(len(out), len(letters)), False, node)


def has_halves(state: State, array: Array) -> bool:
    """Whether elements are read that widen: products that have them several times widen them once, and are those of
    float32 then."""
    return any(holds_halves(state, load.access.array) for load in loads(array.element))


def in_single(state: State, array: Array) -> Array:
    """`array`, of halves as float32."""
    return ArrayValue(array.extents, ir.Cast(F32, array.element)) if has_halves(state, array) else array


def is_matrix_product(factors: Sequence[Factor], out: str) -> bool:
    """Whether there are rows of one array, or columns of the other, and something that is summed over."""
    if len(factors) != 2:
        return False
    (_, first), (_, second) = factors
    one, other = set(first), set(second)
    return bool((one ^ other) & set(out)) and bool((one & other) - set(out))


def is_complex(state: State, array: Array) -> bool:
    kind = kind_of(state, (array.element,), Kind.BOOL)
    return kind is not None and kind.is_complex


def is_real(state: State, array: Array) -> bool:
    """Whether elements are real for certain: what is stored in other arrays than arguments may be seen later."""
    decls = [state.arrays[load.access.array] for load in loads(array.element)]
    return all(d.role == "argument" for d in decls) and not is_complex(state, array)


def product_of_parts(state: State, factors: Sequence[Factor], out: str, node: ast.AST) -> View:
    """The product of two matrices, one of them complex at least, as one of real matrices: where both may be,
    `[[Re A, -Im A], [Im A, Re A]]` by `[[Re B], [Im B]]`. What lies side by side is read by vectors, and so are the
    adjoints."""
    span = state.source.span(node)
    (a, first), (b, second) = factors
    if is_real(state, b):
        left, right = (with_parts(state, a, PARTS, span), RESULT + first), (b, second)
    elif is_real(state, a):
        left, right = (a, first), (with_parts(state, b, PARTS, span), RESULT + second)
    else:
        small, large = sorted((0, 1), key=lambda k: factors[k][0].rank)
        both: dict[int, Factor] = {
            small: (with_parts(state, factors[small][0], ROWS_OF_PARTS, span), RESULT + SUM + factors[small][1]),
            large: (with_parts(state, factors[large][0], PARTS, span), SUM + factors[large][1]),
        }
        left, right = both[0], both[1]
    parts = as_array(sum_of_products(state, [left, right], RESULT + out, node))
    view = new_array(state, "product", parts.extents[1:], span)
    state.whole.fresh.add(view.array)
    one_of_each = (fill(array.element, [ZERO] * array.rank) for array, _ in factors)
    made_of(state, view.array, ir.Apply(Op.MUL, tuple(one_of_each), loc=span))

    def make(at: tuple[ir.Expr, ...]) -> list[ir.Stmt]:
        real, imag = (fill(parts.element, [ir.Const(k, loc=span), *at]) for k in range(2))
        return [ir.Assign(view.access(at), ir.Pair(real, imag, loc=span), loc=span)]

    state.out += nest(state, view.extents, make, span)
    return view


def with_parts(state: State, array: Array, parts: Mapping[tuple[int, ...], Part], span: Span) -> View:
    """The `parts` of a complex array, each an array at its place in a new one of real numbers."""
    if is_costly(array.element):
        array = copied_view(state, array, "factor", span)
    sizes = [ir.Const(2, loc=span)] * len(next(iter(parts)))
    view = new_array(state, "parts", (*sizes, *array.extents), span)
    values = {place: part_of(array.element, part, span) for place, part in parts.items()}
    made_of(state, view.array, *values.values())

    def make(at: tuple[ir.Expr, ...]) -> list[ir.Stmt]:
        return [
            ir.Assign(view.access((*(ir.Const(k, loc=span) for k in place), *at)), fill(value, at), loc=span)
            for place, value in values.items()
        ]

    state.out += nest(state, array.extents, make, span)
    return view


def part_of(value: ir.Expr, part: Part, span: Span) -> ir.Expr:
    match part:
        case "less":
            return ir.Apply(Op.NEG, (ir.PartOf("imag", value, loc=span),), loc=span)
        case _:
            return ir.PartOf(part, value, loc=span)


def outer(state: State, left: Array, right: Array, node: ast.AST) -> Quantity:
    return sum_of_products(state, [(left, "a"), (right, "b")], "ab", node)
