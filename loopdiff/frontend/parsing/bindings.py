"""What names stand for while a function is parsed, for sure or depending on the way there."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from loopdiff.errors import Diagnostic, Span
from loopdiff.frontend.arrays.values import Quantity, View
from loopdiff.immutable import immutable
from loopdiff.ir import nodes as ir
from loopdiff.source.functions import SourceFunction


@immutable
class Cell:
    """The name certainly has a value, in the rank-0 array `cell`."""

    cell: str


@immutable
class ArrayName:
    """The name stands for `array`."""

    array: str


@immutable
class ListName:
    """The name stands for a list: its elements are those of `array` before the place in the cell `count`, from the one
    in the cell `head` on, if it gives away its first ones."""

    array: str
    count: str
    head: str | None = None


@immutable
class ListRow:
    """The name stands for a list in a list: its elements are those of `view`, of the array that the list is kept in."""

    view: View

    @property
    def array(self) -> str:
        return self.view.array


AnyList = ListName | ListRow


@immutable
class Given:
    """The name stands for `value`, which nothing changes."""

    value: ir.Expr


@dataclass(frozen=True, slots=True, eq=False)
class Outside:
    """The name stands for a Python value from outside the function that is no number, such as another function."""

    value: Any


@dataclass(frozen=True, slots=True, eq=False)
class LocalFunction:
    """The name stands for a function that is defined inside another: its names outside mean what they do in `around`.

    Defaults in the signature of `source` are parsed values; `around` is a `State`.
    """

    source: SourceFunction
    around: Any


Meaning = Cell | ArrayName | View | ListName | ListRow | Given | Outside | LocalFunction


@immutable
class Unsure:
    """The name has the value of `meant` only if the statement at `span` gave it one.

    `ran`: a condition, still true to what it was there, under which it did; None when none can be stated.
    """

    meant: Meaning
    span: Span
    ran: ir.Expr | None

    def without_value(self, name: str, *, is_told: bool) -> str:
        """That `name` has none: a loop that gives it one did not run, or, if a variable tells that, what else does."""
        why = f"what gives it one at {ir.PLACE} did not run" if is_told else f"the loop at {ir.PLACE} did not run"
        return f"`{name}` has no value: {why}"


@immutable
class Mixed:
    """After `span` the name stands for different things, of this `kind`, depending on the way there."""

    span: Span
    kind: str = "arrays"

    @staticmethod
    def of(bindings: Iterable[Binding | None], span: Span) -> Mixed:
        """What a name stands for that may have any of the `bindings`."""
        is_called = any(isinstance(b, LocalFunction | Outside) or b == Mixed(span, "functions") for b in bindings)
        return Mixed(span, "functions" if is_called else "arrays")


@immutable
class Rejected:
    """What gave the name its meaning was rejected for the `cause`: there is no more to say of it."""

    cause: Diagnostic


@immutable
class Varying:
    """The name stands for `options[k]` where the cell `which` holds k."""

    which: str
    options: tuple[Meaning, ...]


class VaryingUsed(Exception):
    """A statement uses a name that stands for one of several arrays: the cell `which` says for which."""

    def __init__(self, which: str) -> None:
        self.which = which


Binding = Meaning | Unsure | Mixed | Varying | Rejected
Bindings = dict[str, Binding]


def meaning_of(binding: Binding | None) -> Binding | None:
    """What a name stands for if it has a value."""
    return binding.meant if isinstance(binding, Unsure) else binding


def without_dead(bindings: Bindings, dead: frozenset[str]) -> Bindings:
    """`bindings` without the `dead` names of arrays: nobody reads them before they are bound again."""
    return {n: b for n, b in bindings.items() if n not in dead or not is_of_array(b)}


def is_of_array(binding: Binding) -> bool:
    """Whether the name stands for an array, or for a list, which is kept in one."""
    match binding:
        case Unsure(meant=meant):
            return isinstance(meant, ArrayName | View | AnyList)
        case Varying(options=options):
            return all(isinstance(o, ArrayName | View) for o in options)
        case Mixed(kind=kind):
            return kind == "arrays"
        case _:
            return isinstance(binding, ArrayName | View | AnyList)


class Record(tuple["Value", ...]):
    """Several values that have names."""

    names: tuple[str, ...]

    @staticmethod
    def of(names: Sequence[str], values: Iterable[Value]) -> Record:
        made = Record(values)
        made.names = tuple(names)
        return made

    def at(self, field: str | int) -> Value | None:
        """The value of that name, or at that place; None if there is none."""
        if isinstance(field, str):
            return self[self.names.index(field)] if field in self.names else None
        return self[field] if -len(self) <= field < len(self) else None


Value = Quantity | ArrayName | ListName | ListRow | Varying | Outside | LocalFunction | tuple["Value", ...]
Values = tuple[Value, ...]
