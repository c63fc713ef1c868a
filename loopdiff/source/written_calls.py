"""Calls of functions that change the dictionaries and lists that they are given, or return a dictionary, written out
where they stand: a dictionary is known where it is made, and so is a list that grows."""

from __future__ import annotations

import ast
from collections import Counter
from collections.abc import Collection, Iterator, Mapping, Sequence
from types import FunctionType
from typing import Any

from loopdiff.errors import UnsupportedLoopError
from loopdiff.immutable import immutable, replace
from loopdiff.rules.definitions import rule_for
from loopdiff.source.dictionaries.tables import makings_in, value_in
from loopdiff.source.functions import MISSING, SourceFunction, python_function, source_of
from loopdiff.source.harmless import changes_nothing
from loopdiff.source.lists.found import lists_in
from loopdiff.source.lists.uses import CHANGING, HEAPS
from loopdiff.source.nodes import copied_tree, syntax_children, syntax_nodes
from loopdiff.source.scopes import bound_by, fresh, own_names, own_nodes, words_in

MOST_CALLS = 40  # that are written out
CHANGING_KEYS = ("setdefault", "add", "discard", "update")
READING_METHODS = (
    "get", "items", "keys", "values", "copy", "index", "count", "sum", "mean", "max", "min", "prod", "any", "all",
    "dot", "item", "tolist", "astype", "conj", "argmax", "argmin", "reshape", "ravel", "transpose",
)  # fmt: skip


def with_calls_written_out(source: SourceFunction) -> SourceFunction:
    """`source` with such calls written out; itself where there are none."""
    found, count = source, 0
    while count < MOST_CALLS:
        writing = Writing(found)
        node = writing.visit(copied_tree(found.node))
        if not writing.count:
            return found
        count += writing.count
        outer = {**found.outer, **writing.outer}
        found = replace(found, node=ast.fix_missing_locations(without_unused(node)), outer=outer)
    return source


def inner_functions_of(function: ast.FunctionDef) -> dict[str, ast.FunctionDef]:
    """Functions that `function` defines, by names that stand for nothing else."""
    nodes = own_nodes(function)
    bound = Counter(name for node in nodes for name in bound_by(node))
    return {n.name: n for n in nodes if isinstance(n, ast.FunctionDef) and n is not function and bound[n.name] == 1}


def without_unused(function: ast.FunctionDef) -> ast.FunctionDef:
    """`function` without functions inside that nobody calls any more."""
    asked = {n.id for n in syntax_nodes(function) if isinstance(n, ast.Name)}
    for node in syntax_nodes(function):
        body = getattr(node, "body", None)
        if isinstance(body, list):
            kept = [s for s in body if not isinstance(s, ast.FunctionDef) or s.name in asked or s.decorator_list]
            node.body = kept or [ast.Pass()]  # type: ignore[attr-defined]
    return function


@immutable
class Callee:
    """A function that is written out, and what its names from outside mean; `is_inner`: it stands in the one that calls
    it."""

    node: ast.FunctionDef
    outer: Mapping[str, Any]
    is_inner: bool = False


class Writing(ast.NodeTransformer):
    """Writes calls of a `source` out. `count` says how many, `outer` what names in them stand for."""

    def __init__(self, source: SourceFunction) -> None:
        self.source, self.count, self.is_inside = source, 0, False
        self.words = {*words_in(source.node), *source.outer}
        self.local = own_names(source.node)
        self.inner = inner_functions_of(source.node)
        self.outer: dict[str, Any] = {}
        nodes = [n for n in syntax_nodes(source.node) if n is not source.node]
        made = makings_in(nodes, source.outer)
        self.adding = {name for name, makings in made.items() if any(m.adds for m in makings)}
        self.dictionaries = set(made) | set(self.returned_dictionaries(nodes))
        self.held = {*self.dictionaries, *lists_in(source.node, lambda n: value_in(source.outer, n)).found}

    def returned_dictionaries(self, nodes: Sequence[ast.AST]) -> Iterator[str]:
        """Names that get a dictionary which a function returns."""
        for node in nodes:
            match node:
                case ast.Assign(targets=[ast.Name(id=name)], value=ast.Call() as call):
                    callee = self.callee(call)
                    if callee is not None and returns_dictionary(callee):
                        yield name
                case _:
                    pass

    def callee(self, call: ast.Call) -> Callee | None:
        """The function that is called, if it is one that can be written out."""
        if isinstance(call.func, ast.Name) and call.func.id in self.local:
            inner = self.inner.get(call.func.id)
            return Callee(inner, self.source.outer, True) if inner is not None and can_be_written_out(inner) else None
        value = value_in(self.source.outer, call.func) if isinstance(call.func, ast.Name | ast.Attribute) else MISSING
        if not isinstance(value, FunctionType) or python_function(value) is None or rule_for(value) is not None:
            return None
        if value is self.source.function:
            return None
        try:
            found = source_of(value)
        except UnsupportedLoopError:
            return None
        return Callee(found.node, found.outer) if can_be_written_out(found.node) else None

    def visit_FunctionDef(self, node: ast.FunctionDef) -> Any:
        is_outermost, self.is_inside = not self.is_inside, True
        return self.generic_visit(node) if is_outermost else node

    def visit_Lambda(self, node: ast.Lambda) -> Any:
        return node

    def visit_Expr(self, node: ast.Expr) -> Any:
        return self.written(node, node.value, None) or node

    def visit_Return(self, node: ast.Return) -> Any:
        return (node.value and self.written(node, node.value, None)) or node

    def visit_AugAssign(self, node: ast.AugAssign) -> Any:
        if self.is_same_after(node.target, node.value):
            return self.written(node, node.value, None) or node
        ahead: list[ast.stmt] = []
        if (target := self.place(node.target, ahead)) is None:
            return node
        name = fresh(self.words, "before")
        read = ast.copy_location(ast.Assign([ast.Name(name, ast.Store())], read_of(target)), node)
        change = ast.copy_location(ast.AugAssign(ast.Name(name, ast.Store()), node.op, node.value), node)
        store = ast.copy_location(ast.Assign([target], ast.Name(name, ast.Load())), node)
        made = self.written(change, node.value, None)
        return node if made is None else [*ahead, read, *made, store]

    def is_same_after(self, target: ast.expr, call: ast.expr) -> bool:
        """Whether the `target` of an augmented assignment, which is read before the call, is the same after it, and the
        call is the same before."""
        callee = self.callee(call) if isinstance(call, ast.Call) and not isinstance(target, ast.Name) else None
        return callee is None or not (changes_anything(callee) or any(map(self.may_add, syntax_nodes(target))))

    def may_add(self, node: ast.AST) -> bool:
        """Whether `node` may add a key to a dictionary that it only reads."""
        match node:
            case ast.Subscript(value=ast.Name(id=name)):
                return name in self.adding
            case _:
                return False

    def place(self, target: ast.expr, ahead: list[ast.stmt]) -> ast.expr | None:
        """What `x[i] += f(x)` reads and stores, whose subscripts are evaluated once, before the call; or None."""
        match target:
            case ast.Name():
                return target
            case ast.Attribute(value=own):
                found = self.place(own, ahead)
                return found and ast.copy_location(ast.Attribute(found, target.attr, target.ctx), target)
            case ast.Subscript(value=own, slice=index) if not any(
                isinstance(n, ast.Slice) for n in syntax_nodes(index)
            ):
                found = self.place(own, ahead)
                keys = [self.key(k, ahead) for k in (index.elts if isinstance(index, ast.Tuple) else [index])]
                at = ast.Tuple(keys, ast.Load()) if isinstance(index, ast.Tuple) else keys[0]
                return found and ast.copy_location(ast.Subscript(found, at, target.ctx), target)
            case _:
                return None

    def key(self, index: ast.expr, ahead: list[ast.stmt]) -> ast.expr:
        if not any(isinstance(n, ast.Name) for n in syntax_nodes(index)):
            return index
        name = fresh(self.words, "place")
        ahead.append(ast.copy_location(ast.Assign([ast.Name(name, ast.Store())], index), index))
        return ast.Name(name, ast.Load())

    def visit_Assign(self, node: ast.Assign) -> Any:
        target = node.targets[0].id if len(node.targets) == 1 and isinstance(node.targets[0], ast.Name) else None
        return self.written(node, node.value, target) or node

    def written(self, stmt: Any, call: ast.expr, target: str | None) -> list[ast.stmt] | None:
        """`stmt`, whose value is the `call`, after the statements of what that calls; None where that is not written
        out."""
        if not isinstance(call, ast.Call) or (callee := self.callee(call)) is None:
            return self.apart(stmt, call)
        given = arguments_of_call(callee, call)
        if not isinstance(stmt, ast.Expr) and not isinstance(callee.node.body[-1], ast.Return):
            return None
        if given is None or not self.is_wanted(callee, given, target) or not self.knows(callee):
            return None
        names, ahead = self.names_of(callee, given, target, stmt)
        body = [self.renamed(s, names, stmt) for s in callee.node.body if not is_text(s)]
        self.count += 1
        if isinstance(body[-1], ast.Return):
            value = body.pop().value or ast.Constant(None)  # type: ignore[attr-defined]
            if isinstance(stmt, ast.Expr):
                stmt.value, is_idle = value, not any(isinstance(n, ast.Call) for n in syntax_nodes(value))
                return [*ahead, *body] if is_idle else [*ahead, *body, stmt]
            stmt.value = value
            is_same = isinstance(value, ast.Name) and value.id == target
            return [*ahead, *body] if is_same else [*ahead, *body, stmt]
        return [*ahead, *body]

    def apart(self, stmt: Any, value: ast.expr) -> list[ast.stmt] | None:
        """`stmt`, after one for a call in its `value` that only reads a dictionary."""
        calls = [n for n in in_any_case(value) if isinstance(n, ast.Call)]
        for call in calls:
            callee = self.callee(call)
            given = None if callee is None or call is value else arguments_of_call(callee, call)
            if callee is None or given is None or not self.is_wanted(callee, given, None) or changes_anything(callee):
                continue
            others = [n for n in syntax_nodes(value) if isinstance(n, ast.Call) and n is not call]
            if not all(map(self.only_reads, others)) or any(isinstance(n, ast.NamedExpr) for n in syntax_nodes(value)):
                return None
            if any(map(self.may_add, syntax_nodes(stmt if isinstance(stmt, ast.AugAssign) else value))):
                return None
            name = fresh(self.words, "given")
            first = ast.copy_location(ast.Assign([ast.Name(name, ast.Store())], call), stmt)
            stmt.value = Placing(call, name).visit(value)
            self.count += 1
            return [first, stmt]
        return None

    def only_reads(self, call: ast.Call) -> bool:
        """Whether it does not matter if the `call` comes before others that read, or after them."""
        callee = self.callee(call)
        return reads_only(call, self.source.outer) if callee is None else not changes_anything(callee)

    def is_wanted(self, callee: Callee, given: Mapping[str, ast.expr], target: str | None) -> bool:
        """Whether the call takes a dictionary, changes a list, also one around the function, or gives a dictionary."""
        named = {p: a.id for p, a in given.items() if isinstance(a, ast.Name)}
        if any(name in self.dictionaries for name in named.values()):
            return True
        if target is not None and returns_dictionary(callee):
            return True
        changed = {name for n in syntax_nodes(callee.node) for name in changes_of(n, callee)}
        around = changed - own_names(callee.node) if callee.is_inner else set[str]()
        return bool(around & self.local) or any(p in changed and name in self.held for p, name in named.items())

    def knows(self, callee: Callee) -> bool:
        """Whether names from outside of the function mean the same where it is called."""
        if callee.is_inner:
            return True
        for name, value in callee.outer.items():
            if name.split(".")[0] in self.local or self.source.outer.get(name, value) is not value:
                return False
        self.outer |= callee.outer
        self.words |= {*words_in(callee.node), *callee.outer}
        return True

    def names_of(
        self, callee: Callee, given: Mapping[str, ast.expr], target: str | None, stmt: ast.stmt
    ) -> tuple[dict[str, str], list[ast.stmt]]:  # fmt: skip
        """New names for those of the function and of comprehensions in it, and the statements that give its parameters
        their values."""
        names, ahead = dict[str, str](), list[ast.stmt]()
        rebound = {
            n.id for n in syntax_nodes(callee.node) if isinstance(n, ast.Name) and not isinstance(n.ctx, ast.Load)
        }
        for name, value in given.items():
            if isinstance(value, ast.Name) and name not in rebound and value.id != target:
                names[name] = value.id
                continue
            if isinstance(value, ast.Name) and value.id in self.held and name not in rebound:
                names[name] = value.id
                continue
            names[name] = fresh(self.words, name)
            ahead.append(ast.copy_location(ast.Assign([ast.Name(names[name], ast.Store())], value), stmt))
        asked = {n.id for value in given.values() for n in syntax_nodes(value) if isinstance(n, ast.Name)}
        last, outer = callee.node.body[-1], words_in(callee.node) - own_names(callee.node)
        for name in sorted((own_names(callee.node) | rebound) - names.keys()):
            is_result = isinstance(last, ast.Return) and isinstance(last.value, ast.Name) and last.value.id == name
            is_free = target not in asked and target not in names.values() and target not in outer
            is_taken = is_result and target is not None and is_free
            names[name] = target if is_taken and target is not None else fresh(self.words, name)
        return names, ahead

    def renamed(self, node: ast.stmt, names: Mapping[str, str], place: ast.stmt) -> ast.stmt:
        """`node` with other names, in the place of the call."""
        made = copied_tree(node)
        for inner in syntax_nodes(made):
            if isinstance(inner, ast.Name):
                inner.id = names.get(inner.id, inner.id)
            if hasattr(inner, "lineno"):
                ast.copy_location(inner, place)
        return made


class Placing(ast.NodeTransformer):
    """Puts a name in the place of a call."""

    def __init__(self, call: ast.Call, name: str) -> None:
        self.call, self.name = call, name

    def visit_Call(self, node: ast.Call) -> ast.AST:
        if node is self.call:
            return ast.copy_location(ast.Name(self.name, ast.Load()), node)
        return self.generic_visit(node)


def in_any_case(node: ast.AST) -> Iterator[ast.AST]:
    """The parts of an expression that are evaluated once, whatever happens."""
    yield node
    match node:
        case ast.BoolOp(values=[first, *_]) | ast.IfExp(test=first):
            yield from in_any_case(first)
        case ast.Lambda() | ast.ListComp() | ast.GeneratorExp() | ast.DictComp() | ast.SetComp() | ast.Compare():
            pass
        case _:
            for child in syntax_children(node):
                yield from in_any_case(child)


def changes_anything(callee: Callee) -> bool:
    """Whether the function may change anything but the lists and dictionaries that it makes."""
    nodes = list(syntax_nodes(callee.node))
    own = lists_in(callee.node, lambda n: value_in(callee.outer, n)).found.keys()
    own |= makings_in([n for n in nodes if n is not callee.node], callee.outer).keys()
    stored = [n for n in nodes if isinstance(n, ast.Subscript | ast.Attribute) and not isinstance(n.ctx, ast.Load)]
    return (
        any(not (isinstance(n.value, ast.Name) and n.value.id in own) for n in stored)
        or any(isinstance(n, ast.AugAssign) and isinstance(n.target, ast.Name) for n in nodes)
        or not all(reads_only(n, callee.outer, own) for n in nodes if isinstance(n, ast.Call))
    )


def reads_only(call: ast.Call, outer: Mapping[str, Any], own: Collection[str] = ()) -> bool:
    """Whether a call of no function of the program changes nothing, or what is called by names among `own`."""
    match call.func:
        case ast.Attribute(value=ast.Name(id=name)) if name in own:
            return True
        case ast.Attribute(attr=attr) if value_in(outer, call.func) is MISSING:
            return attr in READING_METHODS and not any(k.arg in (None, "out") for k in call.keywords)
        case func:
            return changes_nothing(value_in(outer, func), call)


def is_text(node: ast.stmt) -> bool:
    return isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant)


def read_of(target: ast.expr) -> ast.expr:
    made = copied_tree(target)
    assert isinstance(made, ast.Attribute | ast.Subscript)
    made.ctx = ast.Load()
    return made


def can_be_written_out(function: ast.FunctionDef) -> bool:
    """Whether nothing but the end of `function` returns, and names in it are its own."""
    inner = [n for n in syntax_nodes(function) if n is not function]
    returns = [n for n in inner if isinstance(n, ast.Return)]
    are_plain = not any(
        isinstance(n, ast.FunctionDef | ast.Lambda | ast.Global | ast.Nonlocal | ast.NamedExpr | ast.ClassDef)
        for n in inner
    )
    is_last = not returns or (len(returns) == 1 and function.body[-1] is returns[0])
    return are_plain and is_last and not all(map(is_text, function.body))


def arguments_of_call(callee: Callee, call: ast.Call) -> dict[str, ast.expr] | None:
    """What each parameter gets, in the order in which it is evaluated; None where that does not show."""
    spec, named = callee.node.args, {k.arg: k.value for k in call.keywords}
    names = [a.arg for a in (*spec.posonlyargs, *spec.args)]
    is_plain = not (spec.vararg or spec.kwarg or spec.kwonlyargs or None in named)
    if not is_plain or len(call.args) > len(names) or any(isinstance(a, ast.Starred) for a in call.args):
        return None
    given: dict[str, ast.expr] = dict(zip(names, call.args, strict=False)) | {n: v for n, v in named.items() if n}
    for name, default in zip(reversed(names), reversed(spec.defaults), strict=False):
        if name not in given and isinstance(default, ast.Constant):
            given[name] = default
    return given if given.keys() == set(names) else None


def returns_dictionary(callee: Callee) -> bool:
    """Whether the function returns a dictionary that it makes."""
    match callee.node.body[-1]:
        case ast.Return(value=ast.Name(id=name)):
            nodes = [n for n in syntax_nodes(callee.node) if n is not callee.node]
            return name in makings_in(nodes, callee.outer)
        case _:
            return False


def changes_of(node: ast.AST, callee: Callee) -> Iterator[str]:
    """Names of what `node` changes in place, but for elements of lists."""
    match node:
        case ast.Call(func=ast.Attribute(ast.Name(id=name), attr)) if attr in (*CHANGING, *CHANGING_KEYS):
            yield name
        case ast.Subscript(value=ast.Name(id=name), ctx=ast.Del()):
            yield name
        case ast.Call(func=func, args=[ast.Name(id=name), *_]) if value_in(callee.outer, func) in HEAPS:
            yield name
        case _:
            pass
