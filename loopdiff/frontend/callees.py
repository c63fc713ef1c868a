"""What calls call: the Python functions whose bodies are written out, and which of their parameters are arrays."""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from types import FunctionType, ModuleType
from typing import Any

import numpy as np

from loopdiff.errors import UnsupportedLoopError
from loopdiff.frontend.survey import Survey, survey
from loopdiff.immutable import immutable
from loopdiff.rules.definitions import Rule, Rules, known_rules, rule_for
from loopdiff.source.functions import (
    LIBRARIES,
    MISSING,
    SourceFunction,
    as_definition,
    attribute_of,
    dotted_name,
    plain_function,
    python_function,
    source_of,
)
from loopdiff.source.nodes import syntax_nodes

CONSTANTS = (bool, int, float, complex, str, type(None), np.generic)


@dataclass(slots=True)
class Sources:
    """Sources of functions, each read once; the rules that there are when the first is; and the attributes that values
    had which functions are given. `spelt` is how sources are written that are read later; `made` are functions that
    were made of others, by what was made of which. `seen`: what may be read of objects,
    a `structures.objects.seen.Seen`.
    """

    known: dict[FunctionType, SourceFunction] = field(default_factory=dict)
    rules: Rules = field(default_factory=known_rules)
    attributes: dict[tuple[int, str], tuple[Any, Any]] = field(default_factory=dict)
    spelt: Callable[[SourceFunction], SourceFunction] | None = None
    made: dict[Any, SourceFunction] = field(default_factory=dict)
    seen: Any = None

    def rewritten(self, spelt: Callable[[SourceFunction], SourceFunction]) -> Sources:
        """The same with what `spelt` makes of each source."""
        earlier = self.spelt

        def in_turn(source: SourceFunction) -> SourceFunction:
            return spelt(source if earlier is None else earlier(source))

        known = {f: spelt(s) for f, s in self.known.items()}
        return Sources(known, self.rules, dict(self.attributes), in_turn, seen=self.seen)

    def copied(self) -> Sources:
        """The same for a function that is read under another lock."""
        return Sources(dict(self.known), self.rules, dict(self.attributes), self.spelt, seen=self.seen)

    def rule_of(self, value: Any) -> Rule | None:
        """The rule of the function that `value` is, if it has one; those of this package are read after decoration."""
        is_own = str(getattr(value, "__module__", "")).startswith("loopdiff.numpy_functions.")
        return rule_for(value) if is_own else rule_for(value, self.rules)

    def of(self, function: FunctionType) -> SourceFunction:
        """The source of `function`. Raises UnsupportedLoopError (LD100, LD101, LD117)."""
        if function not in self.known:
            found = source_of(function)
            self.known[function] = found if self.spelt is None else self.spelt(found)
        return self.known[function]

    def attribute(self, owner: Any, attr: str) -> Any:
        """The attribute of a value from outside, as it was when this was asked first; MISSING if it has none."""
        key = (id(owner), attr)
        if key not in self.attributes:
            self.attributes[key] = (owner, attribute_of(owner, attr))
        return self.attributes[key][1]

    def read(self, source: SourceFunction) -> None:
        """Read what `source` may call or be given, and what that may, as it is now."""
        values, met, owners = list(source.values), dict[int, Any](), list[Any]()
        words, readers = set[str](), [source]
        while values:
            for value in values:
                found = None if id(value) in met else self.source_behind(value)
                if found is not None:
                    readers.append(found)
                elif id(value) not in met and may_change(value):
                    owners.append(value)
                met[id(value)] = value
            values = [value for reader in readers for value in reader.values if id(value) not in met]
            words |= {word for reader in readers if owners for word in attributes_in(reader)}
            pairs = [(o, word) for o in owners for word in words if (id(o), word) not in self.attributes]
            values += [a for owner, word in pairs if (a := self.attribute(owner, word)) is not MISSING]

    def source_behind(self, value: Any) -> SourceFunction | None:
        """The source of the function that a call of `value` writes out; None if there is none, or it is not readable:
        that is reported where it is called."""
        rule = self.rule_of(value)
        function = python_function(value) if rule is None else rule.shape
        try:
            return None if function is None else self.of(plain_function(function))
        except UnsupportedLoopError:
            return None


def may_change(value: Any) -> bool:
    """Whether `value` may have attributes, and others later."""
    kind = value if isinstance(value, type) else type(value)
    name = value.__name__ if isinstance(value, ModuleType) else kind.__module__
    is_record = isinstance(value, ModuleType | type) or not callable(value)
    return is_record and not isinstance(value, CONSTANTS) and name.split(".")[0] not in (*LIBRARIES, "builtins")


def attributes_in(source: SourceFunction) -> set[str]:
    return {node.attr for node in syntax_nodes(source.node) if isinstance(node, ast.Attribute)}


@immutable
class Known:
    """A function that a name stands for, seen from the text alone; `inner`: functions that its names stand for."""

    source: SourceFunction
    node: ast.FunctionDef
    inner: Mapping[str, Known]


@dataclass(slots=True)
class ArrayParameters:
    """Finds the arguments of calls whose parameters are used as arrays, through any number of calls."""

    sources: Sources
    done: dict[ast.FunctionDef, frozenset[str]] = field(default_factory=dict)

    def of(self, function: Known, active: tuple[ast.FunctionDef, ...]) -> frozenset[str]:
        """Names of `function` that it, or what it calls, uses as arrays."""
        if function.inner:
            return self.survey(function, active).array_names
        if function.node not in self.done:
            self.done[function.node] = self.survey(function, active).array_names
        return self.done[function.node]

    def survey(self, function: Known, active: tuple[ast.FunctionDef, ...] = ()) -> Survey:
        inside = Known(function.source, function.node, {**function.inner, **defined_in(function)})

        def arguments(call: ast.Call) -> Iterator[ast.expr]:
            return self.arguments(inside, call, (*active, function.node))

        return survey(function.node, parameter_names(function.node), arguments)

    def arguments(self, caller: Known, call: ast.Call, active: tuple[ast.FunctionDef, ...]) -> Iterator[ast.expr]:
        callee = self.resolved(caller, call.func)
        if callee is None or callee.node in active:
            return
        given = {name: value for name, value in matched_arguments(callee.node, call)}
        functions = {name: f for name, value in given.items() if (f := self.resolved(caller, value)) is not None}
        arrays = self.of(Known(callee.source, callee.node, {**callee.inner, **functions}), active)
        yield from (value for name, value in given.items() if name in arrays)

    def resolved(self, caller: Known, node: ast.expr) -> Known | None:
        """The function that `node` stands for in `caller`."""
        match node:
            case ast.Lambda():
                return Known(caller.source, as_definition(node), caller.inner)
            case ast.Name(id=name) if name in caller.inner:
                return caller.inner[name]
            case ast.Name() | ast.Attribute():
                function = python_function(caller.source.outer.get(dotted_name(node) or ""))
            case _:
                return None
        try:
            source = None if function is None else self.sources.of(function)
        except UnsupportedLoopError:  # reported where it is called
            return None
        return None if source is None else Known(source, source.node, {})


def defined_in(function: Known) -> dict[str, Known]:
    """Functions defined inside `function`, by name."""
    found: dict[str, Known] = {}
    for node in syntax_nodes(function.node):
        match node:
            case ast.FunctionDef(name=name) if node is not function.node:
                found[name] = Known(function.source, node, found)
            case ast.Assign(targets=[ast.Name(id=name)], value=ast.Lambda() as value):
                found[name] = Known(function.source, as_definition(value), found)
            case _:
                pass
    return found


def parameter_names(node: ast.FunctionDef) -> tuple[str, ...]:
    arguments = node.args
    return tuple(a.arg for a in (*arguments.posonlyargs, *arguments.args, *arguments.kwonlyargs))


def matched_arguments(node: ast.FunctionDef, call: ast.Call) -> Iterator[tuple[str, ast.expr]]:
    """Parameters and what a call gives for them, as far as the call is right."""
    yield from zip((a.arg for a in (*node.args.posonlyargs, *node.args.args)), call.args, strict=False)
    yield from ((k.arg, k.value) for k in call.keywords if k.arg is not None)
