"""Statements without structures: loops over known items are written out, tests of what is known decided."""

from __future__ import annotations

import ast
from collections.abc import Sequence

from loopdiff.frontend.structures.absent import by_branches, facts, learn, require_number
from loopdiff.frontend.structures.bindings import assign_tree, places_behind, store_at
from loopdiff.frontend.structures.calls import callee_of, kept_call, operator_call
from loopdiff.frontend.structures.changes import PlaceChange, changed, part_to_store
from loopdiff.frontend.structures.iterated import (
    is_asked_for,
    is_call_of,
    is_to_be_written_out,
    items_of,
    known_range,
    lengths_behind,
)
from loopdiff.frontend.structures.iterators import refuse_iterators
from loopdiff.frontend.structures.known import static, truth, with_rank
from loopdiff.frontend.structures.methods import has_own_method
from loopdiff.frontend.structures.objects.above import spelt
from loopdiff.frontend.structures.objects.by_place import parts_by_place
from loopdiff.frontend.structures.objects.changing import changing_call
from loopdiff.frontend.structures.objects.first_apart import begins_with_none, first_apart
from loopdiff.frontend.structures.objects.in_place import augmented
from loopdiff.frontend.structures.objects.in_turn import written_in_turn
from loopdiff.frontend.structures.objects.indexed import by_axes
from loopdiff.frontend.structures.objects.ranges import kept_value
from loopdiff.frontend.structures.objects.starred import with_stars_apart
from loopdiff.frontend.structures.plain import columns_before_loop, leave_to_parser, lists_apart, with_named_rows
from loopdiff.frontend.structures.rewriting import (
    base_of,
    copied,
    display_of,
    expression,
    hand_out,
    rebuilt,
    steadied,
    with_own_defaults,
)
from loopdiff.frontend.structures.scope import (
    FEW_ITEMS,
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
from loopdiff.frontend.structures.trees import (
    Branch,
    Leaf,
    Rank,
    Tree,
    dictionary_of,
    form,
    in_row,
    is_sequence,
    leaves,
)
from loopdiff.frontend.structures.values import is_open_place, one_of_places, places_of, put_together
from loopdiff.immutable import replace
from loopdiff.source.continued import without_continue
from loopdiff.source.functions import MISSING
from loopdiff.source.nodes import syntax_children, syntax_nodes


def block(scope: Scope, nodes: Sequence[ast.stmt]) -> bool:
    """Write `nodes`; whether the end is reached."""
    for one in (part for node in nodes for first in augmented(scope, node) for part in by_axes(scope, first)):
        node = with_stars_apart(scope, spelt(scope, by_branches(scope, one)))
        if not written_in_turn(scope, node, statement, block):
            return False
    return True


def statement(scope: Scope, node: ast.stmt) -> bool:
    """Write `node`; whether what follows it is reached."""
    refuse_iterators(scope, node)
    match node:
        case ast.Assign(targets=targets, value=value):
            assign(scope, targets, value, node)
        case ast.AnnAssign(target=target, value=ast.expr() as value):
            assign(scope, [target], value, node)
        case ast.AugAssign():
            augment(scope, node)
        case ast.If():
            return branch(scope, node)
        case ast.Assert(test=test) if (known := static(scope, test)) is not MISSING and known:
            pass
        case ast.For():
            loop(scope, node)
        case ast.While():
            while_loop(scope, node)
        case ast.Return(value=value):
            returned(scope, value, node)
            return False
        case ast.Raise():
            scope.out.append(node)
            return False
        case ast.FunctionDef(name=name):
            node = with_own_defaults(scope, node)
            scope.hold(name, PLAIN, node)
            made = scope.walk.rewrite(scope, node)
            scope.out.append(made)
            scope.hold(name, Leaf(PLAIN.expr, Local(node, scope, made)), node)
        case ast.Break() | ast.Continue():
            scope.jumped.append(scope.flow())
            scope.out.append(node)
            return False
        case _:
            simple(scope, node)
    return True


def simple(scope: Scope, node: ast.stmt) -> None:
    """A statement that is none of the others."""
    match node:
        case ast.Expr(value=value) if (found := changed(scope, value)) is not None:
            change(scope, found, node)
        case ast.Expr(value=ast.Call() as call) if changing_call(scope, call, is_used=False) is not None:
            pass
        case ast.Expr(value=ast.Call() as call) if isinstance(scope.tree_of(call), Branch):
            pass  # it runs ahead, and nobody asks what it gives
        case ast.Delete(targets=[ast.Subscript(value=base) as target]) if isinstance(base_of(scope, base), Branch):
            delete(scope, target, node)
        case _:
            scope.out.append(rebuilt(scope, node))
            for name in stored_names([node]):
                scope.hold(name, PLAIN, node)


def change(scope: Scope, found: PlaceChange, node: ast.stmt) -> None:
    if found.place is not None:
        store_at(scope, found.place, found.after, node)


# -- assignments -------------------------------------------------------------------------------------------
def assign(scope: Scope, targets: Sequence[ast.expr], value: ast.expr, node: ast.stmt) -> None:
    match targets, value:
        case [ast.Subscript() as target], _ if (places := places_of(scope, target)) is not None:
            given = held_ahead(scope, "item", value, node)
            scope.growing.is_open = True
            statement(scope, one_of_places(scope, target, places, lambda t: ast.Assign([t], given), node))
        case [ast.Name(id=name) as target], _ if scope.is_plain(name) and leave_to_parser(scope, target, value, node):
            pass
        case [ast.Tuple(elts=elts)], ast.Tuple(elts=values) if found := lists_apart(scope, elts, values):
            for one, rest in found:
                assign(scope, [one], rest, copied(node, targets=[one], value=rest))
        case [ast.Tuple(elts=elts)], _ if any(is_open_place(scope, e) for e in elts) and not has_star(elts):
            names = [scope.names.fresh("item") for _ in elts]
            stored = ast.copy_location(
                ast.Tuple([name_stored(n, e) for n, e in zip(names, elts, strict=True)], ast.Store()), targets[0]
            )
            assign(scope, [stored], value, copied(node, targets=[stored], value=value))
            for name, target in zip(names, elts, strict=True):
                statement(scope, ast.copy_location(ast.Assign([target], name_read(name, target)), node))
        case [ast.Tuple(elts=elts)], ast.Call() if (
            changing_call(scope, value) is None
            and (target := callee_of(scope, value.func)) is not None
            and (pending := kept_call(scope, value, target, value)) is not None
            and pending[1] is not None
            and all(isinstance(i, Leaf) for i in pending[1].items)
            and len(elts) == len(pending[1].items)
            and not any(isinstance(e, ast.Starred | ast.Tuple | ast.List) or is_part(scope, e) for e in elts)
            and scope.flags.keys().isdisjoint(stored_names(targets))
        ):
            scope.out.append(copied(node, targets=[rebuilt(scope, targets[0])], value=pending[0]))
            for name in stored_names(targets):
                scope.hold(name, PLAIN, node)
        case _:
            tree = parts_of(scope, targets, value) or last_of(scope, value, node)
            assign_tree(scope, targets, with_rank(scope, tree, value), node)


def has_star(elts: Sequence[ast.expr]) -> bool:
    return any(isinstance(e, ast.Starred) for e in elts)


def is_part(scope: Scope, target: ast.expr) -> bool:
    """Whether `target` stores a part of a list, a dictionary or a record."""
    return isinstance(target, ast.Subscript | ast.Attribute) and isinstance(base_of(scope, target.value), Branch)


def with_key_ahead(scope: Scope, target: ast.Subscript, node: ast.AugAssign) -> ast.Subscript:
    """`target`, whose key Python computes before the value of `node`: by a name, where calls may change what it is."""
    if not any(isinstance(n, ast.Call) for n in syntax_nodes(node.value)):
        return target
    return copied(target, slice=held_ahead(scope, "key", target.slice, node))


def held_ahead(scope: Scope, stem: str, value: ast.expr, node: ast.stmt) -> ast.Name:
    """`value`, computed ahead of `node`, by a name."""
    held = name_stored(scope.names.fresh(stem), value)
    assign(scope, [held], value, ast.copy_location(ast.Assign([held], value), node))
    return name_read(held.id, value)


def parts_of(scope: Scope, targets: Sequence[ast.expr], value: ast.expr) -> Tree | None:
    """What `a, b = row` takes apart: others get what is in the row, not the row."""
    if not isinstance(value, ast.Name) or not all(isinstance(t, ast.Tuple | ast.List) for t in targets):
        return None
    tree = base_of(scope, value)
    hand_out(scope, tree.items if isinstance(tree, Branch) else (), value)
    return tree


def last_of(scope: Scope, value: ast.expr, node: ast.stmt) -> Tree:
    """The value of a statement, which may be what the change of a list or dictionary gives."""
    found = changed(scope, value)
    if found is None:
        return kept_value(scope, value)
    kept = steadied(scope, found.gives, set(scope.variables.values()), value)
    change(scope, found, node)
    return kept


def delete(scope: Scope, target: ast.Subscript, node: ast.Delete) -> None:
    """`del d["k"]`, of a list or dictionary that nobody else has."""
    base = base_of(scope, target.value)
    assert isinstance(base, Branch)
    place = part_to_store(scope, target, base)
    if place is not None:
        name, path = place
        rest = [(k, item) for k, item in zip(base.keys, base.items, strict=True) if k != path[-1]]
        after = dictionary_of(dict(rest)) if base.kind == "dict" else in_row("list", tuple(item for _, item in rest))
        store_at(scope, (name, path[:-1]), after, node)


def augment(scope: Scope, node: ast.AugAssign) -> None:
    """`x += e`: of tuples and lists, what both have; of a part of a structure, the variable of that."""
    match node.target:
        case ast.Subscript() as target if (places := places_of(scope, target)) is not None:
            target = with_key_ahead(scope, target, node)
            given = held_ahead(scope, "item", node.value, node)
            statement(scope, one_of_places(scope, target, places, lambda t: ast.AugAssign(t, node.op, given), node))
        case ast.Name(id=name) as target if isinstance(scope.tree(name, target), Branch):
            is_owned = (name, ()) in scope.owned
            tree = together(scope, name_read(name, target), node)
            if tree is None:
                scope.reject(f"`{ast.unparse(node)}` changes a structure", node)
            elif isinstance(tree, Branch) and tree.kind == "list" and not is_owned:
                scope.reject_shared(f"`{name}`", node)
            else:
                assign_tree(scope, [target], tree, node)
        case ast.Subscript(value=base) | ast.Attribute(value=base) as target if isinstance(
            tree := base_of(scope, base), Branch
        ):
            augment_part(scope, target, tree, node)
        case target:
            if isinstance(target, ast.Name):
                require_number(scope, target)
            scope.out.append(copied(node, target=rebuilt(scope, target), value=expression(scope, node.value)))
            known = scope.known(target.id) if isinstance(target, ast.Name) else MISSING
            if isinstance(target, ast.Name) and not (isinstance(known, Rank) and known.axes):
                scope.hold(target.id, PLAIN, node)


def together(scope: Scope, read: ast.expr, node: ast.AugAssign) -> Tree | None:
    """What `read` and the value of `node` give, where that is another structure."""
    found = put_together(scope, read, node.op, node.value)
    tree = base_of(scope, read)
    if found is not None or not isinstance(tree, Branch) or has_own_method(tree, node.op):
        return found
    return operator_call(scope, ast.copy_location(ast.BinOp(read, node.op, node.value), node))


def augment_part(scope: Scope, target: ast.Subscript | ast.Attribute, base: Branch, node: ast.AugAssign) -> None:
    """`p["w"] += e`: an array changes in place, for all that have it; a number where nobody else has the list or
    dictionary."""
    own = base_of(scope, read := copied(target, ctx=ast.Load()))
    if isinstance(own, Leaf) and isinstance(own.expr, ast.Name) and isinstance(own.known, Rank) and own.known.axes:
        scope.uses_ranks = True
        to = name_stored(own.expr.id, target)
        scope.out.append(copied(node, target=to, value=expression(scope, node.value)))
        return
    place = part_to_store(scope, target, base)
    if place is None:
        return
    if isinstance(own, Leaf) and isinstance(own.expr, ast.Name):
        to = name_stored(own.expr.id, target)
        scope.out.append(copied(node, target=to, value=expression(scope, node.value)))
        store_at(scope, place, Leaf(own.expr), node)
    elif (tree := together(scope, read, node)) is not None:
        store_at(scope, place, tree, node)
    else:
        scope.reject(f"`{ast.unparse(node)}` changes a structure", node)


def returned(scope: Scope, value: ast.expr | None, node: ast.Return) -> None:
    """`return`: of several values, a tuple of these."""
    tree = None if value is None else last_of(scope, value, node)
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
    known = truth(scope, node.test)
    if known is not MISSING:
        return block(scope, node.body if known else node.orelse)
    test = expression(scope, node.test)
    before, ends, parts = scope.flow(), list[Flow](), list[list[ast.stmt]]()
    for nodes, known in zip((node.body, node.orelse), facts(node.test), strict=True):
        scope.go_on(before)
        learn(scope, known)
        with scope.block() as out:
            if block(scope, nodes):
                ends.append(scope.flow())
        parts.append(out)
    scope.go_on(met(*ends) if ends else before)
    scope.out.append(copied(node, test=test, body=parts[0] or [ast.copy_location(ast.Pass(), node)], orelse=parts[1]))
    return bool(ends)


def loop(scope: Scope, node: ast.For) -> None:
    """A loop: written out over items that are known, or that its body asks for; of lists that grow in it, too."""
    body = without_continue(node.body) or node.body
    has_jumps = any(jumps_of(stmt) for stmt in body)
    if not has_jumps and (parts := parts_by_place(scope, copied(node, body=body))) is not None:
        if all(block(scope, part) for part in parts):
            block(scope, node.orelse)
        return
    node = with_named_rows(scope, with_held_copies(scope, node))
    items, lengths = items_of(scope, node.iter), lengths_behind(scope, node.iter)
    numbers = known_range(scope, node.iter) if items is None else None
    if items is None and (is_asked_for(scope, node) or is_to_be_written_out(scope, node, numbers)):
        items = numbers
    if items is not None:
        write_out(scope, node, items)
        for name, length in lengths_behind(scope, node.iter).items():
            if length != lengths[name]:
                is_row = getattr(scope.held.get(name), "kind", "list") == "list"
                hint = f"go over a copy: `{name}[:]`" if is_row else f"go over a copy: `list({name})`"
                scope.reject(f"`{name}` becomes longer or shorter in a loop that goes over it", node.iter, hint)
        return
    before, said = scope.flow(), scope.said()
    over = expression(scope, node.iter)
    names: Names = dict.fromkeys(stored_names([node.target]), PLAIN)
    body = steady_block(scope, node.body, names)
    if numbers is not None and len(numbers) <= scope.growing.most and torn(scope.held) - torn(before.held):
        scope.growing.is_long |= len(numbers) > FEW_ITEMS
        scope.go_on(before)
        scope.take_back(said)
        write_out(scope, node, numbers)
        return
    is_torn = not has_jumps and begins_with_none(scope, torn(scope.held) - torn(before.held))
    if is_torn and (apart := first_apart(scope, node)) is not None:
        scope.go_on(before)
        scope.take_back(said)
        statement(scope, apart)
        return
    orelse, target = otherwise(scope, node.orelse), rebuilt(scope, node.target)
    scope.out.append(copied(node, iter=over, target=target, body=body, orelse=orelse))


def with_held_copies(scope: Scope, node: ast.For) -> ast.For:
    """The loop with names for the copies of lists that it goes over, as `t[:]`: it may change the lists."""
    is_changing = any(
        isinstance(n, ast.Call) or (isinstance(n, ast.Subscript) and not isinstance(n.ctx, ast.Load))
        for stmt in node.body
        for n in syntax_nodes(stmt)
    )

    def held(part: ast.expr) -> ast.expr:
        tree = base_of(scope, part) if is_copy(part) else None
        if not isinstance(tree, Branch) or not is_sequence(tree):
            return part
        name = scope.names.fresh("copy")
        assign(scope, [name_stored(name, part)], part, node)
        return name_read(name, part)

    if not is_changing:
        return node
    if is_call_of(scope, node.iter, zip, enumerate, reversed):
        return copied(node, iter=copied(node.iter, args=list(map(held, node.iter.args))))  # type: ignore[attr-defined]
    return copied(node, iter=held(node.iter))


def is_copy(node: ast.expr) -> bool:
    match node:
        case ast.Subscript(slice=ast.Slice()) | ast.Call(func=ast.Name(id="list" | "tuple"), args=[_]):
            return True
        case ast.Call(func=ast.Attribute(attr="copy"), args=[]):
            return True
        case _:
            return False


def otherwise(scope: Scope, nodes: Sequence[ast.stmt]) -> list[ast.stmt]:
    """The `else` of a loop, which runs unless the loop was left by a jump."""
    before = scope.flow()
    with scope.block() as out:
        is_passed = block(scope, nodes)
    scope.go_on(met(before, scope.flow()) if is_passed else before)
    return out


def write_out(scope: Scope, node: ast.For, items: Sequence[Tree]) -> None:
    """The body, once for each of the items."""
    body = without_continue(node.body) or node.body
    jumps = [n for stmt in body for n in jumps_of(stmt)]
    if jumps:
        scope.reject(
            "this loop over known items is written out, and has a jump", jumps[0], "write the `if` around the rest"
        )
        over = base_of(scope, node.iter)
        if isinstance(over, Branch) and over.origin is not None:
            scope.growing.said[scope.diagnostics[-1]] = {over.origin}
        return
    changing = stored_names(body)
    changing |= {v for (name, _), v in scope.variables.items() if name in changing}
    row = steadied(scope, in_row("tuple", tuple(items)), changing, node.iter)
    assert isinstance(row, Branch)
    gone, around = list(places_behind(scope, node.iter)), scope.coming
    for k, item in enumerate(row.items, start=1):
        assign_tree(scope, [node.target], item, node)
        scope.coming = (*around, *((place, keys[k:]) for place, keys in gone))
        is_passed = block(scope, body)
        scope.coming = around
        if not is_passed:
            return
    block(scope, node.orelse)


def jumps_of(node: ast.AST) -> list[ast.AST]:
    """`break` and `continue` of the loop around `node`."""
    if isinstance(node, ast.Break | ast.Continue):
        return [node]
    if isinstance(node, ast.For | ast.While):
        return [n for stmt in node.orelse for n in jumps_of(stmt)]
    return [n for part in syntax_children(node) for n in jumps_of(part)]


def while_loop(scope: Scope, node: ast.While) -> None:
    with scope.in_place():
        body = steady_block(scope, node.body, {})
        with columns_before_loop(scope, body, node):
            test = expression(scope, node.test)
    scope.out.append(copied(node, test=test, body=body, orelse=otherwise(scope, node.orelse)))


def steady_block(scope: Scope, nodes: Sequence[ast.stmt], names: Names) -> list[ast.stmt]:
    """The body of a loop, where names hold what they may hold at the start of any iteration; and after it likewise."""
    outer, said, may_run_ahead = scope.jumped, scope.said(), scope.may_run_ahead
    functions = (n for stmt in nodes for n in syntax_nodes(stmt) if isinstance(n, ast.FunctionDef))
    changed = stored_names(nodes) | {n.name for n in functions}
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
        start = replace(after, held={n: after.held[n] for n in start.held}, owned=after.owned & start.owned)


def says_as_much(start: Flow, after: Flow) -> bool:
    """Whether nothing that is known before an iteration is unknown after it."""
    return start.owned <= after.owned and all(is_steady(held, after.held[name]) for name, held in start.held.items())


def is_steady(before: Held, after: Held) -> bool:
    """Whether what a name holds after an iteration says no less than before."""
    if isinstance(before, Torn) or isinstance(after, Torn):
        return isinstance(before, Torn)
    return form(before) == form(after)
