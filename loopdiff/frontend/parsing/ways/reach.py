"""Which arrays a program can still come to: through names, and through functions that hold some."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from loopdiff.frontend.arrays.values import View
from loopdiff.frontend.parsing.bindings import (
    ArrayName,
    Binding,
    Bindings,
    ListName,
    ListRow,
    LocalFunction,
    Unsure,
    Value,
    Varying,
)
from loopdiff.frontend.parsing.state import State


def arrays_of(binding: Binding | Value | None) -> frozenset[str]:
    """Arrays that a name may stand for, or for a part of, or that the function holds for which it stands."""
    match binding:
        case ArrayName(array=array) | View(array=array) | ListName(array=array):
            return frozenset((array,))
        case ListRow(view=View(array=array)):
            return frozenset((array,))
        case Unsure(meant=meant):
            return arrays_of(meant)
        case Varying(options=options):
            return arrays_of_all(options)
        case LocalFunction():
            return arrays_of_all(held_by(binding, set()))
        case _:
            return frozenset()


def arrays_of_all(bindings: Iterable[Binding | Value | None]) -> frozenset[str]:
    return frozenset(array for b in bindings for array in arrays_of(b))


def held_by(function: LocalFunction, met: set[int]) -> Iterator[Binding | Value]:
    """What `function` holds: defaults, and names of functions around it that have returned. Those of functions that
    have not are found anyway, and mean what they do at a call."""
    found = [p.default for p in function.source.signature.parameters.values()]
    around: State | None = function.around
    while around is not None and not any(s is around for s in around.whole.active) and id(around) not in met:
        met.add(id(around))
        found += around.bindings.values()
        around = around.around
    for value in found:
        if isinstance(value, LocalFunction):
            yield from held_by(value, met)
        else:
            yield value


def others(state: State, bindings: Bindings, name: str) -> Iterator[Binding]:
    """What is bound to other names than `name` of `bindings`, those of the functions around included, and what loops
    around go over."""
    yield from (b for n, b in bindings.items() if n != name)
    for around in state.whole.active:
        yield from map(ArrayName, around.iterated)
        if around is not state:
            yield from around.bindings.values()
