"""Expressions without structures: what stands for several values is written as variables, or a display of these."""

from __future__ import annotations

import ast
from collections.abc import Callable, Collection, Iterable, Sequence
from contextlib import nullcontext
from typing import Any, TypeGuard

from loopdiff.frontend.structures.absent import NOTHING, facts, knowing, require_number, test_of_none
from loopdiff.frontend.structures.objects.read_at_calls import function_of_class
from loopdiff.frontend.structures.scope import PLAIN, Local, Names, Scope, Torn, name_read, name_stored, stored_names
from loopdiff.frontend.structures.signs import is_field_outside, is_known
from loopdiff.frontend.structures.trees import (
    Branch,
    LastItem,
    Leaf,
    Static,
    Tree,
    described,
    holds_structures,
    is_sequence,
    shared,
    with_leaves,
)
from loopdiff.source.functions import MISSING, as_definition, dotted_name
from loopdiff.source.named.ranges import numbers_in_range
from loopdiff.source.nodes import direct_call, syntax_nodes
from loopdiff.source.scopes import parameters

COPY = "put copies in it: `row[:]`"
FEW = "make as many objects as the text says, as for `x[:3]` or `range(3)`, or keep a list for each attribute"
Display = ast.ListComp | ast.GeneratorExp | ast.SetComp | ast.DictComp


def expression(scope: Scope, node: ast.expr) -> ast.expr:
    """`node` without structures: where it is one it is written out."""
    if (flag := test_of_none(scope, node)) is not None:
        return flag
    found = scope.tree_of(node)
    return rebuilt(scope, node) if found is None else display_of(scope, found, node)


def display_of(scope: Scope, tree: Tree, node: ast.AST) -> ast.expr:
    """An expression for `tree`."""
    match tree:
        case Leaf(expr=expr):
            return expr
        case Static(value=LastItem()):
            hint = "give it a name in the loop, or read it from the list"
            return scope.reject(f"`{ast.unparse(node)}` is {described(tree)}", node, hint).expr
        case Static(value=value):
            return scope.name_for(value, node)
        case Branch(items=items) if tree.type is range:
            return direct_call(range, [bound_of(scope, item, node) for item in items], node)
        case Branch(items=items) if is_sequence(tree):
            kind = ast.List if tree.kind == "list" else ast.Tuple
            return ast.copy_location(kind([display_of(scope, i, node) for i in items], ast.Load()), node)
        case Branch():
            return scope.reject(f"`{ast.unparse(node)}` is {described(tree)}, used as one value", node).expr


def bound_of(scope: Scope, tree: Tree, node: ast.AST) -> ast.expr:
    """An expression for a bound of a range, written out if it is known."""
    known = tree.known if isinstance(tree, Leaf) else None
    if type(known) is not int:
        return display_of(scope, tree, node)
    number = ast.copy_location(ast.Constant(abs(known)), node)
    return number if known >= 0 else ast.copy_location(ast.UnaryOp(ast.USub(), number), node)


def with_own_defaults(scope: Scope, node: ast.FunctionDef) -> ast.FunctionDef:
    """A function that is defined inside, with defaults that are read where it is defined."""
    args, pairs = node.args, (node.args.defaults, node.args.kw_defaults)
    if not any(isinstance(default, ast.Attribute) for defaults in pairs for default in defaults):
        return node
    own = [[rebuilt(scope, d) if isinstance(d, ast.Attribute) else d for d in defaults] for defaults in pairs]
    return copied(node, args=copied(args, defaults=own[0], kw_defaults=own[1]))


def rebuilt(scope: Scope, node: Any) -> Any:
    """`node`, or list of nodes, with its parts without structures."""
    match node:
        case list():
            return [made for part in node for made in rebuilt_parts(scope, part)]
        case ast.Attribute() if scope.value_outside(node) is not MISSING:
            field = scope.tree_of(node) if is_field_outside(scope.source, dotted_name(node) or "") else None
            return field.expr if isinstance(field, Leaf) else node
        case ast.Name(ctx=ast.Load()):
            require_number(scope, node)
            return node
        case ast.Lambda(args=args, body=body):
            inner: Names = {**later(scope.held), **{a.arg: PLAIN for a in parameters(args)}}
            return copied(node, body=where_held(scope, inner, lambda: expression(scope, body)))
        case ast.ListComp() | ast.GeneratorExp() | ast.SetComp() | ast.DictComp():
            said = len(scope.diagnostics)
            refuse_shared(scope, [node.elt] if isinstance(node, ast.ListComp) else [])
            is_refused = len(scope.diagnostics) > said
            return ast.copy_location(ast.Constant(0), node) if is_refused else plain_comprehension(scope, node)
        case (
            ast.Call(func=ast.Attribute(attr="append" | "extend" | "insert"), args=items)
            | ast.AugAssign(value=ast.List(elts=items))
        ):
            refuse_shared(scope, items)
            return copied(node, **{name: rebuilt_part(scope, part) for name, part in ast.iter_fields(node)})
        case ast.IfExp() | ast.BoolOp():
            with scope.in_place():
                return by_turns(scope, node)
        case ast.Call(func=ast.Name() as function, args=[of]) if scope.value_outside(function) is len:
            tree = base_of(scope, of)
            if not isinstance(tree, Branch) or tree.type is not range:
                return copied(node, args=[expression(scope, of)])
            return direct_call(numbers_in_range, [bound_of(scope, item, node) for item in tree.items], node)
        case ast.Call(func=function, args=[arguments, directions]) if is_directed(node):
            parts = [expression(scope, arguments), by_name(scope, directions)]
            return copied(node, func=rebuilt(scope, function), args=parts)
        case ast.AST():
            return copied(node, **{name: rebuilt_part(scope, part) for name, part in ast.iter_fields(node)})
        case _:
            return node


def refuse_shared(scope: Scope, items: Sequence[ast.expr]) -> None:
    """Rejections of `items` of a list of unknown length that are, or hold, lists which others have, too: written out,
    they would be lists of their own."""
    for item in items:
        match item:
            case ast.List(elts=elts) | ast.Tuple(elts=elts):
                refuse_shared(scope, elts)
            case ast.IfExp(body=body, orelse=orelse):
                refuse_shared(scope, [body, orelse])
            case (
                ast.Starred(value=row)
                | ast.Subscript(value=row, slice=ast.Slice())
                | ast.Call(func=ast.Name(id="list"), args=[row])
                | ast.Call(func=ast.Attribute(value=row, attr="copy"), args=[])
            ):  # a list of its own, of the same elements
                tree = base_of(scope, row)
                if isinstance(tree, Branch) and any(map(holds_structures, tree.items)):
                    scope.reject(f"the lists in `{ast.unparse(row)}` would be in another list, too", item, COPY)
            case ast.Name() | ast.Attribute() | ast.Subscript() | ast.Call():
                if (found := base_of(scope, item)) is not None and holds_structures(found):
                    text, is_row = ast.unparse(item), not isinstance(found, Branch) or found.kind != "record"
                    message = (
                        "is a list that would be in another one, too" if is_row else "would be in a list of any length"
                    )
                    scope.reject(f"`{text}` {message}", item, COPY if is_row else FEW)
            case _:
                pass


def by_turns(scope: Scope, node: ast.IfExp | ast.BoolOp) -> ast.expr:
    """A conditional expression, or `and` and `or`: each part where what comes before it says what it does."""
    if isinstance(node, ast.IfExp):
        test, (yes, no) = expression(scope, node.test), facts(node.test)
        with knowing(scope, yes):
            body = expression(scope, node.body)
        with knowing(scope, no):
            return copied(node, test=test, body=body, orelse=expression(scope, node.orelse))
    values, known = list[ast.expr](), NOTHING
    for value in node.values:
        with knowing(scope, known):
            values.append(expression(scope, value))
        known |= facts(value)[0 if isinstance(node.op, ast.And) else 1]
    return copied(node, values=values)


def is_directed(node: ast.Call) -> bool:
    """Whether `node` is the call of a derivative along directions, which are given by name."""
    return isinstance(node.func, ast.Attribute) and node.func.attr in ("jvp", "hvp") and not node.keywords


def by_name(scope: Scope, node: ast.expr) -> ast.expr:
    """The dictionary `node`, written out."""
    found = scope.tree_of(node)
    if not isinstance(found, Branch) or found.kind != "dict":
        return expression(scope, node)
    keys = [ast.copy_location(ast.Constant(key), node) for key in found.keys]
    return ast.copy_location(ast.Dict(list(keys), [display_of(scope, item, node) for item in found.items]), node)


def rebuilt_parts(scope: Scope, part: Any) -> list[Any]:
    """A part of a list of nodes; for `*row`, all that are in the row."""
    tree = base_of(scope, part.value) if isinstance(part, ast.Starred) else None
    if tree is None or not is_sequence(tree):
        return [rebuilt_part(scope, part)]
    assert isinstance(tree, Branch)
    return [display_of(scope, item, part) for item in tree.items]


def rebuilt_part(scope: Scope, part: Any) -> Any:
    return expression(scope, part) if isinstance(part, ast.expr) else rebuilt(scope, part)


def copied(node: Any, **fields: Any) -> Any:
    """`node` with other `fields`, in the same place."""
    return ast.copy_location(type(node)(**{**dict(ast.iter_fields(node)), **fields}), node)


def with_base(scope: Scope, node: ast.Attribute | ast.Subscript, base: ast.expr) -> ast.expr:
    """The same part of `base`."""
    rest = {} if isinstance(node, ast.Attribute) else {"slice": expression(scope, node.slice)}
    return copied(node, value=base, **rest)


def where_held(scope: Scope, names: Names, make: Callable[[], Any], is_certain: bool = False) -> Any:
    """What `make` makes where `names` hold these; `is_certain`: now, and once."""
    held, bound = scope.held, scope.bound
    inner = {name: known if isinstance(known, Torn) else shared(known) for name, known in names.items()}
    scope.held, scope.bound = {**held, **inner}, {**{name: held.get(name) for name in names}, **bound}
    ahead, scope.ahead = scope.ahead, {}
    try:
        with nullcontext() if is_certain else scope.in_place():
            return make()
    finally:
        scope.held, scope.bound, scope.ahead = held, bound, ahead


def plain_comprehension(scope: Scope, node: Display) -> ast.expr:
    """A comprehension over what is no structure."""
    first = node.generators[0]
    names: Names = dict.fromkeys(stored_names([g.target for g in node.generators]), PLAIN)

    def inside() -> ast.expr:
        parts = {name: rebuilt_part(scope, part) for name, part in ast.iter_fields(node) if name != "generators"}
        return copied(node, **parts, generators=[rebuilt(scope, g) for g in node.generators])

    made = where_held(scope, names, inside)
    with scope.in_place():
        made.generators[0] = copied(made.generators[0], iter=expression(scope, first.iter))
    return made


def element(scope: Scope, node: ast.expr) -> Tree:
    """The value of `node`, whatever it is."""
    found = scope.tree_of(node)
    if found is not None:
        return found
    match node:
        case ast.Lambda():
            return function_inside(scope, node)
        case ast.Name() | ast.Attribute() if is_known(value := scope.value_outside(node)):
            return Static(value)
        case ast.Name(id=name):
            return Leaf(rebuilt(scope, node), scope.known(name))
        case ast.Constant(value=int() as value):
            return Leaf(node, value)
        case ast.UnaryOp(op=ast.USub(), operand=ast.Constant(value=int() as value)):
            return Leaf(node, -value)
        case _:
            return Leaf(rebuilt(scope, node))


def function_inside(scope: Scope, node: ast.Lambda) -> Leaf:
    """A lambda as a value; what is wrong with it where it is given single values matters if it is."""
    said, scope.diagnostics = scope.diagnostics, []
    made = rebuilt(scope, node)
    scope.generic.append((made, scope.diagnostics))
    scope.diagnostics = said
    is_free = scope.bound.keys().isdisjoint(free_names(node))
    return Leaf(made, Local(as_definition(node), scope, as_definition(made)) if is_free else MISSING)


def later(names: Names) -> Names:
    """What is known of `names` whenever a function inside is called: what they hold has that form."""
    return {n: h if isinstance(h, Torn) else with_leaves(h, lambda _, leaf: Leaf(leaf.expr)) for n, h in names.items()}


def free_names(function: ast.Lambda) -> set[str]:
    """Names that a function reads, but for its parameters."""
    names = {n.id for n in syntax_nodes(function.body) if isinstance(n, ast.Name)}
    return names - {a.arg for a in parameters(function.args)}


def base_of(scope: Scope, node: ast.expr) -> Tree | None:
    """The tree of `node`, of which a part is taken."""
    root = node
    while isinstance(root, ast.Subscript | ast.Attribute):
        root = root.value
    if not isinstance(root, ast.Name):
        return scope.tree_of(node)
    owned = set(scope.owned)
    found = scope.tree_of(node)
    scope.owned = owned  # nothing is handed out
    return found


def function_at(scope: Scope, node: ast.expr) -> Tree | None:
    """The tree of `node`, which is called; None for methods."""
    match node:
        case ast.Attribute(value=base, attr=attr) if isinstance(tree := base_of(scope, base), Branch):
            return attribute_called(scope, tree, attr, node) if tree.kind == "record" else None
        case ast.Attribute(value=base, attr=attr) if is_class(tree := base_of(scope, base)):
            return function_of_class(scope, Branch("record", tree.value, (), ()), attr, node)
        case ast.Name() | ast.Subscript() | ast.Attribute():
            return base_of(scope, node)
        case ast.Call() if is_class(made := scope.tree_of(node)) or (
            isinstance(made, Branch) and made.kind == "record"
        ):
            return made
        case _:
            return None


def attribute_called(scope: Scope, tree: Branch, attr: str, node: ast.expr) -> Tree | None:
    """What a record has under the name `attr`; None for its methods."""
    found = tree.item(attr)
    if found is None and attr == "__class__":
        return Static(tree.type)
    return found or function_of_class(scope, tree, attr, node)


def is_class(tree: Tree | None) -> TypeGuard[Static]:
    return isinstance(tree, Static) and isinstance(tree.value, type)


def hand_out(scope: Scope, found: Iterable[Tree], node: ast.AST) -> None:
    """Note that `found`, parts of what `node` names, belong to others as well."""
    if any(map(holds_structures, found)):
        for name in {n.id for n in syntax_nodes(node) if isinstance(n, ast.Name)}:
            scope.disown(name)


def steadied(scope: Scope, tree: Tree, changing: Collection[str], node: ast.expr) -> Tree:
    """`tree` as it is now: what is computed, or is in a variable of `changing`, gets another one."""

    def kept(_: object, leaf: Leaf) -> Leaf:
        if is_literal(leaf.expr) or (isinstance(leaf.expr, ast.Name) and leaf.expr.id not in changing):
            return leaf
        if isinstance(leaf.expr, ast.Lambda) and leaf.known is not MISSING:
            return leaf
        if not scope.may_run_ahead:
            return scope.reject(f"`{ast.unparse(node)}` is computed where it may not run at all", node)
        name = scope.names.fresh("item")
        scope.out.append(ast.copy_location(ast.Assign([name_stored(name, node)], leaf.expr), node))
        return Leaf(name_read(name, node))

    return with_leaves(tree, kept)


def is_literal(node: ast.expr) -> bool:
    """Whether `node` is a number that is written out."""
    return isinstance(node, ast.Constant) or (
        isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.USub) and isinstance(node.operand, ast.Constant)
    )


def assignment(targets: Sequence[ast.expr], value: ast.expr, node: ast.AST) -> ast.stmt:
    """What takes apart the tuple `value`, of one element, too."""
    target = ast.copy_location(ast.Tuple(list(targets), ast.Store()), node)
    return ast.copy_location(ast.Assign([target], value), node)
