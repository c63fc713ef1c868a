"""Liveness of names in syntax trees: which may be read before they are bound again (Aho et al., Compilers, 9.2.5).

An array whose name is bound again before anybody reads it is no longer needed: its memory can serve again, and after
a branch or a loop nobody has to know which array it was.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator, Mapping
from dataclasses import field

from loopdiff.immutable import immutable
from loopdiff.source.nodes import syntax_children, syntax_nodes

Names = frozenset[str]
NONE: Names = frozenset()


@immutable
class LiveNames:
    """`own` names of a function, and those that may be read, before they are bound again, from the `heads` of loops on,
    and `after` branches, and statements by which lists get `items`."""

    own: Names
    heads: Mapping[ast.stmt, Names]
    after: Mapping[ast.stmt, Names]
    items: Mapping[ast.expr, Names]

    def dead_at_head(self, loop: ast.For | ast.While) -> Names:
        """Names that an iteration of `loop`, and what comes after the loop, binds again before it reads them; nothing
        is known of loops that are not in the program text."""
        return self.own - self.heads[loop] if loop in self.heads else NONE

    def dead_after(self, branch: ast.If) -> Names:
        """Names that nobody reads after `branch` before they are bound again."""
        return self.own - self.after[branch] if branch in self.after else NONE

    def is_last(self, item: ast.Name) -> bool:
        """Whether nobody reads the name `item` after it was put into a list, before it is bound again."""
        return item in self.items and item.id in self.own - self.items[item]


def find_live_names(function: ast.FunctionDef, assigned: Names) -> LiveNames:
    """Of the names that `function` assigns; those that functions inside it mention are always live."""
    held = {name for f in inner_functions(function) for name in all_names(f)}
    flow = Flow()
    flow.block(function.body, NONE, Jumps(NONE, NONE))
    return LiveNames(assigned - held, flow.heads, flow.after, flow.items)


def open_at_entry(function: ast.FunctionDef) -> Names:
    """Names that `function` may read before it binds them, but for those that functions inside it mention."""
    held = {name for f in inner_functions(function) for name in all_names(f)}
    return Flow().block(function.body, NONE, Jumps(NONE, NONE)) - held


Position = tuple[int, int, str]
REPEATED = (ast.ListComp, ast.SetComp, ast.DictComp, ast.GeneratorExp, ast.Lambda)


def find_last_reads(function: ast.FunctionDef, own: Names) -> frozenset[Position]:
    """Where `function` reads names, of its `own`, for the last time before they are bound again: the line, the column
    and the name; and where loops bind names that nobody reads after them. Functions inside may read the names that they
    mention at any time."""
    names = own - {name for f in inner_functions(function) for name in all_names(f)}
    flow = Flow()
    flow.block(function.body, NONE, Jumps(NONE, NONE))
    loads = [position(n) for n in syntax_nodes(function) if isinstance(n, ast.Name) and isinstance(n.ctx, ast.Load)]
    found = [p for stmt, live in flow.ends.items() for p in last_in(stmt, live) if p[2] in names]
    loops = [(stmt.target, live) for stmt, live in flow.ends.items() if isinstance(stmt, ast.For)]
    targets = [(n, live) for target, live in loops for n in syntax_nodes(target) if isinstance(n, ast.Name)]
    idle = {position(n) for n, live in targets if n.id in names - live}
    return frozenset(p for p in found if loads.count(p) == 1) | idle


def last_in(stmt: ast.stmt, live: Names) -> Iterator[Position]:
    """What a statement without others in it reads once, and nobody while these names are `live` after it."""
    if not isinstance(stmt, ast.Assign | ast.AnnAssign | ast.AugAssign | ast.Expr | ast.Return):
        return
    targets = stmt.targets if isinstance(stmt, ast.Assign) else []
    later = NONE if isinstance(stmt, ast.Return) else live - {n for t in targets for n in bound_names(t)}
    read = [n for n in syntax_nodes(stmt) if isinstance(n, ast.Name) and isinstance(n.ctx, ast.Load)]
    names = [n.id for n in read]
    again = {id(n) for part in syntax_nodes(stmt) if isinstance(part, REPEATED) for n in syntax_nodes(part)}
    for node in read:
        if id(node) not in again and node.id not in later and names.count(node.id) == 1:
            yield position(node)


def position(node: ast.Name) -> Position:
    return node.lineno, node.col_offset, node.id


@immutable
class Jumps:
    """Names that are live where `break` and `continue` lead."""

    leave: Names
    skip: Names


@immutable
class Flow:
    """Goes through statements from their end. What it finds, for loops and branches, and at the `ends` of statements,
    only grows while the loops around them are gone through until nothing changes."""

    heads: dict[ast.stmt, Names] = field(default_factory=dict)
    after: dict[ast.stmt, Names] = field(default_factory=dict)
    items: dict[ast.expr, Names] = field(default_factory=dict)
    ends: dict[ast.stmt, Names] = field(default_factory=dict)

    def block(self, body: list[ast.stmt], live: Names, jumps: Jumps) -> Names:
        """The names that are live before `body`, when those are `live` after it."""
        for stmt in reversed(body):
            live = self.statement(stmt, live, jumps)
        return live

    def statement(self, stmt: ast.stmt, live: Names, jumps: Jumps) -> Names:
        self.ends[stmt] = self.ends.get(stmt, NONE) | live
        match stmt:
            case (
                ast.Expr(value=ast.Call(func=ast.Attribute(attr="append"), args=[ast.Name() as item]))
                | ast.Assign(targets=[ast.Subscript()], value=ast.Name() as item)
            ):
                self.items[item] = self.items.get(item, NONE) | live
            case _:
                pass
        match stmt:
            case ast.Assign(targets=targets):
                bound = {name for target in targets for name in bound_names(target)}
                return (live - bound) | names_read(stmt)
            case ast.AnnAssign(target=ast.Name(id=name), value=ast.expr() as value):
                return (live - {name}) | names_read(value)
            case ast.AugAssign(target=target, value=value):
                return live | names_read(value) | all_names(target)
            case ast.For() | ast.While():
                return self.loop(stmt, live, jumps)
            case ast.If(test=test, body=body, orelse=orelse):
                self.after[stmt] = self.after.get(stmt, NONE) | live
                return names_read(test) | self.block(body, live, jumps) | self.block(orelse, live, jumps)
            case ast.Return():
                return names_read(stmt)
            case ast.Break():
                return jumps.leave
            case ast.Continue():
                return jumps.skip
            case ast.Expr() | ast.Assert() | ast.Pass():
                return live | names_read(stmt)
            case _:  # whatever it binds it may not, and wherever it jumps
                return live | jumps.leave | jumps.skip | all_names(stmt)

    def loop(self, stmt: ast.For | ast.While, live: Names, jumps: Jumps) -> Names:
        done = self.block(stmt.orelse, live, jumps)
        head = self.heads.get(stmt, NONE) | done
        while True:
            inside = self.block(stmt.body, head, Jumps(live, head))
            if isinstance(stmt, ast.For):
                found = head | (inside - set(bound_names(stmt.target))) | names_read(stmt.target)
            else:
                found = head | inside | names_read(stmt.test)
            if found == head:
                break
            head = found
        self.heads[stmt] = head
        return head | names_read(stmt.iter) if isinstance(stmt, ast.For) else head


def bound_names(target: ast.expr) -> Iterator[str]:
    """The names that a target binds; an element that is stored binds none."""
    match target:
        case ast.Name(id=name):
            yield name
        case ast.Tuple(elts=elts) | ast.List(elts=elts):
            for part in elts:
                yield from bound_names(part)
        case _:
            pass


def names_read(node: ast.AST) -> Names:
    """The names that `node` reads, but for those that comprehensions in it have for themselves."""
    match node:
        case ast.Name(id=name):
            return frozenset({name}) if isinstance(node.ctx, ast.Load) else NONE
        case ast.ListComp() | ast.SetComp() | ast.DictComp() | ast.GeneratorExp():
            own = {name for part in node.generators for name in bound_names(part.target)}
            inside = NONE.union(*map(names_read, syntax_children(node))) - own
            return inside | names_read(node.generators[0].iter)
        case _:
            return NONE.union(*map(names_read, syntax_children(node)))


def all_names(node: ast.AST) -> Names:
    return frozenset(n.id for n in syntax_nodes(node) if isinstance(n, ast.Name))


def inner_functions(function: ast.FunctionDef) -> Iterator[ast.AST]:
    inner = ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda | ast.ClassDef
    return (n for n in syntax_nodes(function) if isinstance(n, inner) and n is not function)
