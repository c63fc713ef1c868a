"""What is known while a function is taken apart: what its names hold, what is written before the next statement."""

from __future__ import annotations

import ast
import operator
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from enum import Enum
from typing import Any

from loopdiff.errors import Diagnostic
from loopdiff.errors.codes import reject
from loopdiff.frontend.callees import Sources
from loopdiff.frontend.structures.trees import (
    Branch,
    Leaf,
    Path,
    Tree,
    are_alike,
    described,
    form,
    merged,
    statics,
    with_leaves,
)
from loopdiff.ir.names import NameSupply
from loopdiff.source.functions import MISSING, SourceFunction, dotted_name
from loopdiff.source.scopes import of_scope


class Plain(Enum):
    """A number, an array or a function."""

    PLAIN = 0


PLAIN = Plain.PLAIN
ANOTHER = "make another one: `{**d, key: value}`, `dataclasses.replace(r, field=value)`"


@dataclass(frozen=True, slots=True)
class Torn:
    """The name holds one thing or another, depending on the way there."""

    first: Tree | Plain
    second: Tree | Plain


Held = Tree | Plain | Torn
Names = dict[str, Held]


@dataclass(frozen=True, slots=True)
class Flow:
    """What is known in one place: what names hold, whose lists and dictionaries nobody else has (`owned`), which
    variables are `arrays`, which names are `functions` defined inside."""

    held: Names
    owned: frozenset[str]
    arrays: frozenset[str]
    functions: Mapping[str, ast.FunctionDef]


@dataclass(frozen=True, slots=True)
class OuterArray:
    """An array that `function` finds under the name `text` outside of it, whenever it runs."""

    function: Any
    text: str

    def reader(self) -> Callable[[], Any]:
        """What reads it as it is now."""
        name, *attributes = self.text.split(".")
        code = self.function.__code__
        find = operator.attrgetter(".".join(attributes)) if attributes else None
        if name in code.co_freevars:
            cell = self.function.__closure__[code.co_freevars.index(name)]
            return (lambda: cell.cell_contents) if find is None else (lambda: find(cell.cell_contents))
        names = self.function.__globals__
        return (lambda: names[name]) if find is None else (lambda: find(names[name]))


@dataclass(frozen=True, slots=True)
class Apart:
    """A function taken apart: its parameters, and what it returns, are single values.

    `result` is what it returned before, with leaves in the order of what it returns now; None for what was one value,
    or nothing. `parameters` are those that each of its parameters became, `hidden` those for arrays from outside;
    those in `as_arrays` are used as arrays and hold none. As a value it stands in calls for the function.
    """

    source: SourceFunction
    result: Branch | None
    parameters: Mapping[str, tuple[str, ...]]
    is_changed: bool
    hidden: Mapping[OuterArray, str]
    as_arrays: frozenset[str] = frozenset()
    diagnostics: tuple[Diagnostic, ...] = ()

    def __repr__(self) -> str:
        return self.source.name


Callees = dict[Any, Apart]


@dataclass(frozen=True, slots=True)
class Walk:
    """What calls itself through the parts of a program: `tree_of` an expression, None for those that are one value;
    `take_apart` a function that is called, `rewrite` one that is defined inside."""

    tree_of: Callable[[Scope, ast.expr], Tree | None]
    take_apart: Callable[[Scope, SourceFunction, Mapping[str, Tree], ast.Call], Apart | None]
    rewrite: Callable[[Scope, ast.FunctionDef], ast.FunctionDef]


@dataclass(slots=True)
class Scope:
    """One function that is taken apart.

    `held`: what its names hold here; `out` is the block being written. `functions` are those defined in it, `captured`
    what these read of its names; `owned` the names whose lists and dictionaries nobody else has, `as_arrays` those that
    are used as arrays and hold none. `outer` are values from outside that it gets names for, `hidden` parameters for
    arrays from outside, `variables` the names of what names hold parts of, `arrays` those that are arrays. `callees`
    are functions that were taken apart, `active` those that are being so. `jumped`: what was known at jumps out of the
    loop around. `may_run_ahead`: whether calls can be put before the statement; `ahead` are those that were, `leading`
    those that it evaluates before it reads anything.
    """

    source: SourceFunction
    sources: Sources
    names: NameSupply
    walk: Walk
    callees: Callees = field(default_factory=dict)
    active: tuple[object, ...] = ()
    held: Names = field(default_factory=dict)
    out: list[ast.stmt] = field(default_factory=list)
    functions: dict[str, ast.FunctionDef] = field(default_factory=dict)
    owned: set[str] = field(default_factory=set)
    outer: dict[str, Any] = field(default_factory=dict)
    hidden: dict[OuterArray, str] = field(default_factory=dict)
    variables: dict[tuple[str, Path], str] = field(default_factory=dict)
    captured: dict[str, Tree] = field(default_factory=dict)
    jumped: list[Flow] = field(default_factory=list)
    results: list[Tree | None] = field(default_factory=list)
    as_arrays: set[str] = field(default_factory=set)
    may_run_ahead: bool = True
    leading: frozenset[int] = frozenset()
    ahead: dict[int, Any] = field(default_factory=dict)
    arrays: frozenset[str] = frozenset()
    diagnostics: list[Diagnostic] = field(default_factory=list)

    def reject(self, message: str, node: ast.AST, hint: str | None = None) -> Leaf:
        """Record a rejection (LD134); the leaf stands in for what was rejected."""
        found = reject("LD134", message, self.source.span(node), hint)
        if found not in self.diagnostics:
            self.diagnostics.append(found)
        return Leaf(ast.copy_location(ast.Constant(0), node))

    def reject_shared(
        self,
        what: str,
        node: ast.AST,
        hint: str = "make another one: `{**d, key: value}`, `dataclasses.replace(r, field=value)`",
    ) -> None:
        """Reject the change of a list, dictionary or record that is not only here."""
        self.reject(f"{what} is changed where others may have it, too", node, hint)

    def flow(self) -> Flow:
        """What is known here."""
        return Flow(dict(self.held), frozenset(self.owned), self.arrays, dict(self.functions))

    def go_on(self, flow: Flow) -> None:
        """Go on where that is known."""
        self.held, self.owned = dict(flow.held), set(flow.owned)
        self.arrays, self.functions = flow.arrays, dict(flow.functions)

    @contextmanager
    def block(self) -> Iterator[list[ast.stmt]]:
        """Statements written inside go to the new list."""
        outer, self.out = self.out, []
        try:
            yield self.out
        finally:
            self.out = outer

    @contextmanager
    def in_place(self) -> Iterator[None]:
        """Inside, calls stay where they are: they may run another time than the statement, or not at all."""
        before, self.may_run_ahead = self.may_run_ahead, False
        try:
            yield
        finally:
            self.may_run_ahead = before

    def tree_of(self, node: ast.expr) -> Tree | None:
        """What `node` stands for, where that is several values, or known; None for other expressions."""
        return self.walk.tree_of(self, node)

    # -- names -----------------------------------------------------------------------------------------------
    def tree(self, name: str, node: ast.AST) -> Tree | None:
        """What `name` holds, where that is several values, or known; None for a number or an array."""
        found = self.held.get(name)
        match found:
            case None | Plain():
                return None
            case Torn(first, second):
                words = ", or ".join(word_of(held) for held in (first, second))
                return self.reject(f"`{name}` holds {words}, depending on the way here", node)
            case _:
                return found

    def hold(self, name: str, tree: Tree | Plain, node: ast.AST) -> None:
        """From here on `name` holds `tree`."""
        known = self.captured.get(name)
        if known is not None and not is_alike(known, tree):
            self.reject(f"`{name}`, which a function inside reads, gets something of another form", node)
        self.held[name] = tree

    def variable(self, name: str, path: Path) -> str:
        """The variable for the part at `path` of what `name` holds."""
        found = self.variables.get((name, path))
        if found is None:
            found = self.variables[name, path] = self.names.fresh("_".join(map(word, (name, *path))))
        return found

    def value_outside(self, node: ast.expr) -> Any:
        """The Python value of a name or dotted name from outside the function; MISSING if it has none."""
        text = dotted_name(node)
        is_local = text is not None and text.split(".")[0] in self.held
        return MISSING if text is None or is_local else self.source.outer.get(text, MISSING)

    def parameter_for(self, array: OuterArray, node: ast.AST) -> ast.expr:
        """The parameter that gets an array from outside."""
        if array not in self.hidden:
            self.hidden[array] = self.names.fresh(word(array.text))
        return name_read(self.hidden[array], node)

    def name_for(self, value: Any, node: ast.AST) -> ast.expr:
        """An expression for a value that is known: written out, or under a name from outside the function."""
        if value is None or type(value) in (bool, int, float, complex, str):
            return ast.copy_location(ast.Constant(value), node)
        found = next((n for n, known in self.outer.items() if known is value), None)
        if found is None:
            found = self.names.fresh(f"given_{word(getattr(value, '__name__', type(value).__name__))}")
            self.outer[found] = value
        return name_read(found, node)


def name_read(name: str, at: ast.AST) -> ast.Name:
    """`name` where it is read, in the place of `at`."""
    return ast.copy_location(ast.Name(name, ast.Load()), at)


def name_stored(name: str, at: ast.AST) -> ast.Name:
    """`name` where it gets a value, in the place of `at`."""
    return ast.copy_location(ast.Name(name, ast.Store()), at)


def word(key: Any) -> str:
    """A key as a part of a name."""
    text = "".join(c if c.isalnum() else "_" for c in str(key))
    return text if text.isascii() else text.encode().hex()


def word_of(held: Tree | Plain) -> str:
    return "a number or an array" if isinstance(held, Plain) else described(held)


def joined(first: Names, second: Names) -> Names:
    """What names hold where two ways meet; one that has no value on one of them has it from the other."""
    found = dict(first)
    for name, held in second.items():
        other = found.setdefault(name, held)
        if isinstance(other, Torn):
            continue
        if isinstance(held, Torn):
            found[name] = held
        elif isinstance(other, Plain) or isinstance(held, Plain):
            found[name] = other if other == held else Torn(other, held)
        else:
            found[name] = merged(other, held) or Torn(other, held)
    return found


def met(*flows: Flow) -> Flow:
    """What is known where ways meet."""
    first, *others = flows
    for other in others:
        held = joined(first.held, other.held)
        owned = {n for n in first.owned | other.owned if all(n in f.owned or n not in f.held for f in (first, other))}
        functions = {name: f for name, f in first.functions.items() if other.functions.get(name) is f}
        first = Flow(held, frozenset(owned), first.arrays & other.arrays, functions)
    return first


def is_alike(a: Tree | Plain, b: Tree | Plain) -> bool:
    if isinstance(a, Plain) or isinstance(b, Plain):
        return a == b
    return are_alike(a, b)


def torn(names: Names) -> set[str]:
    """Those of `names` that hold one thing or another."""
    return {name for name, held in names.items() if isinstance(held, Torn)}


def stored_names(nodes: Sequence[ast.AST]) -> set[str]:
    """Names that statements give a value, but for functions in them."""
    inside = (n for node in nodes for n in of_scope(node))
    return {n.id for n in inside if isinstance(n, ast.Name) and isinstance(n.ctx, ast.Store)}


def in_variables(scope: Scope, name: str, tree: Tree, node: ast.AST) -> Tree:
    """`tree` with the variables of `name` as its leaves."""

    def variable(path: Path, _: Leaf) -> Leaf:
        return Leaf(name_read(scope.variable(name, path) if path else name, node))

    return with_leaves(tree, variable)


def key_of(source: SourceFunction, given: Mapping[str, Tree]) -> Any:
    """What tells calls of a function apart that are taken apart in different ways."""
    kinds = ((name, form(tree), tuple(map(id, statics(tree)))) for name, tree in given.items())
    return source.code, source.node, tuple(kinds)
