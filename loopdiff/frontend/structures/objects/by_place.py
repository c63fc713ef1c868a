"""Loops over lists of objects, lists and dictionaries that the body changes: written out, in terms of these items."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from loopdiff.frontend.structures.bindings import assign_tree
from loopdiff.frontend.structures.iterated import SHORTER, has_parts_alone, is_call_of
from loopdiff.frontend.structures.known import held_place, static
from loopdiff.frontend.structures.objects.changes_in import changed_among
from loopdiff.frontend.structures.objects.in_place import ByMethods
from loopdiff.frontend.structures.plain import may_be_one_array
from loopdiff.frontend.structures.rewriting import base_of, copied, is_literal
from loopdiff.frontend.structures.scope import Scope, name_read, name_stored
from loopdiff.frontend.structures.trees import LAST, Branch, Leaf, Tree, holds_structures, is_sequence
from loopdiff.immutable import immutable, replace
from loopdiff.source.functions import MISSING
from loopdiff.source.nodes import copied_tree, syntax_nodes


@immutable
class Gone:
    """What a `target` of a loop gets: the items of `row`, which stands at `base`, in the order of `places`, or their
    `keys`; without a row, of the array `base`, or, of nothing, how many it got before."""

    target: ast.expr
    base: ast.expr | None = None
    row: Branch | None = None
    places: tuple[int, ...] = ()
    keys: tuple[Any, ...] | None = None


def parts_by_place(scope: Scope, node: ast.For) -> list[list[ast.stmt]] | None:
    """A loop without jumps as what runs ahead, and the bodies, once for each of the items: names of items that the body
    changes, or of which it reads parts alone, are written as the items of the list that they are. None for loops with
    none of these, but for those over arrays beside lists of what is no number."""
    if not scope.may_run_ahead:
        return None
    node = copied(node, iter=with_named_displays(scope, node.iter))
    found = list(gone_over(scope, node.target, node.iter))
    rows = [one for one in found if one is not None and one.row is not None]
    if None in found or not rows:
        return None
    names = {one.target.id: one for one in rows if isinstance(one.target, ast.Name) and is_owned(scope, one)}
    like = {name: item for name, one in names.items() if (item := first_of(one)) is not None}
    node = copied(node, body=[ByMethods(scope, like).visit(copied_tree(stmt)) for stmt in node.body]) if like else node
    changed = changed_among(scope, node.body, scope.source.outer, like)
    if any(moves(node, name, names[name].base) for name in changed):
        return None
    gone = {n for n in like if (names[n].target.lineno, names[n].target.col_offset, n) in scope.last}
    read = {n for n in gone - changed if has_parts_alone(node.body, n) and not moves(node, n, names[n].base)}
    has_arrays = any(one is not None and one.row is None and one.base is not None for one in found)
    is_mixed = has_arrays and not all(one.row is not None and may_be_one_array(one.row) for one in rows)
    if not changed and not read and not is_mixed:
        return None
    count = min(len(one.places) for one in rows)
    ahead, held = [], []
    for one in found:
        assert one is not None
        if one.row is None and one.base is not None:
            name = scope.names.fresh("whole")
            ahead += array_ahead(name, one.base, count, node)
            one = replace(one, base=name_read(name, node.iter))
        held.append(one)
    bodies = [body_at(node, held, changed | read, k) for k in range(count)]
    scope.held |= dict.fromkeys(changed, LAST)
    return [ahead, *bodies]


def with_named_displays(scope: Scope, over: ast.expr) -> ast.expr:
    """What a loop goes over, with names for lists and tuples that are written out beside arrays."""
    if not isinstance(over, ast.Call) or not is_call_of(scope, over, zip, enumerate):
        return over
    args = [with_named_displays(scope, a) for a in over.args]
    written = [a for a in args if isinstance(a, ast.List | ast.Tuple)]
    if is_call_of(scope, over, enumerate) or all(a in written or isinstance(base_of(scope, a), Branch) for a in args):
        return copied(over, args=args)

    def named(part: ast.expr) -> ast.expr:
        tree = scope.tree_of(part) if part in written else None
        if tree is None or may_be_one_array(tree):
            return part
        name = scope.names.fresh("row")
        assign_tree(scope, [name_stored(name, part)], tree, part)
        return name_read(name, part)

    return copied(over, args=list(map(named, args)))


def array_ahead(name: str, base: ast.expr, count: int, node: ast.For) -> list[ast.stmt]:
    """The array by a name, which has as many elements as the lists beside it: where it has fewer, the loop would be
    shorter."""
    test = ast.parse(f"{name}.shape[0] >= {count}", mode="eval").body
    message = f"`{ast.unparse(node.iter)}` {SHORTER}"
    made = [ast.Assign([name_stored(name, base)], base), ast.Assert(test, ast.Constant(message))]
    return [placed_at(stmt, node.iter) for stmt in made]


def placed_at(made: ast.stmt, node: ast.AST) -> ast.stmt:
    """`made`, in the place of `node` where it is in none."""
    for inner in syntax_nodes(made):
        if getattr(inner, "lineno", 1) == 1:
            ast.copy_location(inner, node)
    return made


def gone_over(scope: Scope, target: ast.expr, over: ast.expr) -> Iterator[Gone | None]:
    """What targets of a loop get; None for what is no list or tuple that is known."""
    match target, over:
        case ast.Tuple(elts=[ast.Name() as counter, inner]), ast.Call(args=[inside], keywords=[]) if is_call_of(
            scope, over, enumerate
        ):
            yield Gone(counter)
            yield from gone_over(scope, inner, inside)
        case ast.Tuple(elts=elts), ast.Call(args=args, keywords=[]) if is_call_of(scope, over, zip) and len(
            elts
        ) == len(args):
            for inner, inside in zip(elts, args, strict=True):
                yield from gone_over(scope, inner, inside)
        case _, ast.Call(func=ast.Attribute(value=base, attr="values"), args=[], keywords=[]):
            yield of_dictionary(scope, target, base)
        case ast.Tuple(elts=[ast.Name() as key, inner]), ast.Call(
            func=ast.Attribute(value=base, attr="items"), args=[], keywords=[]
        ):
            found = of_dictionary(scope, inner, base)
            yield Gone(key, keys=() if found is None or found.row is None else found.row.keys)
            yield found
        case _, ast.Subscript(value=base, slice=ast.Slice(lower=lower, upper=upper, step=step)):
            bounds = [None if b is None else static(scope, b) for b in (lower, upper, step)]
            is_known = MISSING not in bounds and isinstance(base_of(scope, base), Branch)
            yield row_at(scope, target, base, slice(*bounds)) if is_known else Gone(target, over)
        case _:
            yield row_at(scope, target, over, slice(None))


def row_at(scope: Scope, target: ast.expr, base: ast.expr, part: slice) -> Gone | None:
    """The items of what is known; None for what is no list or tuple."""
    if isinstance(base, ast.Tuple | ast.List) and all(map(is_literal, base.elts)):
        tree = scope.tree_of(base)
        return Gone(target, base, tree, tuple(range(len(base.elts))[part])) if isinstance(tree, Branch) else None
    if not isinstance(base, ast.Name | ast.Attribute | ast.Subscript):
        return None
    tree = base_of(scope, base)
    if tree is None or isinstance(tree, Leaf):
        return Gone(target, base)
    if not isinstance(tree, Branch) or not is_sequence(tree) or held_place(scope, base) is None:
        return None
    return Gone(target, base, tree, tuple(range(len(tree.items))[part]))


def of_dictionary(scope: Scope, target: ast.expr, base: ast.expr) -> Gone | None:
    """The items of a dictionary that is known, with keys that are written out."""
    tree = base_of(scope, base) if isinstance(base, ast.Name | ast.Attribute | ast.Subscript) else None
    if not isinstance(tree, Branch) or tree.kind != "dict" or not tree.is_ordered or held_place(scope, base) is None:
        return None
    is_plain = all(type(key) in (int, str) for key in tree.keys)
    return Gone(target, base, tree, tuple(range(len(tree.items)))) if is_plain else None


def is_owned(scope: Scope, one: Gone) -> bool:
    """Whether nobody else has the items, which may be changed."""
    place = None if one.base is None else held_place(scope, one.base)
    if place is None or one.row is None or not all(map(holds_structures, one.row.items)):
        return False
    return all((place[0], (*place[1], one.row.keys[k])) in scope.owned for k in one.places)


def first_of(one: Gone) -> Tree | None:
    return one.row.items[one.places[0]] if one.row is not None and one.places else None


def moves(node: ast.For, name: str, base: ast.expr | None) -> bool:
    """Whether the body may give `name`, or what it goes over at `base`, another value."""
    if base is None:
        return True
    inside = [n for stmt in node.body for n in syntax_nodes(stmt)]
    stored = {n.id for n in inside if isinstance(n, ast.Name) and not isinstance(n.ctx, ast.Load)}
    text, around = ast.unparse(base), set[str]()
    part: ast.expr = base
    while isinstance(part, ast.Attribute | ast.Subscript):
        around.add(ast.unparse(part))
        part = part.value
    around.add(ast.unparse(part))
    if stored & {name, *(n.id for n in syntax_nodes(base) if isinstance(n, ast.Name))}:
        return True
    return any(is_moving(n, name, text, around) for n in inside)


def is_moving(node: ast.AST, name: str, text: str, around: set[str]) -> bool:
    match node:
        case ast.Lambda() | ast.FunctionDef():
            return any(isinstance(n, ast.Name) and n.id == name for n in syntax_nodes(node))
        case ast.Attribute() | ast.Subscript() if not isinstance(node.ctx, ast.Load):
            return ast.unparse(node) in around or (isinstance(node, ast.Subscript) and ast.unparse(node.value) == text)
        case ast.Call(func=func, args=args, keywords=named):
            given = [*args, *(k.value for k in named), *([func.value] if isinstance(func, ast.Attribute) else [])]
            return any(ast.unparse(part) in around for part in given) and not is_length(func)
        case _:
            return False


def is_length(func: ast.expr) -> bool:
    return isinstance(func, ast.Name) and func.id in ("len", "enumerate", "zip", "range", "sum")


def body_at(node: ast.For, found: Sequence[Gone], changed: set[str], k: int) -> list[ast.stmt]:
    """The body of the iteration `k`."""
    ahead, parts = list[ast.stmt](), dict[str, ast.expr]()
    for one in found:
        value: ast.expr = ast.Constant(k if one.keys is None else one.keys[k])
        if isinstance(one.base, ast.Tuple | ast.List):
            value = copied_tree(one.base.elts[one.places[k]])
        elif one.base is not None:
            key = k if one.row is None else one.row.keys[one.places[k]]
            value = ast.Subscript(one.base, ast.Constant(key), ast.Load())
        for inner in syntax_nodes(value):
            if not hasattr(inner, "lineno"):
                ast.copy_location(inner, node.iter)
        if isinstance(one.target, ast.Name) and one.target.id in changed:
            parts[one.target.id] = value
        else:
            ahead.append(ast.copy_location(ast.Assign([one.target], value), node))
    return [*ahead, *(PuttingItems(parts).visit(copied_tree(stmt)) for stmt in node.body)]


class PuttingItems(ast.NodeTransformer):
    """Puts `parts` in the places of names."""

    def __init__(self, parts: Mapping[str, ast.expr]) -> None:
        self.parts = parts

    def visit_Name(self, node: ast.Name) -> ast.AST:
        return copied_tree(self.parts[node.id]) if node.id in self.parts else node
