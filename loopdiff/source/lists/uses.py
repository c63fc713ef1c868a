"""Whether a name may keep its list where it gets another one: the elements move there, and nobody may tell."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Mapping, Sequence
from types import FunctionType
from typing import Any

from loopdiff.errors import UnsupportedLoopError
from loopdiff.source.functions import dotted_name, python_function, source_of
from loopdiff.source.harmless import changes_nothing
from loopdiff.source.lists.found import Found, Lists
from loopdiff.source.nodes import syntax_children, syntax_nodes
from loopdiff.source.scopes import MISSING

CHANGING = ("append", "appendleft", "extend", "insert", "pop", "remove", "clear", "sort", "reverse", "rotate")
READING = ("index", "count", "copy")
Parents = Mapping[ast.AST, ast.AST]


def parents_in(function: ast.FunctionDef) -> Parents:
    return {child: node for node in syntax_nodes(function) for child in syntax_children(node)}


def can_be_filled_again(lists: Lists, found: Found, parents: Parents) -> bool:
    """Whether the list of a name that gets several may be one that is filled again."""
    names = names_with(lists, found.name)
    return (
        is_made_before(found, parents, lists.function)
        and all(is_seen_at_once(lists, node, parents) for node in loads_of(lists.function, found.name))
        and is_left(lists, names, parents)
        and (
            all(is_seen_at_once(lists, node, parents) for name in names for node in loads_of(lists.function, name))
            or is_left_as_kept(lists, names)
        )
    )


def loads_of(function: ast.FunctionDef, name: str) -> Iterator[ast.Name]:
    for node in syntax_nodes(function):
        if isinstance(node, ast.Name) and node.id == name and isinstance(node.ctx, ast.Load):
            yield node


def mentions(node: ast.AST, name: str) -> bool:
    return any(isinstance(n, ast.Name) and n.id == name for n in syntax_nodes(node))


def block_around(stmt: ast.AST, parents: Parents) -> list[ast.stmt]:
    """The block that `stmt` stands in."""
    blocks = (getattr(parents[stmt], field, None) for field in ("body", "orelse", "finalbody"))
    return next(b for b in blocks if isinstance(b, list) and stmt in b)


def is_made_before(found: Found, parents: Parents, function: ast.FunctionDef) -> bool:
    """Whether the first list is there wherever anybody asks for one: all that mentions the name is in the block where
    it is made, after that."""
    first = min(found.bindings, key=lambda b: (b.stmt.lineno, b.stmt.col_offset)).stmt
    block = block_around(first, parents)
    later = block[block.index(first) :]
    inside = sum(mentions_number(stmt, found.name) for stmt in later)
    return inside == mentions_number(function, found.name)


def mentions_number(node: ast.AST, name: str) -> int:
    return sum(isinstance(n, ast.Name) and n.id == name for n in syntax_nodes(node))


def is_seen_at_once(lists: Lists, node: ast.Name, parents: Parents) -> bool:
    """Whether nobody keeps the list that `node` mentions, but other names for lists, which get copies."""
    match parent := parents[node]:
        case ast.Subscript() | ast.Return() | ast.If() | ast.While() | ast.IfExp(test=ast.Name()) | ast.For():
            return getattr(parent, "slice", None) is not node
        case ast.comprehension() | ast.UnaryOp(op=ast.Not()) | ast.Compare():
            return True
        case ast.BoolOp():
            return isinstance(parents[parent], ast.If | ast.While | ast.BoolOp | ast.UnaryOp)
        case ast.BinOp():
            return lists.makes(parent)
        case ast.Attribute(attr=attr):
            return attr in CHANGING or attr in READING
        case ast.Assign(targets=[ast.Name(id=name)]) | ast.AnnAssign(target=ast.Name(id=name)):
            return name in lists.found
        case ast.Call(func=func):
            value = lists.value_of(func)
            return changes_nothing(value, parent) or value in HEAPS or only_looks(value)
        case ast.FormattedValue():
            return True
        case _:
            return False


def loses_bounds(lists: Lists) -> bool:
    """Whether something has a queue with `maxlen`, or is made of one that Python makes with as much room, or not at
    all, where that would be a list."""
    parents = parents_in(lists.function)
    queues = [name for name, found in lists.found.items() if found.is_bounded]
    return any(may_be_list(lists, node, parents) for name in queues for node in loads_of(lists.function, name))


def may_be_list(lists: Lists, node: ast.Name, parents: Parents) -> bool:
    match parents[node]:
        case ast.Subscript(value=own, slice=ast.Slice()):
            return own is node
        case ast.Attribute(attr="copy") | ast.Return() | ast.Tuple() | ast.List() | ast.Dict():
            return True
        case ast.BinOp() as made:
            return lists.makes(made)
        case _:
            return False


def only_looks(value: Any) -> bool:
    """Whether a function asks what it is given for numbers in it, and does nothing else with any of that."""
    if not isinstance(value, FunctionType) or python_function(value) is None:
        return False
    try:
        source = source_of(value)
    except UnsupportedLoopError:
        return False
    own = {a.arg for a in syntax_nodes(source.node.args) if isinstance(a, ast.arg)}
    parents, outer = parents_in(source.node), source.outer
    uses = [n for n in syntax_nodes(source.node) if isinstance(n, ast.Name) and n.id in own]
    return all(is_look(n, parents, outer) for n in uses) and not any(
        isinstance(n, ast.FunctionDef | ast.Lambda) and n is not source.node for n in syntax_nodes(source.node)
    )


def is_look(node: ast.Name, parents: Parents, outer: Mapping[str, Any]) -> bool:
    """Whether a parameter is asked for one of its elements there, gone through, or counted."""
    if not isinstance(node.ctx, ast.Load):
        return False
    match parents[node]:
        case ast.Subscript(value=own, slice=place, ctx=ast.Load()):
            return own is not node or not isinstance(place, ast.Slice)
        case ast.For(iter=over) | ast.comprehension(iter=over):
            return over is node
        case ast.BinOp() | ast.Compare() | ast.UnaryOp():
            return True
        case ast.Call(func=func) as call:
            return changes_nothing(outer.get(dotted_name(func) or "", MISSING), call)
        case _:
            return False


def names_with(lists: Lists, name: str) -> set[str]:
    """`name`, and the names that get lists of each other by statements, also by way of others."""
    names = {name}
    pairs = [{other, given} for _, other, given in names_given(lists)]
    while more := {n for pair in pairs if pair & names for n in pair} - names:
        names |= more
    return names


def holders(lists: Lists, names: set[str]) -> set[str]:
    """`names` of lists of numbers, and those that may stand for one of these, or for something that has one in it."""
    plain = {n for name in names for n in names_with(lists, name)}
    found = plain
    while more := {n for node in syntax_nodes(lists.function) for n in given_to(lists, node, found, plain)} - found:
        found = found | more
    return found


def given_to(lists: Lists, node: ast.AST, names: set[str], plain: set[str]) -> Iterator[str]:
    """To which names `node` may give one of `names`, as it is or in something else; items of `plain` ones are none."""
    match node:
        case ast.Assign(targets=targets, value=value) if may_have(lists, value, names, plain):
            yield from (n for target in targets for n in names_in(target))
        case ast.AnnAssign(target=target, value=ast.expr() as value) | ast.NamedExpr(target=target, value=value):
            yield from names_in(target) if may_have(lists, value, names, plain) else ()
        case ast.For(target=target, iter=over) | ast.comprehension(target=target, iter=over):
            is_plain = isinstance(over, ast.Name) and over.id in plain
            yield from names_in(target) if not is_plain and may_have(lists, over, names, plain) else ()
        case ast.Call(func=ast.Attribute(value=own), args=args) if any(may_have(lists, a, names, plain) for a in args):
            yield from names_in(own)
        case _:
            pass


def may_have(lists: Lists, node: ast.AST, names: set[str], plain: set[str]) -> bool:
    """Whether `node` may be the list of one of `names`, or have one in it."""
    match node:
        case ast.Name(id=name):
            return name in names
        case ast.Subscript(value=ast.Name(id=name)) | ast.Attribute(value=ast.Name(id=name)) if name in plain:
            return False
        case ast.Call(func=func) if changes_nothing(value := lists.value_of(func), node) or value in HEAPS:
            return False
        case ast.Subscript(value=own) | ast.ListComp(elt=own) | ast.GeneratorExp(elt=own):
            parts = [own]
        case ast.IfExp(body=body, orelse=orelse):
            parts = [body, orelse]
        case ast.BinOp(left=left, right=right):
            parts = [part for part in (left, right) if not isinstance(part, ast.Name)]
        case _:
            parts = list(syntax_children(node))
    return any(may_have(lists, part, names, plain) for part in parts)


def names_given(lists: Lists) -> Iterator[tuple[ast.stmt, str, str]]:
    """Statements that give the list of a name to another one, with this and the name that had it."""
    for other, found in lists.found.items():
        for binding in found.bindings:
            if isinstance(binding.value, ast.Name):
                yield binding.stmt, other, binding.value.id


def is_left(lists: Lists, names: set[str], parents: Parents) -> bool:
    """Whether nobody can tell copies from the lists that `names` give each other: the name that had one gets another
    one before anybody reads it, or no name that may have it then changes it but by getting another one."""
    given = [(stmt, other, name) for stmt, other, name in names_given(lists) if other in names]
    return all(
        is_dead_after(stmt, name, parents) or not is_changed(lists, names_after(lists, {other, name}))
        for stmt, other, name in given
    )


def is_changed(lists: Lists, names: set[str]) -> bool:
    return any(changes_one(lists, node, names) for node in syntax_nodes(lists.function))


def names_after(lists: Lists, names: set[str]) -> set[str]:
    """`names`, and those that get their lists, also by way of others."""
    pairs = [(other, given) for _, other, given in names_given(lists)]
    while more := {other for other, given in pairs if given in names} - names:
        names = names | more
    return names


def is_left_as_kept(lists: Lists, names: set[str]) -> bool:
    """Whether nobody can tell copies from the lists of `names` although something keeps one of these: they change as
    they are made alone, under the names that they are made for, and nothing changes through others."""
    made = {n for n in names if is_made_once(lists.found.get(n))}
    rows = (names | names_of_parts(lists.function)) - made
    return not any(changes_one(lists, n, rows) or changes_part(lists, n) for n in syntax_nodes(lists.function))


def is_made_once(found: Found | None) -> bool:
    return found is not None and len(found.bindings) == 1 and not isinstance(found.bindings[0].value, ast.Name)


def names_of_parts(function: ast.FunctionDef) -> set[str]:
    """Names that may stand for a list that something else has, too."""
    found: set[str] = set()
    for node in syntax_nodes(function):
        match node:
            case ast.For(target=target) | ast.comprehension(target=target) | ast.NamedExpr(target=target):
                found |= names_in(target)
            case ast.Assign(targets=targets, value=ast.Name() | ast.Subscript() | ast.Attribute() | ast.IfExp()):
                found |= {name for t in targets for name in names_in(t)}
            case ast.Assign(targets=[_, _, *_] | [ast.Tuple() | ast.List()] as targets):
                found |= {name for t in targets for name in names_in(t)}
            case _:
                pass
    return found


def names_in(node: ast.AST) -> set[str]:
    return {n.id for n in syntax_nodes(node) if isinstance(n, ast.Name)}


def changes_part(lists: Lists, node: ast.AST) -> bool:
    """Whether `node` may change a list that stands in another one, or is given to a function."""
    match node:
        case ast.Subscript(value=own, ctx=ast.Store() | ast.Del()):
            return not isinstance(own, ast.Name)
        case ast.AugAssign(target=ast.Subscript(value=own)):
            return not isinstance(own, ast.Name)
        case ast.Call(func=ast.Attribute(value=own, attr=attr)) if attr in (*CHANGING, *READING):
            return attr in CHANGING and not isinstance(own, ast.Name)
        case ast.Call(func=func):
            value = lists.value_of(func)
            return not (changes_nothing(value, node) or value in HEAPS or only_looks(value))
        case _:
            return False


def changes_one(lists: Lists, node: ast.AST, names: set[str]) -> bool:
    """Whether `node` changes the list of one of `names` in place."""
    match node:
        case ast.Attribute(value=ast.Name(id=name), attr=attr):
            return name in names and attr in CHANGING
        case ast.Subscript(value=ast.Name(id=name), ctx=ast.Store() | ast.Del()):
            return name in names
        case ast.AugAssign(target=ast.Name(id=name)):
            return name in names
        case ast.Call(func=func, args=args) if lists.value_of(func) in HEAPS:
            return any(isinstance(a, ast.Name) and a.id in names for a in args)
        case _:
            return False


def is_dead_after(stmt: ast.stmt, name: str, parents: Parents) -> bool:
    """Whether `name` gets another list, or nobody mentions it, wherever the program goes on after `stmt`."""
    block: list[ast.stmt] = block_around(stmt, parents)
    node: ast.AST = stmt
    settled = gets_another(block[block.index(stmt) + 1 :], name)
    while settled is None:
        node = parents[node]
        if isinstance(node, ast.FunctionDef) or not isinstance(node, ast.stmt):
            return isinstance(node, ast.FunctionDef)
        if isinstance(node, ast.For | ast.While):
            head = node.test if isinstance(node, ast.While) else ast.Pass()
            parts = (head, *node.orelse)
            if any(mentions(part, name) for part in parts) or gets_another(node.body, name) is False:
                return False
        block = block_around(node, parents)
        settled = gets_another(block[block.index(node) + 1 :], name)
    return settled


def gets_another(stmts: Sequence[ast.stmt], name: str) -> bool | None:
    """Whether `name` gets another list in `stmts` before they mention it otherwise; None if neither is certain, as
    where they may leave the loop before."""
    may_leave = False
    for stmt in stmts:
        settled = is_bound_first(stmt, name) if mentions(stmt, name) else None
        if settled is not None:
            return None if settled and may_leave else settled
        may_leave |= any(isinstance(n, ast.Break | ast.Continue) for n in syntax_nodes(stmt))
    return None


def is_bound_first(stmt: ast.stmt, name: str) -> bool | None:
    match stmt:
        case ast.Assign(targets=[ast.Name(id=own)], value=value):
            return own == name and not mentions(value, name)
        case ast.If(test=test, body=body, orelse=orelse) if not mentions(test, name):
            ways = [gets_another(body, name), gets_another(orelse, name)]
            return False if False in ways else True if None not in ways else None
        case ast.While(test=head, body=body, orelse=[]) if not mentions(head, name):
            return False if gets_another(body, name) is False else None
        case ast.For(target=target, iter=head, body=body, orelse=[]) if not (
            mentions(head, name) or mentions(target, name)
        ):
            return False if gets_another(body, name) is False else None
        case _:
            return False


class Heaps:
    """The functions of `heapq` that change a list."""

    def __contains__(self, value: object) -> bool:
        return value is not MISSING and getattr(value, "__module__", "") in ("_heapq", "heapq")


HEAPS = Heaps()
