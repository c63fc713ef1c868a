"""Derivatives that a program calls, as `energy.grad(x)`: from the parser, to which each is a call of a function that is
not known yet, to where the types of its arguments are, and the loops of the derivative take its place.

`binding.derivatives` writes them out. What they are is asked of the decorated function: nothing here derives anything.
"""

from __future__ import annotations

import inspect
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal, Protocol, cast

from loopdiff.errors import LoopdiffError, Span
from loopdiff.frontend.binding.types import STRONG, Kind
from loopdiff.frontend.capture import ArgumentType
from loopdiff.frontend.extents import Question
from loopdiff.immutable import immutable, replace
from loopdiff.ir import nodes as ir
from loopdiff.ir.types import F64, ArrayType, ScalarType
from loopdiff.ir.typing import type_env, type_of
from loopdiff.ir.walk import written_arrays
from loopdiff.rules.definitions import Rule
from loopdiff.source.functions import SourceFunction
from loopdiff.source.records import is_differentiable

Method = Literal["grad", "value_and_grad", "jvp", "hvp", "call"]
DIRECTED = ("jvp", "hvp")  # of these arguments, along these directions


@immutable
class Fields:
    """A named tuple: the results of the loops at `places`, by name."""

    names: tuple[str, ...]
    places: tuple[int, ...]


@immutable
class DerivedLoops:
    """A derivative for arguments of some types: normal `loops`, whose parameters are those of the function, and those
    for `directions`, by the argument that each is of.

    `given` is what a call gives: results of the loops by their place, and records of them. `asked` are the questions
    of the extents of arguments whose answers decide what it is.
    """

    loops: ir.LoopSet
    given: Fields | tuple[int | Fields, ...]
    directions: Mapping[str, str]
    asked: frozenset[Question]

    @property
    def written(self) -> frozenset[str]:
        """Arrays of the caller that the loops write."""
        return written_arrays(self.loops.body) & frozenset(self.loops.params)

    @property
    def results(self) -> tuple[ScalarType | ArrayType, ...]:
        """The types of the results, in the order of the loops."""
        env = type_env(self.loops)
        return tuple(
            type_of(r.value, env) if isinstance(r, ir.ScalarResult) else env.arrays[r.array] for r in self.loops.results
        )

    @property
    def numbers(self) -> tuple[Kind, ...]:
        """The kinds of the results that are numbers: a float64 comes as a Python number, which is weak."""
        return tuple(Kind.WEAK if r is F64 else STRONG[r] for r in self.results if isinstance(r, ScalarType))

    def is_called_like(self, other: DerivedLoops) -> bool:
        """Whether a call of one is a call of the other: the same results, the same arrays written."""
        mine, others = (
            (d.given, d.directions, d.written, d.results, d.loops.params, d.asked) for d in (self, other)
        )  # fmt: skip
        return mine == others


class Derivable(Protocol):
    """What `vectorize_grad` makes of a function, seen from here."""

    signature: inspect.Signature
    requested: tuple[str, ...] | None

    def flat(self, source: SourceFunction, sources: Any, wrt: tuple[str, ...] | None) -> Derivable:
        """The function of the leaves of structures, which `source` is, differentiated by some of them."""
        ...

    def record_of(self, names: tuple[str, ...]) -> type[Any]:
        """The class of its gradients by these arguments."""
        ...

    @property
    def identity(self) -> str | None:
        """A text that says which function this is and how it is differentiated; None if there is none."""
        ...

    @property
    def innermost(self) -> Any:
        """The Python function."""
        ...

    def derivative(
        self, method: Method, types: Mapping[str, ArgumentType], directions: tuple[str, ...]
    ) -> DerivedLoops | str:
        """The derivative for arguments of `types`; in words why there is none that a program can call."""
        ...


def asked_here(error: LoopdiffError, name: str, span: Span) -> LoopdiffError:
    """`error`, of a function whose derivative `name` a program calls at `span`, with that place."""
    place = (f"`{name}` is called here", span)
    return type(error)(*(replace(d, related=(*d.related, place)) for d in error.diagnostics))


def as_derivable(value: Any) -> Derivable | None:
    """`value` if `vectorize_grad` made it."""
    return cast(Derivable, value) if is_differentiable(value) else None


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class Derivative(Rule):
    """A derivative as the function of a call: its parameters are those of the loops, then the arrays that it fills.

    `said` is what the program calls. `made` are the loops for arguments of `types`, which the parser supposed; binding
    has `found` those that they have.
    """

    said: str
    of: Derivable
    method: Method
    types: Mapping[str, ArgumentType]
    along: tuple[str, ...]
    made: DerivedLoops
    found: Mapping[str, ArgumentType] = field(default_factory=dict)

    @property
    def bound(self) -> DerivedLoops | str:
        """The loops for the types that were found; in words why there are none."""
        return self.made if self.found == self.types else self.of.derivative(self.method, self.found, self.along)


def derivative_rule(
    said: str,
    of: Derivable,
    method: Method,
    types: Mapping[str, ArgumentType],
    along: tuple[str, ...],
    made: DerivedLoops,
) -> Derivative:
    """The derivative `made` as the function of calls."""
    name = said.replace(".", "_")
    filled = tuple(f"{name} {k}" for k, r in enumerate(made.results) if isinstance(r, ArrayType))
    return Derivative(
        name=name, function=of.innermost, params=(*made.loops.params, *filled), active=(), constant=frozenset(),
        overwrites=made.written, outputs=frozenset(filled), result=None, derived={}, said=said, of=of,
        method=method, types=types, along=along, made=made,
    )  # fmt: skip
