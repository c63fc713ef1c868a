"""A first look at a function: which names are assigned and how often, and which are used as arrays."""

from __future__ import annotations

import ast
from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from functools import lru_cache

from loopdiff.immutable import immutable
from loopdiff.source.functions import as_definition
from loopdiff.source.nodes import NumberOrArray, syntax_nodes
from loopdiff.source.scopes import bound_by, of_scope, own_names, own_nodes, parameters

ARRAY_ATTRIBUTES = ("shape", "ndim", "size", "dtype", "T")
ITERATING_BUILTINS = ("len", "enumerate", "zip", "reversed", "iter", "sum")
ArrayArguments = Callable[[ast.Call], Iterable[ast.expr]]


@immutable
class Survey:
    """Names of one function: how many places assign each (`stores`), where it first stands (`first_uses`); and how many
    `returns` it has."""

    parameters: tuple[str, ...]
    assigned: frozenset[str]
    stores: Counter[str]
    array_names: frozenset[str]
    first_uses: Mapping[str, ast.Name]
    returns: int

    @property
    def all_names(self) -> frozenset[str]:
        return frozenset((*self.parameters, *self.first_uses))


def survey(function: ast.FunctionDef, parameters: tuple[str, ...], array_arguments: ArrayArguments) -> Survey:
    """Look through `function` once.

    Names that are subscripted, iterated or asked their shape are arrays, and so are those that `array_arguments` of a
    call finds. Functions inside it have names of their own.
    """
    nodes = [node for statement in function.body for node in of_scope(statement)]
    stores: Counter[str] = Counter()
    array_names = arrays_among(nodes, array_arguments)
    first_uses: dict[str, ast.Name] = {}
    copies: list[tuple[str, str]] = []
    for node in nodes:
        match node:
            case ast.Name(id=name):
                first_uses[name] = min(node, first_uses.get(name, node), key=position)
            case ast.Assign(targets=[target], value=value):
                copies += name_copies(target, value)
            case _:
                pass
        stores.update(bound_by(node))
    returns = sum(isinstance(node, ast.Return) for node in nodes)
    changed = True
    while changed:
        found = {v for t, v in copies if t in array_names} - array_names
        array_names |= found
        changed = bool(found)
    assigned = frozenset(stores) & own_names(function)
    return Survey(parameters, assigned, stores, frozenset(array_names), first_uses, returns)


@lru_cache(maxsize=512)
def survey_of_copy(function: ast.FunctionDef, parameters: tuple[str, ...]) -> Survey:
    """That of a function whose calls are written out, of which each would look through it again."""
    return survey(function, parameters, lambda _: ())


def arrays_among(nodes: Iterable[ast.AST], array_arguments: ArrayArguments) -> set[str]:
    """The names that the `nodes` of a scope, and functions and comprehensions among them, use as arrays."""
    found: set[str] = set()
    for node in nodes:
        match node:
            case ast.FunctionDef() | ast.Lambda():
                found |= free_arrays(node, array_arguments)
            case ast.ListComp() | ast.SetComp() | ast.DictComp() | ast.GeneratorExp():
                inner = arrays_among(own_nodes(node), array_arguments) - own_names(node)
                found.update(used_as_array(node.generators[0]), inner)
            case _:
                found.update(used_as_array(node))
        if isinstance(node, ast.Call):
            found |= {a.id for a in array_arguments(node) if isinstance(a, ast.Name)}
    return found


def free_arrays(node: ast.FunctionDef | ast.Lambda, array_arguments: ArrayArguments) -> frozenset[str]:
    """Names from around a function defined inside another that it uses as arrays."""
    function = node if isinstance(node, ast.FunctionDef) else as_definition(node)
    inner = survey(function, tuple(a.arg for a in parameters(node.args)), array_arguments)
    return inner.array_names - inner.assigned - frozenset(inner.parameters)


def name_copies(target: ast.expr, value: ast.expr) -> list[tuple[str, str]]:
    """Pairs of names in `a = x` and `a, b = x, y`."""
    match target, value:
        case ast.Name(id=a), ast.Name(id=x):
            return [(a, x)]
        case ast.Tuple(elts=targets), ast.Tuple(elts=values) if len(targets) == len(values):
            return [pair for t, v in zip(targets, values, strict=True) for pair in name_copies(t, v)]
        case _:
            return []


def position(node: ast.Name) -> tuple[int, int]:
    return node.lineno, node.col_offset


def becomes_part_of_itself(function: ast.FunctionDef, name: str) -> bool:
    """Whether `name` is assigned what is made of slices of it, as `v = v[1:] - v[:-1]`."""
    for node in syntax_nodes(function):
        match node:
            case ast.Assign(targets=[ast.Name(id=target)], value=value) if target == name:
                parts = (
                    n for n in syntax_nodes(value) if isinstance(n, ast.Subscript) and isinstance(n.slice, ast.Slice)
                )
                if any(isinstance(part.value, ast.Name) and part.value.id == name for part in parts):
                    return True
            case _:
                pass
    return False


def becomes_shorter(function: ast.FunctionDef, name: str) -> bool:
    """Whether `name` is assigned a slice of it with a bound, as `v = v[1:]`."""
    for node in syntax_nodes(function):
        match node:
            case ast.Assign(targets=[ast.Name(id=target)], value=ast.Subscript() as part) if target == name:
                bounds: list[ast.expr | None] = []
                while isinstance(part, ast.Subscript) and isinstance(part.slice, ast.Slice):
                    bounds += [part.slice.lower, part.slice.upper]
                    part = part.value
                if isinstance(part, ast.Name) and part.id == name and any(b is not None for b in bounds):
                    return True
            case _:
                pass
    return False


def used_as_array(node: ast.AST) -> tuple[str, ...]:
    """Names that `node` itself uses as arrays."""
    match node:
        case ast.Subscript(value=ast.Name(id=name)):
            return (name,)
        case ast.Subscript(value=ast.Attribute(value=ast.Name(id=name), attr="real" | "imag")):
            return (name,)
        case ast.Attribute(value=ast.Name(id=name) as of, attr=attr) if attr in ARRAY_ATTRIBUTES:
            return () if isinstance(of, NumberOrArray) else (name,)
        case ast.For(iter=ast.Name(id=name)) | ast.comprehension(iter=ast.Name(id=name)):
            return (name,)
        case ast.Call(func=ast.Name(id=callee), args=args) if callee in ITERATING_BUILTINS:
            iterated = args if callee == "zip" else args[:1]
            return tuple(a.id for a in iterated if isinstance(a, ast.Name))
        case _:
            return ()
