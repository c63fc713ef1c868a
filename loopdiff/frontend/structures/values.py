"""Trees of expressions: parts of structures, displays, what is put together."""

from __future__ import annotations

import ast
from collections.abc import Callable, Sequence
from enum import Enum
from types import ModuleType
from typing import Any

from loopdiff.frontend.structures.absent import may_be_none
from loopdiff.frontend.structures.calls import (
    call_of_method,
    called,
    constant_tree,
    of_class,
    operator_call,
    property_of,
)
from loopdiff.frontend.structures.changes import part_at
from loopdiff.frontend.structures.effects import require_settled
from loopdiff.frontend.structures.iterated import comprehension, makes_records, spread
from loopdiff.frontend.structures.known import static, truth
from loopdiff.frontend.structures.methods import method_of
from loopdiff.frontend.structures.objects.above import found_in
from loopdiff.frontend.structures.objects.changing import changing_call
from loopdiff.frontend.structures.objects.ranges import kept_value
from loopdiff.frontend.structures.objects.read_at_calls import function_of_class, tree_outside
from loopdiff.frontend.structures.plain import element_by_columns, element_of_copy, is_repeatable, reject_open
from loopdiff.frontend.structures.rewriting import (
    base_of,
    copied,
    display_of,
    element,
    expression,
    hand_out,
    rebuilt,
    refuse_shared,
    steadied,
    with_base,
)
from loopdiff.frontend.structures.scope import FEW_ITEMS, MOST_ITEMS, Outer, Scope, name_read, name_stored
from loopdiff.frontend.structures.signs import is_data, is_field_outside, is_plain_constant
from loopdiff.frontend.structures.trees import (
    Blank,
    Branch,
    Leaf,
    Path,
    Rank,
    Static,
    Taken,
    Tree,
    are_alike,
    described,
    dictionary_of,
    freshened,
    has_length,
    in_row,
    is_sequence,
    leaves,
    row_like,
    shared,
    with_leaves,
)
from loopdiff.immutable import replace
from loopdiff.source.functions import MISSING, dotted_name
from loopdiff.source.nodes import GrownList, syntax_nodes
from loopdiff.source.records import is_differentiable

ROWS = ("tuple", "list")


def tree_of(scope: Scope, node: ast.expr) -> Tree | None:
    """What `node` is, where names give it several values, or one that is known; None for other expressions."""
    match node:
        case ast.Constant(value=None | str() as value):
            return Static(value)
        case ast.Constant(value=Blank() | Taken() as made):
            return handed_over(scope, made, node)
        case ast.Name() | ast.Attribute() if (value := scope.value_outside(node)) is not MISSING:
            return outside(scope, value, node)
        case ast.Name(id=name, ctx=ast.Load()):
            return whole(scope, name, node)
        case ast.Attribute() | ast.Subscript() if isinstance(node.ctx, ast.Load):
            return part_of(scope, node)
        case ast.Tuple() | ast.List() if isinstance(node.ctx, ast.Load):
            return display_tree(scope, node)
        case ast.Dict(keys=keys, values=values):
            return dictionary(scope, keys, values, node)
        case ast.ListComp() | ast.GeneratorExp() | ast.DictComp():
            return comprehension(scope, node)
        case ast.IfExp() | ast.BoolOp():
            return decided(scope, node)
        case ast.BinOp() | ast.UnaryOp() | ast.Compare():
            return operation(scope, node)
        case ast.Call():
            return changing_call(scope, node) or called(scope, node)
        case _:
            return None


def display_tree(scope: Scope, node: ast.Tuple | ast.List) -> Tree:
    """The tuple or list that is written out. A part of something that is a list which grows in loops over what is not
    known is left to the parser."""
    if isinstance(node, ast.Tuple):
        return in_row("tuple", spread(scope, node.elts))
    origin = (scope.source.name, node.lineno, node.col_offset)
    if origin not in scope.growing.plain:
        return replace(in_row("list", spread(scope, node.elts)), origin=origin)
    refuse_shared(scope, node.elts)
    return Leaf(ast.copy_location(GrownList(rebuilt(scope, node.elts), ast.Load()), node))


def handed_over(scope: Scope, made: Blank | Taken, node: ast.expr) -> Tree | None:
    """A new object, or what a function is given for its own."""
    if isinstance(made, Blank):
        return Branch("record", made.kind, (), (), is_fresh=True)
    found = scope.tree(made.name, node)
    return None if found is None else freshened(part_at(found, made.path), made.own)


def decided(scope: Scope, node: ast.IfExp | ast.BoolOp) -> Tree | None:
    """What is taken of `a if c else b`, `a or b` and `a and b`, where that is known; or one of two structures."""
    if isinstance(node, ast.IfExp):
        known = truth(scope, node.test)
        return either(scope, node) if known is MISSING else element(scope, node.body if known else node.orelse)
    for place, value in enumerate(node.values):
        known, rest = truth(scope, value), node.values[place:]
        if known is MISSING:
            return None if place == 0 else element(scope, copied(node, values=rest) if rest[1:] else value)
        if bool(known) is isinstance(node.op, ast.Or) or not rest[1:]:
            return element(scope, value)
    return None


def either(scope: Scope, node: ast.IfExp) -> Tree | None:
    """One of two structures of the same form, part by part; None for others, and where the test may read what the
    statement changes before."""
    reads = any(isinstance(n, ast.Subscript | ast.Attribute | ast.Call) for n in syntax_nodes(node.test))
    if not scope.may_run_ahead or (reads and id(node) not in scope.leading):
        return None
    parts = (node.body, node.orelse)
    with scope.in_place():
        if not any(isinstance(n, ast.Tuple | ast.List | ast.Dict) or holds(scope, n, (*ROWS, "record")) for n in parts):
            return None
        first, second = (element(scope, part) for part in parts)
    if not isinstance(first, Branch) or not are_alike(first, second):
        return None
    test, name = expression(scope, node.test), scope.names.fresh("is_first")
    scope.out.append(ast.copy_location(ast.Assign([name_stored(name, node)], test), node))
    others = {path: leaf.expr for path, leaf in leaves(second)}

    def chosen(path: Path, leaf: Leaf) -> Leaf:
        parts = name_read(name, node), leaf.expr, others[path]
        return Leaf(ast.copy_location(ast.IfExp(*parts), node))

    return shared(with_leaves(first, chosen))


def whole(scope: Scope, name: str, node: ast.expr) -> Tree | None:
    """What `name` holds, which others have from here on; nobody else has what nobody reads under the name again."""
    found = scope.tree(name, node)
    place = getattr(node, "lineno", 0), getattr(node, "col_offset", 0), name
    if found is not None and place in scope.last:
        found = freshened(found, {path for of, path in scope.owned if of == name})
    scope.disown(name)
    return found


def outside(scope: Scope, value: Any, node: ast.expr) -> Tree | None:
    """An array from outside the function, which becomes a parameter, or a structure, of which the arrays and floating
    numbers do; None for others."""
    function, text = scope.source.function, dotted_name(node)
    is_field = text is not None and is_field_outside(scope.source, text)
    if is_plain_constant(value) and not is_field:
        return constants(value, node) if isinstance(value, tuple) else None
    if function is None or text is None or not (is_field or is_data(value)):
        return None
    return tree_outside(scope, Outer(function, text), node)


def constants(value: Any, node: ast.AST) -> Tree:
    """Numbers from outside, which are as they were when the function was read."""
    if type(value) is tuple:
        return in_row("tuple", tuple(constants(item, node) for item in value))
    return Leaf(ast.copy_location(ast.Constant(value), node), value if isinstance(value, int) else MISSING)


def part_of(scope: Scope, node: ast.Attribute | ast.Subscript) -> Tree | None:
    """A field or an element."""
    base = base_of(scope, node.value)
    match node, base:
        case ast.Attribute(attr="shape" | "ndim" as attr), None | Leaf() if (
            isinstance(rank := rank_at(scope, node.value, base), Rank) and rank.axes
        ):
            scope.uses_ranks = True
            if attr == "ndim":
                return Leaf(ast.copy_location(ast.Constant(rank.axes), node), rank.axes)
            whole = rebuilt(scope, node)
            return in_row("tuple", tuple(Leaf(subscript(whole, k)) for k in range(rank.axes)))
        case _, None:
            if isinstance(node.value, ast.Name) and may_be_none(scope, node.value.id):
                hint = "make the array before: `np.zeros(...)`"
                return scope.reject(f"`{node.value.id}` holds None, or an array", node.value, hint)
            return None
        case ast.Attribute(), Branch(kind="record"):
            return field_of_record(scope, base, node)
        case ast.Subscript(slice=index), Branch(kind="record") if (
            not has_length(base) and (target := method_of(scope, base, "__getitem__")) is not None
        ):
            return call_of_method(scope, target, [index], node, node.value)
        case ast.Subscript(slice=index), Branch() if has_length(base):
            part = element_at(scope, base, index, node)
            hand_out(scope, part.items if isinstance(part, Branch) and part.is_fresh else [part], node)
            return part
        case ast.Attribute(attr=attr), Static(value=Enum() | ModuleType() as value) if hasattr(value, attr):
            known = getattr(value, attr)
            is_row = type(known) is tuple and is_plain_constant(known)
            return constant_tree(known, node) if is_row else Static(known)
        case ast.Attribute(), Static(value=type() as kind) if (made := of_class(scope, kind, node)) is not None:
            return made
        case ast.Subscript(slice=index), Static(value=str() as text) if isinstance(k := static(scope, index), int):
            return Static(text[k]) if -len(text) <= k < len(text) else scope.reject(f"{text!r} has no {k}", node)
        case _, Branch() | Static():
            note_array(scope, node.value)
            return scope.reject(f"`{ast.unparse(node.value)}` is {described(base)}", node, "pass it as an array")
        case _:
            return Leaf(with_base(scope, node, display_of(scope, base, node.value)))


def field_of_record(scope: Scope, base: Branch, node: ast.Attribute) -> Tree | None:
    """What a record has under a name; None for a decorated method, of which a derivative is called."""
    found = base.item(node.attr)
    if found is None and node.attr == "__class__":
        return Static(base.type)
    require_settled(scope, [base], node)
    if found is None and (made := property_of(scope, base, node)) is not None:
        return made
    if found is None and (function := function_of_class(scope, base, node.attr, node)) is not None:
        return function
    if found is None and is_differentiable(found_in(base.type, node.attr)):
        return None
    if found is None:
        return scope.reject(f"{described(base)} has no field `{node.attr}`", node)
    hand_out(scope, [found], node)
    return found


def rank_at(scope: Scope, node: ast.expr, tree: Leaf | None) -> Any:
    """How many axes an array has, where that is known."""
    return scope.known(node.id) if tree is None and isinstance(node, ast.Name) else getattr(tree, "known", MISSING)


def subscript(node: ast.expr, k: int) -> ast.expr:
    return ast.copy_location(ast.Subscript(node, ast.copy_location(ast.Constant(k), node), ast.Load()), node)


def note_array(scope: Scope, node: ast.expr) -> None:
    """The name `node` is used as an array."""
    scope.as_arrays |= {node.id} if isinstance(node, ast.Name) else set()


def element_at(scope: Scope, base: Branch, index: ast.expr, node: ast.Subscript) -> Tree:
    """`base[index]`."""
    text, what = ast.unparse(node.value), described(base)
    require_settled(scope, [base], node)
    if isinstance(index, ast.Slice) and is_sequence(base):
        bounds = [None if b is None else static(scope, b) for b in (index.lower, index.upper, index.step)]
        if any(b is MISSING for b in bounds):
            hint = "write the bounds as numbers"
            return reject_open(
                scope, node.value, f"which elements of `{text}`, {what}, are meant is not known", node, hint
            )
        return row_like(base, base.items[slice(*bounds)])
    key = static(scope, index)
    if key is MISSING and scope.may_run_ahead and may_be_chosen(scope, base, index):
        return one_of_items(scope, base, index, node)
    if key is MISSING and (found := element_of_copy(scope, base, index, node)) is not None:
        return found
    if key is MISSING and (found := element_by_columns(scope, base, index, node)) is not None:
        return found
    if key is MISSING:
        note_array(scope, node.value)
        hint = "go through it by a `for` loop, or pass one array with an axis more"
        return reject_open(scope, node.value, f"which element of `{text}`, {what}, is meant is not known", node, hint)
    if is_sequence(base) and isinstance(key, int) and -len(base.items) <= key < len(base.items):
        return base.items[key]
    if isinstance(node.value, ast.Attribute) and node.value.attr == "shape" and base.items and isinstance(key, int):
        first = base.items[0]  # an extent that is not there: the parser knows whether this is ever computed
        if isinstance(first, Leaf) and isinstance(first.expr, ast.Subscript):
            return Leaf(subscript(first.expr.value, key))
    found = base.item(key) if base.kind == "dict" else None
    return scope.reject(f"`{text}`, {what}, has no element {key!r}", node) if found is None else found


def may_be_chosen(scope: Scope, base: Branch, index: ast.expr) -> bool:
    """Whether `base` is a dictionary of few values by integers, one of which `index` may say when it runs; it is
    evaluated several times."""
    are_few = base.kind == "dict" and 0 < len(base.items) <= FEW_ITEMS and all(type(key) is int for key in base.keys)
    is_plain = is_repeatable(scope, index) and not any(isinstance(n, ast.Slice) for n in syntax_nodes(index))
    return are_few and is_plain and all(isinstance(item, Leaf) for item in base.items)


def one_of_items(scope: Scope, base: Branch, index: ast.expr, node: ast.Subscript) -> Tree:
    """`base[index]` by questions for the keys, one of which it must be."""
    scope.out.append(is_one_of(scope, base, index, node))
    parts = [(key, copied(node, slice=ast.copy_location(ast.Constant(key), index))) for key in base.keys]
    found: ast.expr = parts[-1][1]
    for key, part in reversed(parts[:-1]):
        found = ast.copy_location(ast.IfExp(is_key(index, key), part, found), node)
    return element(scope, found)


def is_one_of(scope: Scope, base: Branch, index: ast.expr, node: ast.Subscript) -> ast.stmt:
    """The check that `base` has an item of that `index`."""
    tests = [is_key(expression(scope, index), key) for key in base.keys]
    test = tests[0] if len(tests) == 1 else ast.copy_location(ast.BoolOp(ast.Or(), tests), node)
    message = ast.copy_location(ast.Constant(f"`{ast.unparse(node.value)}` has no such key"), node)
    return ast.copy_location(ast.Assert(test, message), node)


def places_of(scope: Scope, target: ast.Subscript) -> Branch | None:
    """The dictionary one of whose items `target` stores, by a key that only the run says."""
    base = base_of(scope, target.value)
    is_open = isinstance(base, Branch) and static(scope, target.slice) is MISSING and scope.may_run_ahead
    return base if is_open and isinstance(base, Branch) and may_be_chosen(scope, base, target.slice) else None


def is_open_place(scope: Scope, target: ast.expr) -> bool:
    """Whether only the run says which item of a dictionary `target` stores."""
    return isinstance(target, ast.Subscript) and places_of(scope, target) is not None


def one_of_places(
    scope: Scope, target: ast.Subscript, base: Branch, stored: Callable[[ast.Subscript], ast.stmt], node: ast.stmt
) -> ast.stmt:
    """Which item of `base` is stored, by questions for the keys, one of which it must be."""
    scope.out.append(is_one_of(scope, base, target.slice, target))
    found = list[ast.stmt]()
    for key in reversed(base.keys):
        place: ast.Subscript = copied(target, slice=ast.copy_location(ast.Constant(key), target.slice))
        made = ast.copy_location(stored(place), node)
        question = ast.If(is_key(target.slice, key), [made], found)
        found = [ast.copy_location(question, node) if found else made]
    return found[0]


def is_key(index: ast.expr, key: Any) -> ast.expr:
    """Whether `index` is that key."""
    return ast.copy_location(ast.Compare(index, [ast.Eq()], [ast.copy_location(ast.Constant(key), index)]), index)


def dictionary(scope: Scope, keys: Sequence[ast.expr | None], values: Sequence[ast.expr], node: ast.AST) -> Tree:
    """A dictionary written out, with those behind `**`."""
    found: dict[Any, Tree] = {}
    for key, value in zip(keys, values, strict=True):
        tree = kept_value(scope, value)
        if key is None:
            if not isinstance(tree, Branch) or tree.kind != "dict":
                return scope.reject(f"`{ast.unparse(value)}` is no dictionary with known keys", value)
            if found.keys() & set(tree.keys):
                require_settled(scope, [*found.values(), tree], node)
            found |= dict(zip(tree.keys, tree.items, strict=True))
        else:
            known = static(scope, key)
            if known is MISSING:
                return scope.reject(f"the key `{ast.unparse(key)}` is not known before the loops run", key)
            if known in found:
                require_settled(scope, [*found.values(), tree], node)
            found[known] = tree
    return dictionary_of(found)


def operation(scope: Scope, node: ast.BinOp | ast.UnaryOp | ast.Compare) -> Tree | None:
    """An operator between structures."""
    match node:
        case ast.BinOp(left=left, op=op, right=right):
            return put_together(scope, left, op, right) or operator_call(scope, node)
        case ast.UnaryOp():
            return operator_call(scope, node)
        case ast.Compare(left=left, ops=[ast.Eq() | ast.NotEq() as op], comparators=[right]):
            return compared_rows(scope, left, op, right, node)
        case _:
            return None


def put_together(scope: Scope, left: ast.expr, op: ast.operator, right: ast.expr) -> Tree | None:
    """`a + b` of two tuples or lists, or `n * a`."""
    if not any(is_row(scope, n) for n in (left, right)) or not isinstance(op, ast.Add | ast.Mult):
        return None
    first, second = element(scope, left), element(scope, right)
    kinds = [t for t in (first, second) if isinstance(t, Branch) and t.kind in ("tuple", "list")]
    if isinstance(op, ast.Add) and len(kinds) == 2 and kinds[0].kind == kinds[1].kind:
        return row_like(kinds[0], (*kinds[0].items, *kinds[1].items))
    count = static(scope, left if first is not kinds[0] else right) if len(kinds) == 1 else MISSING
    if isinstance(op, ast.Mult) and type(count) is int and count * len(kinds[0].items) <= MOST_ITEMS:
        once = steadied(scope, kinds[0], (), left if first is kinds[0] else right)
        assert isinstance(once, Branch)
        return row_like(once, tuple(map(shared, once.items)) * count)
    return None


def compared_rows(scope: Scope, left: ast.expr, op: ast.cmpop, right: ast.expr, node: ast.expr) -> Tree | None:
    """`a == b` of two tuples or lists: whether all elements are equal."""
    if not all(isinstance(n, ast.Tuple | ast.List) or holds_row(scope, n) for n in (left, right)):
        return None
    first, second = element(scope, left), element(scope, right)
    if not (isinstance(first, Branch) and isinstance(second, Branch)):
        return None
    require_settled(scope, [first, second], node)
    is_equal = isinstance(op, ast.Eq)
    if first.kind != second.kind or len(first.items) != len(second.items):
        return Leaf(ast.copy_location(ast.Constant(not is_equal), node), not is_equal)
    found: list[ast.expr] = [ast.copy_location(ast.Constant(is_equal), node)]
    for a, b in zip(first.items, second.items, strict=True):
        values = [display_of(scope, a, left), display_of(scope, b, right)]
        if all(isinstance(v, ast.Name) for v in values) and ast.unparse(values[0]) == ast.unparse(values[1]):
            continue  # one object is equal to itself here, even if it is NaN
        found.append(ast.copy_location(ast.Compare(values[0], [op], values[1:]), node))
    return Leaf(ast.copy_location(ast.BoolOp(ast.And() if is_equal else ast.Or(), found), node))


def is_row(scope: Scope, node: ast.expr) -> bool:
    """Whether `node` is a tuple or list: written out, put together of such, or under a name."""
    if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Add | ast.Mult):
        return is_row(scope, node.left) or is_row(scope, node.right)
    if isinstance(node, ast.ListComp):
        return makes_records(scope, node)
    return isinstance(node, ast.Tuple | ast.List) or holds_row(scope, node)


def holds_row(scope: Scope, node: ast.expr) -> bool:
    """Whether `node` is a tuple or list that has a name, or is a part of one that has."""
    return holds(scope, node, ROWS)


def holds(scope: Scope, node: ast.expr, kinds: Sequence[str]) -> bool:
    """Whether `node` is a structure of such a kind that has a name, or is a part of one that has."""
    found = base_of(scope, node) if isinstance(node, ast.Name | ast.Subscript | ast.Attribute) else None
    return isinstance(found, Branch) and found.kind in kinds
