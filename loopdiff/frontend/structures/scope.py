"""What is known while a function is taken apart: what its names hold, what is written before the next statement."""

from __future__ import annotations

import ast
import functools
import operator
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

from loopdiff.errors import Diagnostic
from loopdiff.errors.codes import reject
from loopdiff.frontend.callees import Sources
from loopdiff.frontend.liveness import Position
from loopdiff.frontend.structures.given import flattened
from loopdiff.frontend.structures.signs import is_field_outside
from loopdiff.frontend.structures.trees import (
    Branch,
    Leaf,
    Origin,
    Path,
    Static,
    Tree,
    apart_in,
    are_alike,
    form,
    fresh_paths,
    leaves,
    merged,
    origins_apart,
    shared,
    statics,
    types_in,
    with_leaves,
)
from loopdiff.immutable import immutable
from loopdiff.ir.names import NameSupply
from loopdiff.source.functions import MISSING, SourceFunction, dotted_name
from loopdiff.source.nodes import syntax_nodes
from loopdiff.source.scopes import of_scope

PLAIN = Leaf(ast.Constant(0))  # what names of numbers, arrays and functions hold, of which no more is known
# Items of a loop or list that are written out at most, and those of a list that grows, which may be an array instead.
MOST_ITEMS, FEW_ITEMS = 1000, 16
GROWING = "make an array first, as `np.empty(n)`, and store into it; or choose elements of one by a mask"
FROM_NONE = (
    "begin with values of the same form, as `best = (np.inf, 0)`, and ask a number of its own whether there is one"
)
SHARED = "is changed where others may have it, too"
ANOTHER = "make another one: `l + [e]`, `{**d, key: value}`, `dataclasses.replace(r, field=value)`"


@immutable
class Torn:
    """The name holds one thing or another, depending on the way there."""

    first: Tree
    second: Tree


Held = Tree | Torn
Names = dict[str, Held]
Place = tuple[str, Path]  # a name, and where in what it holds
Snapshot = tuple[list[Any], Any]  # a structure as `optree` takes it apart


@dataclass(slots=True, eq=False)
class Local:
    """A function that is defined inside another: names in it mean what they do in `scope` when it is called. `generic`
    is what stands there, for single values."""

    node: ast.FunctionDef
    scope: Scope
    generic: ast.FunctionDef

    def __repr__(self) -> str:
        return f"{self.node.name} {id(self)}"


@immutable
class Version:
    """The function that is called `text` in `scope`: one that is defined inside, for what it is called with."""

    text: str
    scope: Scope


@immutable
class Flow:
    """What is known in one place: what names hold, whose lists and dictionaries nobody else has (`owned`)."""

    held: Names
    owned: frozenset[Place]


@immutable
class Outer:
    """What `function` finds under the name `text` outside of it, whenever it runs, or what is at `path` in that."""

    function: Any
    text: str
    path: Path = ()

    def reader(self) -> Callable[[], Any]:
        """What reads it as it is now."""
        if self.path:
            whole, path = self.whole(), self.path
            return lambda: functools.reduce(part, path, whole())
        return self.whole()

    def whole(self) -> Callable[[], Any]:
        """What reads all of what has the name."""
        name, *attributes = self.text.split(".")
        code = self.function.__code__
        find = operator.attrgetter(".".join(attributes)) if attributes else None
        if name in code.co_freevars:
            cell = self.function.__closure__[code.co_freevars.index(name)]
            return (lambda: cell.cell_contents) if find is None else (lambda: find(cell.cell_contents))
        names = self.function.__globals__
        return (lambda: names[name]) if find is None else (lambda: find(names[name]))


def part(value: Any, key: Any) -> Any:
    """What stands under `key` in a structure."""
    is_field = isinstance(key, str) and not isinstance(value, dict)
    return getattr(value, key) if is_field else value[key]


@immutable
class Apart:
    """A function taken apart: its parameters, and what it returns, are single values.

    `result` is what it returned before, with leaves in the order of what it returns now; None for what was one value,
    or nothing. `parameters` are those that each of its parameters became, but for functions that are `unused`; `hidden`
    those for arrays and numbers from outside, and for functions inside its callers; `outside` are structures from
    there as they were. Those in `as_arrays` are used as arrays and hold none. `is_long`: many iterations of a loop were
    written out because a list grows in it; `is_open`: dictionaries get values by keys that the run says, and no others;
    `leaves_rows`: lists of rows are left to the parser, of which there could be a list for each place in the rows.
    As a value it stands in calls for the function.
    """

    source: SourceFunction
    result: Branch | None
    parameters: Mapping[str, tuple[str, ...]]
    is_changed: bool
    hidden: Mapping[Hidden, str]
    outside: Mapping[Outer, Snapshot]
    uses_ranks: bool = False
    unused: frozenset[str] = frozenset()
    as_arrays: frozenset[str] = frozenset()
    diagnostics: tuple[Diagnostic, ...] = ()
    is_long: bool = False
    is_open: bool = False
    leaves_rows: bool = False

    def __repr__(self) -> str:
        return self.source.name

    @property
    def findings(self) -> list[Diagnostic]:
        """The diagnostics for a report: what is wrong with a name is said where it is read first."""
        first = {d.message: d for d in sorted(self.diagnostics, key=lambda d: d.span.end, reverse=True)}
        return [d for d in self.diagnostics if first[d.message] == d]


Callees = dict[Any, Apart]
Hidden = Outer | Version


@immutable
class Walk:
    """What calls itself through the parts of a program: `tree_of` an expression, None for those that are one value;
    `take_apart` a function that is called, `rewrite` one that is defined inside."""

    tree_of: Callable[[Scope, ast.expr], Tree | None]
    take_apart: Callable[[Scope, SourceFunction, Mapping[str, Tree], ast.Call, Local | None], Apart | None]
    rewrite: Callable[[Scope, ast.FunctionDef], ast.FunctionDef]


@dataclass(slots=True, eq=False)
class Growing:
    """Lists of one program that grow in loops over what is not known, by the name of the function and their own, or by
    where they are written out, if they are parts of something. Those that are `plain` are left as they are; of others
    it is said, in `said`, that they cannot be told apart. Loops of more than `most` iterations count as such;
    `is_long`: one of more than a few was written out because a list grows in it. `is_open`: the run says which item of
    a dictionary gets a value. `open_places`: where it is said that only the run says which item is meant; `by_columns`:
    these are read by a list for each place in the items, at the start of functions but for variables that are
    `rebound`. `leaves_rows`: lists of rows are left as they are. `written_out`: loops that are, by file and line;
    `rests`: loops whose first iteration stands apart."""

    most: int
    plain: set[tuple[str, str] | Origin] = field(default_factory=set)
    said: dict[Diagnostic, set[tuple[str, str] | Origin]] = field(default_factory=dict)
    is_long: bool = False
    is_open: bool = False
    open_places: set[Diagnostic] = field(default_factory=set)
    by_columns: bool = False
    leaves_rows: bool = False
    rebound: set[tuple[str, str]] = field(default_factory=set)
    written_out: Collection[tuple[str, int]] = ()
    rests: list[ast.For] = field(default_factory=list)


@dataclass(slots=True, eq=False)
class ColumnLists:
    """Lists for what stands in one place in each of several items: their names by what is in them, the statements `out`
    that make them, and the `names` whose values may be in them."""

    out: list[ast.stmt]
    names: frozenset[str] = frozenset()
    made: dict[tuple[str, ...], str] = field(default_factory=dict)


@dataclass(slots=True, eq=False)
class Scope:
    """One function that is taken apart.

    `held`: what its names hold here; `out` is the block being written. `captured` is what functions in it read of its
    names; `owned` the places of lists and dictionaries that nobody else has, `as_arrays` names that are used as
    arrays and hold none. `outer` are values from outside that it gets names for, `outside` structures from there,
    `hidden` parameters for what is in these, `variables` the names of what names hold parts of, `texts` how the
    program writes these. `uses_ranks`: what arrays were said to have for axes mattered. `callees` are functions that
    were taken apart, `active` those that are being so. `jumped`: what was known at jumps out of the loop around.
    `may_run_ahead`: whether calls can be put before the statement; `ahead` are those that were, `leading` those that
    it evaluates before it reads anything; `may_turn`: whether it may be written as several. `around`: where the
    function is defined inside another; `bound` are names of lambdas and comprehensions around an expression, and what
    is called so outside of these; `last` is where names are read for the last time before they get something else;
    `flags` say of names whether they hold None, `fills` are statements that matter if a name is read; `generic` what
    is wrong with functions inside where they are given single values, by the name or the lambda. `growing` are lists
    of the program whose length is not known; `coming` are keys of items that loops around, which are written out, get
    to later, with the place of the list or dictionary. `at_start`, `before_loop`: lists made there, of a loop's `test`.
    """

    source: SourceFunction
    sources: Sources
    names: NameSupply
    walk: Walk
    callees: Callees = field(default_factory=dict)
    active: tuple[object, ...] = ()
    held: Names = field(default_factory=dict)
    out: list[ast.stmt] = field(default_factory=list)
    owned: set[Place] = field(default_factory=set)
    outer: dict[str, Any] = field(default_factory=dict)
    hidden: dict[Hidden, str] = field(default_factory=dict)
    outside: dict[Outer, Snapshot] = field(default_factory=dict)
    variables: dict[tuple[str, Path], str] = field(default_factory=dict)
    texts: dict[str, str] = field(default_factory=dict)
    captured: dict[str, Tree] = field(default_factory=dict)
    jumped: list[Flow] = field(default_factory=list)
    results: list[Tree | None] = field(default_factory=list)
    as_arrays: set[str] = field(default_factory=set)
    may_run_ahead: bool = True
    leading: frozenset[int] = frozenset()
    may_turn: bool = False
    ahead: dict[int, tuple[ast.AST, Any]] = field(default_factory=dict)
    uses_ranks: bool = False
    diagnostics: list[Diagnostic] = field(default_factory=list)
    around: Scope | None = None
    bound: Mapping[str, Held | None] = field(default_factory=dict)
    last: frozenset[Position] = frozenset()
    flags: dict[str, str] = field(default_factory=dict)
    fills: dict[int, tuple[ast.stmt, str]] = field(default_factory=dict)
    generic: list[tuple[str | ast.Lambda, list[Diagnostic]]] = field(default_factory=list)
    growing: Growing = field(default_factory=lambda: Growing(MOST_ITEMS))
    coming: tuple[tuple[Place, tuple[Any, ...]], ...] = ()
    at_start: ColumnLists | None = None
    before_loop: ColumnLists | None = None

    def reject(self, message: str, node: ast.AST, hint: str | None = None) -> Leaf:
        """Record a rejection (LD134); the leaf stands in for what was rejected."""
        found = reject("LD134", message, self.source.span(node), hint)
        if found not in self.diagnostics:
            self.diagnostics.append(found)
        return Leaf(ast.copy_location(ast.Constant(0), node))

    def reject_shared(self, what: str, node: ast.AST) -> None:
        """Reject the change of a list, dictionary or record that is not only here."""
        self.reject(f"{what} {SHARED}", node, ANOTHER)

    def flow(self) -> Flow:
        """What is known here."""
        return Flow(dict(self.held), frozenset(self.owned))

    def go_on(self, flow: Flow) -> None:
        """Go on where that is known."""
        self.held, self.owned = dict(flow.held), set(flow.owned)

    def said(self) -> tuple[int, int]:
        """How much was said so far."""
        return len(self.diagnostics), len(self.generic)

    def take_back(self, said: tuple[int, int]) -> None:
        """Forget what was said since."""
        del self.diagnostics[said[0] :], self.generic[said[1] :]

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
            case None | Leaf(expr=PLAIN.expr):
                return None
            case Torn(Static(value=None), Leaf()) | Torn(Leaf(), Static(value=None)) if name in self.flags:
                return None
            case Torn(first, second):
                text, words = apart_in(name, first, second)
                are_lists = all(isinstance(held, Branch) and held.kind == "list" for held in (first, second))
                is_late = any(isinstance(held, Static) and held.value is None for held in (first, second))
                hint = GROWING if are_lists else FROM_NONE if is_late else None
                found = self.reject(f"`{text}` holds {words}, depending on the way here", node, hint)
                if origins := origins_apart(first, second):
                    self.growing.said[self.diagnostics[-1]] = set(origins)
                if are_lists and text == name:
                    self.growing.said[self.diagnostics[-1]] = {(self.source.name, name)}
                return found
            case _:
                return found

    def hold(self, name: str, tree: Tree, node: ast.AST) -> None:
        """From here on `name` holds `tree`."""
        captured = self.captured.get(name)
        if captured is not None and not are_alike(captured, tree):
            self.reject(f"`{name}`, which a function inside reads, gets something of another form", node)
        self.held[name] = Leaf(PLAIN.expr, tree.known) if isinstance(tree, Leaf) else tree

    def disown(self, name: str, path: Path = ()) -> None:
        """Others may have what is at `path` in what `name` holds."""
        self.owned -= {at for at in self.owned if at[0] == name and at[1][: len(path)] == path}

    def is_plain(self, name: str) -> bool:
        """Whether lists of that name grow in loops over what is not known."""
        return name in self.source.lists or (self.source.name, name) in self.growing.plain

    def known(self, name: str) -> Any:
        """Which integer, or which function inside, the name of one value stands for; MISSING where that is open."""
        found = self.held.get(name)
        return found.known if isinstance(found, Leaf) else MISSING

    def variable(self, name: str, path: Path) -> str:
        """The variable for the part at `path` of what `name` holds."""
        found = self.variables.get((name, path))
        if found is None:
            found = self.variables[name, path] = self.names.fresh("_".join(map(word, (name, *path))))
        return found

    def value_outside(self, node: ast.expr) -> Any:
        """The Python value of a name or dotted name from outside the function; MISSING if it has none."""
        text = dotted_name(node)
        if text is None or text.split(".")[0] in self.held:
            return MISSING
        if self.source.function is None or not is_field_outside(self.source, text):
            return self.source.outer.get(text, MISSING)
        here = Outer(self.source.function, text)
        now = here.reader()()
        self.outside[here] = flattened((now,))
        return now

    def parameter_for(self, value: Hidden, node: ast.AST) -> ast.expr:
        """What stands for an array from outside, or a function inside: its name where that is known, or a parameter."""
        if isinstance(value, Version) and self.is_inside(value.scope):
            return name_read(value.text, node)
        if value not in self.hidden:
            self.hidden[value] = self.names.fresh(word(value.text))
        return name_read(self.hidden[value], node)

    def is_inside(self, other: Scope) -> bool:
        """Whether the names of `other` are known here."""
        return self is other or (self.around is not None and self.around.is_inside(other))

    def name_for(self, value: Any, node: ast.AST) -> ast.expr:
        """An expression for a value that is known: written out, or under a name from outside the function."""
        if value is None or type(value) in (bool, int, float, complex, str):
            return ast.copy_location(ast.Constant(value), node)
        if (text := self.text_of(value)) is not None:
            return at(ast.parse(text, mode="eval").body, node)
        found = next((n for n, known in self.outer.items() if known is value), None)
        if found is None:
            found = self.names.fresh(f"given_{word(getattr(value, '__name__', type(value).__name__))}")
            self.outer[found] = value
        return name_read(found, node)

    def text_of(self, value: Any) -> str | None:
        """What `value` is called in the function, where it is from outside."""
        found = (t for t, v in self.source.outer.items() if v is value and t.isascii() and not t.startswith("global "))
        return next((t for t in found if t.split(".")[0] not in self.held), None)


def at(node: ast.expr, place: ast.AST) -> ast.expr:
    """`node` in another place."""
    for inner in syntax_nodes(node):
        ast.copy_location(inner, place)
    return node


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


def joined(first: Names, second: Names) -> Names:
    """What names hold where two ways meet; one that has no value on one of them has it from the other."""
    found = dict(first)
    for name, held in second.items():
        other = found.setdefault(name, held)
        if isinstance(other, Torn):
            continue
        found[name] = held if isinstance(held, Torn) else merged(other, held) or Torn(other, held)
    return found


def met(*flows: Flow) -> Flow:
    """What is known where ways meet."""
    first, *others = flows
    for other in others:
        held = joined(first.held, other.held)
        both, all_owned = (first, other), first.owned | other.owned
        owned = {at for at in all_owned if all(at in flow.owned or at[0] not in flow.held for flow in both)}
        first = Flow(held, frozenset(owned))
    return first


def torn(names: Names) -> set[str]:
    """Those of `names` that hold one thing or another."""
    return {name for name, held in names.items() if isinstance(held, Torn)}


def stored_names(nodes: Sequence[ast.AST]) -> set[str]:
    """Names that statements give a value, but for functions in them."""
    inside = (n for node in nodes for n in of_scope(node))
    return {n.id for n in inside if isinstance(n, ast.Name) and isinstance(n.ctx, ast.Store)}


def in_variables(scope: Scope, name: str, tree: Tree, node: ast.AST) -> Tree:
    """`tree` with the variables of `name` as its leaves."""

    def variable(path: Path, leaf: Leaf) -> Leaf:
        own = scope.variable(name, path) if path else name
        if path:
            scope.texts.setdefault(own, written(name, tree, path))
        return Leaf(name_read(own, node), leaf.known)

    return with_leaves(shared(tree), variable)


def written(name: str, tree: Tree, path: Path) -> str:
    """How the part at `path` of `tree`, which `name` holds, is written."""
    text, part = name, tree
    for key in path:
        text += f".{key}" if isinstance(part, Branch) and part.kind == "record" else f"[{key!r}]"
        part = (part.item(key) if isinstance(part, Branch) else None) or part
    return text


def holds_functions(tree: Tree) -> bool:
    """Whether functions inside are among the leaves of `tree`."""
    return any(isinstance(leaf.known, Local) for _, leaf in leaves(tree))


def key_of(source: SourceFunction, given: Mapping[str, Tree]) -> Any:
    """What tells calls of a function apart that are taken apart in different ways."""
    kinds = ((n, form(t), tuple(map(id, statics(t))), tuple(map(id, types_in(t)))) for n, t in given.items())
    own = ((n, path) for n, t in given.items() for path in fresh_paths(t))
    return source.code, source.node, tuple(kinds), tuple(own)
