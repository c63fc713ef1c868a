"""Calls by other names of what they call: `np.where(c)`, of a condition alone, is `np.nonzero(c)`, `np.shape(x)` is
`x.shape`, `list(f(v) for v in x)` is `[f(v) for v in x]`, `deque([v])`, a queue, is the list `[v]`,
`[0.0] * n`, given to a function of NumPy, is `np.full(n, 0.0)`, `(a, b) == (0, 1)` is `a == 0 and b == 1`,
`x.shape == ()` is `x.ndim == 0`, and `dict.fromkeys(keys, v)` is `{k: v for k in keys}`.

The places where a condition holds, as a whole, are the condition: `x[np.where(c)]` is `x[c]`; and after
`k = np.where(c)`, of which only elements are asked for, and what is in these places, `k` is `c`.
"""

from __future__ import annotations

import ast
from collections import Counter, deque
from collections.abc import Callable, Collection, Sequence
from functools import cached_property
from typing import Any, TypeVar

import numpy as np

from loopdiff.source.harmless import all_change_nothing
from loopdiff.source.lists.queues import misuses_queues
from loopdiff.source.nodes import NumberOrArray, copied_tree, direct_call, syntax_nodes
from loopdiff.source.scopes import fresh, stores_among, words_in

N = TypeVar("N", bound=ast.AST)
ATTRIBUTES = {np.shape: "shape", np.size: "size"}
COLLECTING = (list, tuple, sorted)
FINDING = (np.where, np.nonzero)
NARROWER, ROUNDED = (np.float32,), (int, np.int64, np.int32, np.intp)  # types that numbers in between are converted to


def counting_up_to(node: ast.Call, elts: Sequence[ast.expr]) -> ast.Call:
    """`np.bincount` of `elts`, with a `minlength` that exceeds them if they are integers that are written out."""
    written = [e.value for e in elts if isinstance(e, ast.Constant) and type(e.value) is int]
    if not elts or len(written) < len(elts):
        return node
    least: ast.expr = ast.copy_location(ast.Constant(max(written) + 1), node)  # type: ignore[type-var]
    first, others = node.args[:2], [k for k in node.keywords if k.arg != "minlength"]
    given = [*node.args[2:3], *(k.value for k in node.keywords if k.arg == "minlength")]
    if given:
        least = direct_call(max, [given[0], least], node)
    return ast.copy_location(ast.Call(node.func, first, [*others, ast.keyword("minlength", least)]), node)


def asked(node: ast.expr) -> ast.expr:
    """`node`, of which NumPy asks what arrays have."""
    return ast.copy_location(NumberOrArray(node.id, ast.Load()), node) if isinstance(node, ast.Name) else node


def with_own_names(function: ast.FunctionDef, value_of: Callable[[ast.expr], Any]) -> ast.FunctionDef:
    """`function` with such calls by the names that say what they do; `value_of` says what names from outside mean."""
    found = Named(value_of, function)
    made = found.visit(copied_tree(function))
    return made if found.is_changed else function


class Named(ast.NodeTransformer):
    """Writes calls in another way. Those of `conditions` are names of all places where a condition holds, those of
    `queues` stand for queues and for nothing else."""

    def __init__(self, value_of: Callable[[ast.expr], Any], function: ast.FunctionDef) -> None:
        self.value_of, self.function, self.is_changed = value_of, function, False
        self.conditions = self.names_of_places(function)
        self.queues = self.names_of_queues(function)
        self.bounded = self.names_of_bounded(function)
        self.is_misusing = misuses_queues(function, value_of)

    @cached_property
    def words(self) -> set[str]:
        """Names that are taken."""
        return words_in(self.function)

    def names_of_queues(self, function: ast.FunctionDef) -> set[str]:
        """Names that only get what `deque(...)` makes."""
        made: Counter[str] = Counter()
        for node in syntax_nodes(function):
            match node:
                case (
                    ast.Assign(targets=[ast.Name(id=name)], value=ast.Call(func=ast.Name() | ast.Attribute() as func))
                    | ast.AnnAssign(target=ast.Name(id=name), value=ast.Call(func=ast.Name() | ast.Attribute() as func))
                ) if self.value_of(func) is deque:
                    made[name] += 1
                case ast.Assign(targets=[ast.Tuple(elts=targets)], value=ast.Tuple(elts=values)):
                    for target, value in zip(targets, values, strict=False):
                        match target, value:
                            case ast.Name(id=name), ast.Call(func=ast.Name() | ast.Attribute() as func) if (
                                self.value_of(func) is deque
                            ):
                                made[name] += 1
                            case _:
                                pass
                case _:
                    pass
        bound = stores_among(syntax_nodes(function))
        return {name for name, count in made.items() if bound[name] == count}

    def names_of_places(self, function: ast.FunctionDef) -> dict[str, ast.expr]:
        """Names that are assigned once, such places, with the function that gives them."""
        nodes = list(syntax_nodes(function))
        found: dict[str, ast.expr] = {}
        for node in nodes:
            match node:
                case ast.Assign(targets=[ast.Name(id=name)], value=value) if self.condition_of(value) is not None:
                    assert isinstance(value, ast.Call)
                    found[name] = value.func
                case _:
                    pass
        names = Counter(n.id for n in nodes if isinstance(n, ast.Name))
        told = Counter(name for n in nodes if isinstance(n, ast.Subscript) for name in told_by(n))
        given = {n.arg for n in nodes if isinstance(n, ast.arg)}
        return {name: f for name, f in found.items() if names[name] == told[name] + 1 and name not in given}

    def names_of_bounded(self, function: ast.FunctionDef) -> set[str]:
        """Those of queues that let go of items when there are too many."""
        found: set[str] = set()
        for node in syntax_nodes(function):
            match node:
                case ast.Assign(targets=[ast.Name(id=name)], value=ast.Call(args=args, keywords=keywords)):
                    found |= {name} if keywords or len(args) > 1 else set()
                case _:
                    pass
        return found

    def condition_of(self, node: ast.expr) -> ast.expr | None:
        """The condition whose places `node` gives."""
        match node:
            case ast.Call(func=ast.Attribute() as function, args=[condition], keywords=[]) if any(
                self.value_of(function) is f for f in FINDING
            ):
                is_truth = isinstance(condition, ast.Compare) and len(condition.ops) == 1
                zero = ast.copy_location(ast.Constant(0), node)
                return condition if is_truth else ast.copy_location(ast.Compare(condition, [ast.NotEq()], [zero]), node)
            case _:
                return None

    def visit_Assign(self, node: ast.Assign) -> ast.Assign:
        match node:
            case ast.Assign(targets=[ast.Name(id=name)], value=value) if name in self.conditions:
                node.value = self.condition_of(value) or value
                self.is_changed = True
            case _:
                pass
        self.generic_visit(node)
        return node

    def visit_Expr(self, node: ast.Expr) -> ast.stmt:
        self.generic_visit(node)
        match node.value:
            case ast.Call(func=function, args=[ast.Name() as array], keywords=[*_, _] as named) if self.value_of(
                function
            ) is np.nan_to_num and any(is_no_copy(k) for k in named):
                whole = ast.Subscript(array, ast.Slice(), ast.Store())
                made = ast.Call(function, [array], [k for k in named if not is_no_copy(k)])
                self.is_changed = True
                return placed(ast.Assign([whole], made), node)
            case _:
                return node

    def visit_Subscript(self, node: ast.Subscript) -> ast.expr:
        if (condition := self.condition_of(node.slice)) is not None:
            node.slice, self.is_changed = condition, True
        match node.value:
            case ast.Name(id=name) as places if name in self.conditions:
                function = copied_tree(self.conditions[name])
                node.value = ast.copy_location(ast.Call(function, [places], []), places)
            case _:
                pass
        self.generic_visit(node)
        return node

    def visit_Call(self, node: ast.Call) -> ast.expr:
        self.generic_visit(node)
        if (numpy := self.numpy_in(node.func)) is not None:
            node.args = [self.without_lists(a, numpy) for a in node.args]
            for keyword in node.keywords:
                keyword.value = self.without_lists(keyword.value, numpy)
        made = self.renamed(node)
        self.is_changed |= made is not node
        return made

    def visit_Compare(self, node: ast.Compare) -> ast.expr:
        self.generic_visit(node)
        match node:
            case ast.Compare(ast.Tuple(elts=left), [ast.Eq() | ast.NotEq() as op], [ast.Tuple(elts=right)]) if len(
                left
            ) == len(right) > 1 and are_compared_alone(pairs := list(zip(left, right, strict=True))):
                self.is_changed = True
                parts: list[ast.expr] = [ast.copy_location(ast.Compare(a, [op], [b]), node) for a, b in pairs]
                join = ast.And() if isinstance(op, ast.Eq) else ast.Or()
                return ast.copy_location(ast.BoolOp(join, parts), node)
            case ast.Compare(ast.Attribute(attr="shape") as shape, [ast.Eq() | ast.NotEq()], [ast.Tuple(elts=[])]):
                self.is_changed = True
                axes = ast.copy_location(ast.Attribute(shape.value, "ndim", ast.Load()), shape)
                zero = ast.copy_location(ast.Constant(0), node)
                return ast.copy_location(ast.Compare(axes, node.ops, [zero]), node)
            case _:
                return node

    def renamed(self, node: ast.Call) -> ast.expr:
        called = self.value_of(node.func) if isinstance(node.func, ast.Name | ast.Attribute) else None
        match node:
            case ast.Call(func=ast.Attribute() as function, args=[_], keywords=[]) if called is np.where:
                named = ast.copy_location(ast.Attribute(function.value, "nonzero", ast.Load()), function)
                return ast.copy_location(ast.Call(named, node.args, []), node)
            case ast.Call() if called is deque and self.is_misusing:
                return direct_call(deque, node.args, node, node.keywords)
            case ast.Call(args=[keys, *value], keywords=[]) if called == dict.fromkeys:
                return self.from_keys(node, keys, *value)
            case ast.Call(args=args, keywords=[]) if len(args) < (2 if called is deque else called is list):
                return as_list(node, args)
            case ast.Call(
                func=ast.Attribute(value=ast.Name(id=name) as queue, attr="popleft") as function, args=[], keywords=[]
            ) if name in self.queues:
                method = ast.copy_location(ast.Attribute(queue, "pop", ast.Load()), function)
                return ast.copy_location(ast.Call(method, [ast.copy_location(ast.Constant(0), node)], []), node)
            case ast.Call(
                func=ast.Attribute(value=ast.Name(id=name) as queue, attr="appendleft") as function,
                args=[item],
                keywords=[],
            ) if name in self.queues - self.bounded:
                method = ast.copy_location(ast.Attribute(queue, "insert", ast.Load()), function)
                return ast.copy_location(ast.Call(method, [ast.copy_location(ast.Constant(0), node), item], []), node)
            case ast.Call(args=[ast.Name() | ast.Subscript() | ast.Attribute() as array], keywords=[]):
                attr = next((a for f, a in ATTRIBUTES.items() if called is f), None)
                return node if attr is None else ast.copy_location(ast.Attribute(asked(array), attr, ast.Load()), node)
            case ast.Call(args=[ast.List(elts=elts) | ast.Tuple(elts=elts), *_]) if called is np.bincount:
                return counting_up_to(node, elts)
            case ast.Call(func=ast.Attribute() as function, keywords=[*_, _]) if called is np.linspace:
                return self.of_other_type(node, function)
            case ast.Call(args=[ast.GeneratorExp(elt=elt, generators=parts) as over]) if any(
                called is f for f in COLLECTING
            ):
                items = ast.copy_location(ast.ListComp(elt, parts), over)
                return items if called is list else ast.copy_location(ast.Call(node.func, [items], node.keywords), node)
            case _:
                return node

    def from_keys(self, node: ast.Call, keys: ast.expr, value: ast.expr | None = None) -> ast.expr:
        """The dictionary of `keys` with one `value`, as a comprehension. It is computed once, ahead of the keys: what
        calls something that might tell stays what it is."""
        key, item = fresh(self.words, "key"), ast.Constant(None) if value is None else value
        over = [ast.comprehension(ast.Name(key, ast.Store()), keys, [], 0)]
        if not isinstance(item, ast.Constant | ast.Name):
            is_constant = all(isinstance(n, ast.Constant | ast.Tuple) for n in syntax_nodes(keys))
            if not is_constant and not (self.is_quiet(keys) and self.is_quiet(item)):
                return node
            name = fresh(self.words, "value")
            one = ast.comprehension(ast.Name(name, ast.Store()), ast.Tuple([item], ast.Load()), [], 0)
            over, item = [one, *over], ast.Name(name, ast.Load())
        return placed(ast.DictComp(ast.Name(key, ast.Load()), item, over), node)

    def is_quiet(self, node: ast.expr) -> bool:
        """Whether evaluating `node` changes nothing, whatever it gives."""
        has_walrus = any(isinstance(n, ast.NamedExpr) for n in syntax_nodes(node))
        return not has_walrus and all_change_nothing(node, self.value_of)

    def numpy_in(self, function: ast.expr) -> ast.expr | None:
        """What NumPy is called where `function` is one of its functions."""
        while isinstance(function, ast.Attribute):
            function = function.value
            if isinstance(function, ast.Name | ast.Attribute) and self.value_of(function) is np:
                return function
        return None

    def without_lists(self, node: ast.expr, numpy: ast.expr) -> ast.expr:
        """What is given to a function of NumPy, or is in a row that is: arrays for lists whose length the run says."""
        if isinstance(node, ast.Tuple | ast.List):
            node.elts = [self.without_lists(e, numpy) for e in node.elts]
            return node
        found = array_of(node, numpy) if has_repeated(node) else None
        self.is_changed |= found is not None
        return node if found is None else placed(found, node)

    def of_other_type(self, node: ast.Call, function: ast.Attribute) -> ast.expr:
        """`np.linspace(a, b, n, dtype=int)` as what NumPy does: the floats in between, converted."""
        given = next((k.value for k in node.keywords if k.arg == "dtype"), None)
        known = None if given is None else self.value_of(given)
        if given is None or not any(known is kind for kind in (*NARROWER, *ROUNDED)):
            return node
        made: ast.expr = ast.Call(node.func, node.args, [k for k in node.keywords if k.arg != "dtype"])
        if any(known is kind for kind in ROUNDED):
            made = ast.Call(ast.Attribute(function.value, "floor", ast.Load()), [made], [])
        return placed(ast.Call(ast.Attribute(made, "astype", ast.Load()), [given], []), node)


def has_repeated(node: ast.expr) -> bool:
    """Whether `node` is `[e] * n`, or a sum of lists with such."""
    match node:
        case ast.BinOp(op=ast.Add(), left=left, right=right):
            return has_repeated(left) or has_repeated(right)
        case (
            ast.BinOp(left=ast.List(elts=[_, *_]), op=ast.Mult(), right=count)
            | ast.BinOp(left=count, op=ast.Mult(), right=ast.List(elts=[_, *_]))
        ):
            return not isinstance(count, ast.Constant)
        case _:
            return False


def array_of(node: ast.expr, numpy: ast.expr) -> ast.expr | None:
    """The list `node` as an array; None if it may be something else."""
    match node:
        case ast.BinOp(op=ast.Add(), left=left, right=right):
            parts = [array_of(left, numpy), array_of(right, numpy)]
            row = ast.Tuple([p for p in parts if p is not None], ast.Load())
            return None if None in parts else call_of(numpy, "concatenate", row)
        case (
            ast.BinOp(left=ast.List(elts=[_, *_] as elts), op=ast.Mult(), right=count)
            | ast.BinOp(left=count, op=ast.Mult(), right=ast.List(elts=[_, *_] as elts))
        ):
            return repeated(elts, count, numpy)
        case ast.List(elts=[_, *_] as elts) if not any(isinstance(e, ast.Starred) for e in elts):
            return call_of(numpy, "array", node)
        case ast.ListComp():
            return call_of(numpy, "array", node)
        case ast.Call(func=ast.Attribute(value=array, attr="tolist"), args=[], keywords=[]):
            return array
        case _:
            return None


def repeated(elts: list[ast.expr], count: ast.expr, numpy: ast.expr) -> ast.expr | None:
    """`[e] * count` of one number as an array."""
    number = elts[0].operand if isinstance(elts[0], ast.UnaryOp) else elts[0]
    return call_of(numpy, "full", count, elts[0]) if len(elts) == 1 and isinstance(number, ast.Constant) else None


def call_of(numpy: ast.expr, name: str, *args: ast.expr) -> ast.Call:
    """The call of a function of NumPy."""
    return ast.Call(ast.Attribute(numpy, name, ast.Load()), list(args), [])


def is_no_copy(keyword: ast.keyword) -> bool:
    """Whether `keyword` is `copy=False`."""
    return keyword.arg == "copy" and isinstance(keyword.value, ast.Constant) and keyword.value.value is False


def placed(made: N, node: ast.AST) -> N:
    """`made`, in the place of `node` where it has none."""
    for inner in syntax_nodes(made):
        ast.copy_location(inner, inner if hasattr(inner, "lineno") else node)
    return made


def are_compared_alone(pairs: Collection[tuple[ast.expr, ast.expr]]) -> bool:
    """Whether nobody can tell that items of tuples are compared one by one: nothing happens as they are evaluated, and
    none is compared with itself, which tuples take for equal even if it is NaN."""
    items = [item.operand if isinstance(item, ast.UnaryOp) else item for pair in pairs for item in pair]
    are_plain = all(isinstance(item, ast.Name | ast.Constant) for item in items)
    return are_plain and all(ast.unparse(a) != ast.unparse(b) for a, b in pairs)


def as_list(node: ast.Call, args: list[ast.expr]) -> ast.expr:
    """The queue that `node` makes of `args`, as a list."""
    match args:
        case []:
            return ast.copy_location(ast.List([], ast.Load()), node)
        case [ast.List(elts=items) | ast.Tuple(elts=items)]:
            return ast.copy_location(ast.List(items, ast.Load()), node)
        case _:
            return direct_call(list, args, node)


def told_by(node: ast.Subscript) -> list[str]:
    """Names of places in `node` whose elements it asks for by a number, or what is in them."""
    match node:
        case ast.Subscript(value=ast.Name(id=name), slice=ast.Constant(value=int()), ctx=ast.Load()):
            return [name]
        case ast.Subscript(slice=ast.Name(id=name)):
            return [name]
        case _:
            return []
