"""Statements without structures: loops over known items are written out, tests of what is known decided."""

from __future__ import annotations

import ast
from collections.abc import Sequence
from dataclasses import replace

from loopdiff.frontend.structures.bindings import assign_tree
from loopdiff.frontend.structures.calls import leading, pending_call
from loopdiff.frontend.structures.iterated import items_of, known_range
from loopdiff.frontend.structures.known import static
from loopdiff.frontend.structures.rewriting import base_of, copied, display_of, element, expression, rebuilt, steadied
from loopdiff.frontend.structures.scope import (
    PLAIN,
    Flow,
    Held,
    Local,
    Names,
    Scope,
    Torn,
    met,
    name_read,
    name_stored,
    stored_names,
    torn,
)
from loopdiff.frontend.structures.trees import Branch, Leaf, Tree, form, in_row, leaves
from loopdiff.frontend.structures.values import put_together
from loopdiff.source.functions import MISSING

FRESH = (ast.List, ast.Dict, ast.ListComp, ast.DictComp)


def block(scope: Scope, nodes: Sequence[ast.stmt]) -> bool:
    """Write `nodes`; whether the end is reached."""
    for node in nodes:
        scope.ahead.clear()
        first = node.iter if isinstance(node, ast.For) else getattr(node, "value", getattr(node, "test", None))
        scope.leading = frozenset() if isinstance(node, ast.AugAssign) else frozenset(leading(first))
        if not statement(scope, node):
            return False
    return True


def statement(scope: Scope, node: ast.stmt) -> bool:
    """Write `node`; whether what follows it is reached."""
    match node:
        case ast.Assign(targets=targets, value=value):
            assign(scope, targets, value, node)
        case ast.AnnAssign(target=target, value=ast.expr() as value, simple=1):
            assign(scope, [target], value, node)
        case ast.AugAssign():
            augment(scope, node)
        case ast.If():
            return branch(scope, node)
        case ast.For():
            loop(scope, node)
        case ast.While():
            while_loop(scope, node)
        case ast.Return(value=value):
            returned(scope, value, node)
            return False
        case ast.FunctionDef(name=name):
            scope.hold(name, PLAIN, node)
            made = scope.walk.rewrite(scope, node)
            scope.out.append(made)
            scope.hold(name, Leaf(PLAIN.expr, Local(node, scope, made)), node)
        case ast.Expr(value=ast.Call(func=ast.Attribute(value=ast.Name(id=name), attr="append"), args=[added])) if (
            isinstance(tree := scope.held.get(name), Branch) and tree.kind == "list"
        ):
            append(scope, name, tree, element(scope, added), node)
        case ast.Break() | ast.Continue():
            scope.jumped.append(scope.flow())
            scope.out.append(node)
            return False
        case _:
            made = rebuilt(scope, node)
            scope.out.append(made)
            for name in stored_names([node]):
                scope.hold(name, PLAIN, node)
    return True


# -- assignments -------------------------------------------------------------------------------------------
def assign(scope: Scope, targets: Sequence[ast.expr], value: ast.expr, node: ast.stmt) -> None:
    match targets, value:
        case [ast.Tuple(elts=elts)], ast.Call() if (
            (pending := pending_call(scope, value)) is not None
            and pending[1] is not None
            and all(isinstance(i, Leaf) for i in pending[1].items)
            and len(elts) == len(pending[1].items)
            and not any(isinstance(e, ast.Starred | ast.Tuple | ast.List) for e in elts)
        ):
            scope.out.append(copied(node, targets=[rebuilt(scope, targets[0])], value=pending[0]))
            for name in stored_names(targets):
                scope.hold(name, PLAIN, node)
        case _:
            tree = element(scope, value)
            is_made = isinstance(value, ast.Call) and scope.value_outside(value.func) in (dict, list)
            is_fresh = (is_made or isinstance(value, FRESH)) and not isinstance(tree, Leaf)
            assign_tree(scope, targets, tree, node, is_fresh)


def augment(scope: Scope, node: ast.AugAssign) -> None:
    """`x += e`: of tuples and lists, what both have; of a part of a structure, the variable of that."""
    match node.target:
        case ast.Name(id=name) as target if isinstance(scope.tree(name, target), Branch):
            was_owned = name in scope.owned
            tree = put_together(scope, name_read(name, target), node.op, node.value)
            if tree is None:
                scope.reject(f"`{ast.unparse(node)}` changes a structure", node)
            elif isinstance(tree, Branch) and tree.kind == "list" and not was_owned:
                scope.reject_shared(f"`{name}`", node, f"write `{name} = {name} + [...]`")
            else:
                assign_tree(scope, [target], tree, node, was_owned)
        case ast.Subscript(value=base) | ast.Attribute(value=base) if isinstance(base_of(scope, base), Branch):
            augment_part(scope, node)
        case target:
            made = copied(node, target=rebuilt(scope, target), value=expression(scope, node.value))
            scope.out.append(made)
            if isinstance(target, ast.Name):
                scope.hold(target.id, PLAIN, node)


def augment_part(scope: Scope, node: ast.AugAssign) -> None:
    """`p["w"] += e`: an array changes in place, for all that have it; a number where nobody else has the list or
    dictionary."""
    target = node.target
    assert isinstance(target, ast.Subscript | ast.Attribute)
    read = copied(target, ctx=ast.Load())
    name = target.value.id if isinstance(target.value, ast.Name) else ""
    was_owned = name in scope.owned
    own = element(scope, read)
    if not isinstance(own, Leaf) or not isinstance(own.expr, ast.Name):
        scope.reject(f"`{ast.unparse(node)}` changes a structure", node)
    elif not was_owned and own.expr.id not in scope.arrays:
        scope.reject_shared(f"`{ast.unparse(target)}`", node)
    else:
        to = name_stored(own.expr.id, target)
        scope.out.append(copied(node, target=to, value=expression(scope, node.value)))


def append(scope: Scope, name: str, tree: Branch, added: Tree, node: ast.stmt) -> None:
    """`name.append(added)`."""
    if name not in scope.owned:
        scope.reject_shared(f"`{name}`", node, f"write `{name} = {name} + [...]`")
        return
    assign_tree(scope, [name_stored(name, node)], in_row("list", (*tree.items, added)), node, is_fresh=True)


def returned(scope: Scope, value: ast.expr | None, node: ast.Return) -> None:
    """`return`: of several values, a tuple of these."""
    tree = None if value is None else element(scope, value)
    if isinstance(tree, Branch):
        scope.results.append(tree)
        found = [leaf.expr for _, leaf in leaves(tree)]
        flat: ast.expr | None = ast.copy_location(ast.Tuple(found, ast.Load()), node)
    else:
        is_none = tree is None or (isinstance(value, ast.Constant) and value.value is None)
        scope.results.append(None if is_none else tree)
        flat = None if is_none or tree is None else display_of(scope, tree, node)
    scope.out.append(copied(node, value=flat))


# -- ways --------------------------------------------------------------------------------------------------
def branch(scope: Scope, node: ast.If) -> bool:
    known = static(scope, node.test)
    if known is not MISSING:
        return block(scope, node.body if known else node.orelse)
    test = expression(scope, node.test)
    before, ends, parts = scope.flow(), list[Flow](), list[list[ast.stmt]]()
    for nodes in (node.body, node.orelse):
        scope.go_on(before)
        with scope.block() as out:
            if block(scope, nodes):
                ends.append(scope.flow())
        parts.append(out)
    scope.go_on(met(*ends) if ends else before)
    scope.out.append(copied(node, test=test, body=parts[0] or [ast.copy_location(ast.Pass(), node)], orelse=parts[1]))
    return bool(ends)


def loop(scope: Scope, node: ast.For) -> None:
    """A loop: written out over items that are known, or that its body asks for; of lists that grow in it, too."""
    items = items_of(scope, node.iter)
    numbers = known_range(scope, node.iter) if items is None else None
    if items is None and is_asked_for(scope, node):
        items = numbers
    if items is not None:
        write_out(scope, node, items)
        return
    before, said = scope.flow(), scope.said()
    over = expression(scope, node.iter)
    names: Names = dict.fromkeys(stored_names([node.target]), PLAIN)
    body = steady_block(scope, node.body, names)
    if numbers is not None and torn(scope.held) - torn(before.held):
        scope.go_on(before)
        scope.take_back(said)
        write_out(scope, node, numbers)
        return
    orelse, target = otherwise(scope, node.orelse), rebuilt(scope, node.target)
    scope.out.append(copied(node, iter=over, target=target, body=body, orelse=orelse))


def otherwise(scope: Scope, nodes: Sequence[ast.stmt]) -> list[ast.stmt]:
    """The `else` of a loop, which runs unless the loop was left by a jump."""
    before = scope.flow()
    with scope.block() as out:
        is_passed = block(scope, nodes)
    scope.go_on(met(before, scope.flow()) if is_passed else before)
    return out


def is_asked_for(scope: Scope, node: ast.For) -> bool:
    """Whether the variable of a loop says which element of a structure its body means."""
    if not isinstance(node.target, ast.Name):
        return False
    for inner in (n for stmt in node.body for n in ast.walk(stmt)):
        match inner:
            case ast.Subscript(value=base, slice=index) if is_structure(scope, base):
                if any(isinstance(n, ast.Name) and n.id == node.target.id for n in ast.walk(index)):
                    return True
            case _:
                pass
    return False


def is_structure(scope: Scope, node: ast.expr) -> bool:
    while isinstance(node, ast.Subscript | ast.Attribute):
        if isinstance(scope.value_outside(node), tuple | list | dict):
            return True
        node = node.value
    is_outside = isinstance(scope.value_outside(node), tuple | list | dict)
    return is_outside or (isinstance(node, ast.Name) and isinstance(scope.held.get(node.id), Branch))


def write_out(scope: Scope, node: ast.For, items: Sequence[Tree]) -> None:
    """The body, once for each of the items."""
    jumps = [n for stmt in node.body for n in jumps_of(stmt)]
    if jumps:
        scope.reject(
            "this loop over known items is written out, and has a jump", jumps[0], "write the `if` around the rest"
        )
        return
    changing = stored_names(node.body)
    changing |= {v for (name, _), v in scope.variables.items() if name in changing}
    row = steadied(scope, in_row("tuple", tuple(items)), changing, node.iter)
    assert isinstance(row, Branch)
    for item in row.items:
        assign_tree(scope, [node.target], item, node)
        if not block(scope, node.body):
            return
    block(scope, node.orelse)


def jumps_of(node: ast.AST) -> list[ast.AST]:
    """`break` and `continue` of the loop around `node`."""
    if isinstance(node, ast.Break | ast.Continue):
        return [node]
    if isinstance(node, ast.For | ast.While):
        return [n for stmt in node.orelse for n in jumps_of(stmt)]
    return [n for part in ast.iter_child_nodes(node) for n in jumps_of(part)]


def while_loop(scope: Scope, node: ast.While) -> None:
    with scope.in_place():
        body = steady_block(scope, node.body, {})
        test = expression(scope, node.test)
    scope.out.append(copied(node, test=test, body=body, orelse=otherwise(scope, node.orelse)))


def steady_block(scope: Scope, nodes: Sequence[ast.stmt], names: Names) -> list[ast.stmt]:
    """The body of a loop, where names hold what they may hold at the start of any iteration; and after it likewise."""
    outer, said, may_run_ahead = scope.jumped, scope.said(), scope.may_run_ahead
    changed = stored_names(nodes) | {n.name for stmt in nodes for n in ast.walk(stmt) if isinstance(n, ast.FunctionDef)}
    scope.held |= {name: PLAIN for name in changed if isinstance(scope.held.get(name), Leaf)}
    start = scope.flow()
    while True:
        scope.go_on(start)
        scope.held |= names
        scope.jumped, scope.may_run_ahead = [], True
        with scope.block() as body:
            ends = [scope.flow()] if block(scope, nodes) else []
        after = met(start, *ends, *scope.jumped)
        scope.jumped, scope.may_run_ahead = outer, may_run_ahead
        scope.go_on(after)
        if says_as_much(start, after):
            return body or [ast.copy_location(ast.Pass(), nodes[0])]
        scope.take_back(said)
        known = {name: after.held[name] for name in start.held}
        start = replace(after, held=known, owned=after.owned & start.owned)


def says_as_much(start: Flow, after: Flow) -> bool:
    """Whether nothing that is known before an iteration is unknown after it."""
    is_known = start.owned <= after.owned and start.arrays <= after.arrays
    return is_known and all(is_steady(held, after.held[name]) for name, held in start.held.items())


def is_steady(before: Held, after: Held) -> bool:
    """Whether what a name holds after an iteration says no less than before."""
    if isinstance(before, Torn) or isinstance(after, Torn):
        return isinstance(before, Torn)
    return form(before) == form(after)
