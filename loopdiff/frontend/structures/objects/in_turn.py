"""Statements with calls that change objects, as several, in the order in which Python evaluates: what comes before such
a call gets a name ahead of it, and what may not run at all stands under the condition on which it does."""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from typing import Any

from loopdiff.frontend.structures.calls import STEADY, leading
from loopdiff.frontend.structures.effects import OutOfTurn
from loopdiff.frontend.structures.objects.changing import changes_objects
from loopdiff.frontend.structures.records import CHANGING_METHODS
from loopdiff.frontend.structures.rewriting import base_of, copied
from loopdiff.frontend.structures.scope import SHARED, Scope, Torn, name_read, name_stored, stored_names
from loopdiff.frontend.structures.trees import Branch
from loopdiff.source.functions import MISSING
from loopdiff.source.nodes import FIELDS, copied_tree, in_place_of, syntax_children, syntax_nodes

LINE = "give what it gives a name on a line before"
Writing = Callable[[Scope, ast.stmt], bool]
Block = Callable[[Scope, Sequence[ast.stmt]], bool]
CONSUMERS: tuple[object, ...] = (sum, max, min, list, tuple, sorted)


def written_in_turn(scope: Scope, node: ast.stmt, write: Writing, block: Block) -> bool:
    """Write `node`, or the statements that it is where it changes objects; whether what follows is reached."""
    flow, said, count = scope.flow(), scope.said(), len(scope.out)
    try:
        parts = in_turn(scope, node)
        if parts == [node]:
            return one_statement(scope, node, write, may_turn=True)
    except OutOfTurn as found:
        late = found.node
        scope.go_on(flow)
        scope.take_back(said)
        del scope.out[count:]
    else:
        return block(scope, parts)
    with suppress(OutOfTurn):
        parts = in_turn(scope, node, late)
        if parts != [node]:
            return block(scope, parts)
    return with_reason(scope, node, write, late)


def one_statement(scope: Scope, node: ast.stmt, write: Writing, may_turn: bool = False) -> bool:
    scope.ahead.clear()
    scope.leading, scope.may_turn = first_in(scope, node), may_turn
    try:
        return write(scope, node)
    finally:
        scope.may_turn = False


def with_reason(scope: Scope, node: ast.stmt, write: Writing, late: ast.AST) -> bool:
    """Write a statement in which the call `late` stands behind something; that is why it changes what it may not."""
    said = scope.said()
    is_passed = one_statement(scope, node, write)
    because = [d for d in scope.diagnostics[said[0] :] if d.message.endswith(SHARED)]
    if because:
        scope.diagnostics = [d for d in scope.diagnostics if d not in because]
        scope.reject(f"`{ast.unparse(late)}` changes an object inside a line", late, LINE)
    return is_passed


def in_turn(scope: Scope, node: ast.stmt, late: ast.AST | None = None) -> list[ast.stmt]:
    """`node` as statements each of which evaluates a call that changes objects, or `late`, before it reads anything.

    Raises `OutOfTurn` if there are none.
    """
    found = [n for part in evaluated(node) for n in calls_in(part)]
    first, is_loop = first_in(scope, node) - chosen_in(node), isinstance(node, ast.While)
    said = scope.said()
    with scope.in_place():
        own = None if isinstance(node, ast.AugAssign) else getattr(node, "value", None)
        alone = {id(call) for call in found if call is not own and changes_items(scope, call)}
        if all(id(call) in first for call in found) and not alone and not (found and is_loop):
            return [node]
        changing = {id(call) for call in found if call is late or changes_objects(scope, call)}
    scope.take_back(said)
    if (changing <= first and not alone and not is_loop) or not changing | alone:
        return [node]
    turns = Turns(scope, changing | alone, alone)
    made = turns.statements(node)
    for one in made:
        calls = [n for part in evaluated(one) for n in calls_in(part) if id(n) in turns.changing - first_in(scope, one)]
        if not all(id(call) in turns.alone and call is getattr(one, "value", None) for call in calls):
            raise OutOfTurn(calls[0])
    return made


def chosen_in(node: ast.stmt) -> frozenset[int]:
    """Calls of a statement which choose what else it evaluates."""
    choices = (n for part in evaluated(node) for n in syntax_nodes(part) if isinstance(n, ast.IfExp | ast.BoolOp))
    return frozenset(id(call) for choice in choices for call in calls_in(choice))


def first_in(scope: Scope, node: ast.stmt) -> frozenset[int]:
    """Which parts of a statement it evaluates before it reads anything."""
    first = next((part for part in evaluated(node) if not isinstance(part, STEADY)), None)
    is_read = isinstance(node, ast.AugAssign) and not is_single(scope, node.target)
    return frozenset() if is_read else frozenset(leading(first))


CHANGING = frozenset(name for names in CHANGING_METHODS.values() for name in names)


def changes_items(scope: Scope, node: ast.Call) -> bool:
    """Whether the call is of a method of lists and dictionaries that changes them, which is a statement of its own."""
    if not isinstance(node.func, ast.Attribute) or not is_place(node.func) or node.func.attr not in CHANGING:
        return False
    tree = base_of(scope, node.func.value)
    return isinstance(tree, Branch) and node.func.attr in CHANGING_METHODS.get(tree.kind, ())


def is_place(node: ast.expr) -> bool:
    """Whether `node` is a name, a field of such, or what stands there under a constant."""
    match node:
        case ast.Attribute(value=base) | ast.Subscript(value=base, slice=ast.Constant()):
            return is_place(base)
        case _:
            return isinstance(node, ast.Name)


def is_single(scope: Scope, target: ast.expr) -> bool:
    """Whether `target` is a name of one value, which no call gives another."""
    return isinstance(target, ast.Name) and not isinstance(scope.held.get(target.id), Branch | Torn)


def evaluated(node: ast.stmt) -> list[ast.expr]:
    """What a statement evaluates itself, its value first."""
    match node:
        case ast.Assign(targets=targets, value=value):
            return [value, *targets]
        case ast.AnnAssign(target=target, value=ast.expr() as value) | ast.AugAssign(target=target, value=value):
            return [value, target]
        case ast.Return(value=ast.expr() as value) | ast.Expr(value=value):
            return [value]
        case ast.If(test=test) | ast.While(test=test) | ast.Assert(test=test):
            return [test]
        case ast.For(iter=over):
            return [over]
        case _:
            return []


def calls_in(node: ast.AST) -> Iterator[ast.Call]:
    """Calls in an expression, but for those of functions inside."""
    if not isinstance(node, ast.Lambda):
        if isinstance(node, ast.Call):
            yield node
        for part in syntax_children(node):
            yield from calls_in(part)


class Turns:
    """Writes one statement, in which the calls `changing` change objects, as several; those `alone` are statements of
    their own."""

    def __init__(self, scope: Scope, changing: set[int], alone: set[int]) -> None:
        self.scope, self.changing, self.alone = scope, changing, alone
        self.ahead: list[ast.stmt] = []

    def has_call(self, node: ast.AST | None) -> bool:
        return node is not None and any(id(call) in self.changing for call in calls_in(node))

    def failure(self, node: ast.AST) -> OutOfTurn:
        """What is raised because of a part of the statement with such a call."""
        parts = [node] if isinstance(node, ast.expr) else evaluated(node)  # type: ignore[arg-type]
        calls = [call for part in parts for call in calls_in(part) if id(call) in self.changing]
        return OutOfTurn(calls[0] if calls else node)

    # -- statements ------------------------------------------------------------------------------------------
    def statements(self, node: ast.stmt) -> list[ast.stmt]:
        match node:
            case ast.While(test=test, orelse=[]):
                return [self.loop(node, self.settled(test))]
            case ast.AugAssign():
                last = self.augmented(node)
            case ast.Assign(targets=targets, value=value):
                made = self.turns([value, *targets])
                last = copied(node, value=made[0], targets=made[1:])
            case ast.AnnAssign(target=target, value=ast.expr() as value):
                made = self.turns([value, target])
                last = copied(node, value=made[0], target=made[1])
            case ast.For(iter=over):
                last = copied(node, iter=self.settled(over))
            case ast.If(test=test):
                last = copied(node, test=self.settled(test))
            case ast.Assert(test=test):
                last = copied(node, test=self.held(self.settled(test)))
            case ast.Return(value=ast.expr() as value) | ast.Expr(value=value):
                last = copied(node, value=self.settled(value))
            case _:
                raise self.failure(node)
        return [*self.ahead, last]

    def loop(self, node: ast.While, test: ast.expr) -> ast.stmt:
        """A loop whose test is a part of its body."""
        end = ast.copy_location(ast.If(ast.UnaryOp(ast.Not(), test), [ast.Break()], []), test)
        always = ast.copy_location(ast.Constant(True), test)
        return copied(node, test=always, body=[*self.ahead, in_place_of(end, test), *node.body])

    def augmented(self, node: ast.AugAssign) -> ast.stmt:
        """`x[i] += e`: Python looks up what is in the place, then computes the value, then adds, then stores."""
        if is_single(self.scope, node.target):
            return copied(node, value=self.settled(node.value))
        match node.target:
            case ast.Name() as target:
                return copied(node, value=self.held(self.settled(node.value)))
            case ast.Attribute(value=base) as target if self.stays(base):
                pass
            case ast.Subscript(value=array, slice=index) if not isinstance(base_of(self.scope, array), Branch):
                made = self.held(self.settled(array)), self.held(self.settled(index))
                target = copied(node.target, value=made[0], slice=made[1])
            case ast.Subscript(value=base, slice=index) if self.stays(base):
                target = copied(node.target, slice=self.held(self.settled(index)))
            case _:
                raise self.failure(node)
        before = self.named("before", copied(target, ctx=ast.Load()))
        value = self.held(self.settled(node.value))
        self.ahead.append(copied(node, target=name_stored(before.id, target), value=value))
        return ast.copy_location(ast.Assign([target], before), node)

    def stays(self, base: ast.expr) -> bool:
        """Whether `base` stands for the same after the calls, of which only those to methods of lists and dictionaries
        are known to give no field another value."""
        return isinstance(base, ast.Name) or (is_place(base) and self.changing == self.alone)

    # -- expressions -----------------------------------------------------------------------------------------
    def settled(self, node: Any) -> Any:
        """`node`, which evaluates such a call before it reads anything, if it has one."""
        if not self.has_call(node):
            return node
        match node:
            case ast.IfExp(test=test, body=body, orelse=orelse) if self.has_call(body) or self.has_call(orelse):
                return self.either(self.held(self.settled(test)), [body], [orelse], node)
            case ast.IfExp(test=test):
                return copied(node, test=self.held(self.settled(test)))
            case ast.BoolOp(values=[first, *rest]) if not any(map(self.has_call, rest)):
                return copied(node, values=[self.held(self.settled(first)), *rest])
            case ast.BoolOp(op=op, values=[first, *rest]):
                name = self.named("value", self.settled(first))
                later = rest[0] if len(rest) == 1 else copied(node, values=rest)
                test = name if isinstance(op, ast.And) else ast.copy_location(ast.UnaryOp(ast.Not(), name), first)
                return self.either(test, [later], [], node, name.id)
            case ast.Compare(left=left, comparators=[first]):
                made = self.turns([left, first])
                return copied(node, left=made[0], comparators=[made[1]])
            case ast.ListComp():
                return self.listed(node)
            case ast.Call():
                made = self.called(node)
                return self.named("taken", made) if id(node) in self.alone else made
            case ast.Dict(keys=keys, values=values) if all(isinstance(k, ast.Constant) for k in keys):
                return copied(node, values=self.turns(values))
            case ast.BinOp() | ast.UnaryOp() | ast.Subscript() | ast.Slice() | ast.Attribute() | ast.Starred():
                return self.with_turns(node)
            case ast.keyword() | ast.Tuple() | ast.List():
                return self.with_turns(node)
            case _:
                raise self.failure(node)

    def with_turns(self, node: Any) -> Any:
        parts = syntax_children(node)
        made = dict(zip(map(id, parts), self.turns(parts), strict=True))

        def part(value: Any) -> Any:
            return [made[id(v)] for v in value] if isinstance(value, list) else made.get(id(value), value)

        return copied(node, **{name: part(value) for name, value in ast.iter_fields(node)})

    def turns(self, parts: Sequence[Any]) -> list[Any]:
        """`parts`, which are evaluated one after the other: those before the last one with such a call are held."""
        last = max((k for k, part in enumerate(parts) if self.has_call(part)), default=-1)
        return [self.held(self.settled(p)) if k < last else self.settled(p) for k, p in enumerate(parts)]

    def called(self, node: ast.Call) -> ast.Call:
        args, inside = list(node.args), any(map(self.has_call, (*node.args, *node.keywords)))
        function = self.function(node.func, inside)
        match args:
            case [ast.GeneratorExp(elt=elt, generators=generators) as given] if self.consumes(function):
                args = [ast.copy_location(ast.ListComp(elt, generators), given)]
            case _:
                pass
        made = self.turns([*args, *node.keywords])
        call = copied(node, func=function, args=made[: len(args)], keywords=made[len(args) :])
        for same in (self.changing, self.alone):
            same |= {id(call)} if id(node) in same else set()
        return call

    def function(self, node: ast.expr, is_before: bool) -> ast.expr:
        """What is called: of a method, the object is evaluated ahead of what it is given."""
        if not isinstance(node, ast.Attribute) or self.scope.value_outside(node) is not MISSING:
            return node
        base = self.settled(node.value)
        if is_before and not isinstance(base, STEADY):
            raise OutOfTurn(node)  # held, the object would have two names
        return copied(node, value=base)

    def consumes(self, function: ast.expr) -> bool:
        """Whether a function takes all that a generator gives, at once."""
        value = self.scope.value_outside(function)
        return any(value is f for f in CONSUMERS)

    def held(self, node: Any) -> Any:
        """`node` as it is now."""
        match node:
            case ast.Slice() | ast.Starred() | ast.keyword() | ast.Tuple(ctx=ast.Load()):
                fields = ((name, getattr(node, name)) for name in FIELDS[type(node)])
                return copied(node, **{name: self.held_part(value) for name, value in fields})
            case ast.Name() | ast.Constant() | ast.Lambda():
                return node
            case ast.expr(ctx=ast.Store()):
                raise OutOfTurn(node)
            case _ if self.scope.value_outside(node) is not MISSING:
                return node
            case _:
                return self.named("held", node)

    def held_part(self, value: Any) -> Any:
        return [self.held(v) for v in value] if isinstance(value, list) else None if value is None else self.held(value)

    def named(self, stem: str, value: ast.expr) -> ast.Name:
        """`value`, computed ahead, by a name."""
        target = name_stored(self.scope.names.fresh(stem), value)
        self.ahead.append(ast.copy_location(ast.Assign([target], value), value))
        return self.once(target.id, value)

    def once(self, name: str, node: ast.expr) -> ast.Name:
        """`name`, which nobody reads again: what it holds is whose it becomes."""
        self.scope.last |= {(node.lineno, node.col_offset, name)}
        return name_read(name, node)

    def either(
        self, test: ast.expr, body: list[ast.expr], orelse: list[ast.expr], node: ast.expr, name: str | None = None
    ) -> ast.expr:
        """One of two values, by a name, or what that has."""
        own = self.scope.names.fresh("value") if name is None else name

        def stored(values: list[ast.expr]) -> list[ast.stmt]:
            return [ast.copy_location(ast.Assign([name_stored(own, v)], v), v) for v in values]

        self.ahead.append(ast.copy_location(ast.If(test, stored(body), stored(orelse)), node))
        return self.once(own, node)

    def listed(self, node: ast.ListComp) -> ast.expr:
        """A list of what loops find."""
        own = self.named("items", ast.copy_location(ast.List([], ast.Load()), node))
        names = {name: self.scope.names.fresh(name) for name in stored_names([g.target for g in node.generators])}
        if any(isinstance(n, ast.Lambda) for n in syntax_nodes(node)):
            raise self.failure(node)
        renamed = Renamed(names)
        added = ast.Call(ast.Attribute(own, "append", ast.Load()), [renamed.visit(copied_tree(node.elt))], [])
        body: ast.stmt = in_place_of(ast.copy_location(ast.Expr(added), node), node)
        for generator in reversed(node.generators):
            over, is_first = copied_tree(generator.iter), generator is node.generators[0]
            for test in reversed(generator.ifs):
                body = ast.copy_location(ast.If(renamed.visit(copied_tree(test)), [body], []), test)
            target = renamed.visit(copied_tree(generator.target))
            over = self.settled(over) if is_first else renamed.visit(over)
            body = ast.copy_location(ast.For(target, over, [body], []), node)
        self.ahead.append(body)
        return own


class Renamed(ast.NodeTransformer):
    """Gives names others."""

    def __init__(self, names: Mapping[str, str]) -> None:
        self.names = names

    def visit_Name(self, node: ast.Name) -> ast.Name:
        return copied(node, id=self.names.get(node.id, node.id))
