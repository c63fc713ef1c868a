"""What `vectorize_grad` means in plain Python: gradients from running the function itself on numbers with slopes."""

from __future__ import annotations

import inspect
import re
from collections import namedtuple
from collections.abc import Mapping
from typing import Any

import numpy as np

from loopdiff.fuzz.interfaces.jets import Jet, levels, slope_at
from loopdiff.fuzz.interfaces.trees import Path, each_leaf, held_items, is_real, remade
from loopdiff.immutable import immutable

STEP = re.compile(r"\.(\w+)|\[(-?\d+)\]|\[['\"](\w+)['\"]\]")


@immutable
class Place:
    """A part of an argument, as `wrt` names it."""

    root: str
    path: Path

    def holds(self, argument: Any, path: Path) -> bool:
        """Whether what stands at `path` of the `argument` is in this part."""
        value: Any = argument
        for step, key in zip(self.path, path, strict=False):
            if isinstance(step, int) and isinstance(value, list | tuple):
                step %= len(value)
            fields = getattr(value, "_fields", None)
            if step != (fields[key] if fields and isinstance(step, str) else key):
                return False
            value = dict(held_items(value) or ())[key]
        return len(path) >= len(self.path)


def place_of(text: str) -> Place:
    """`params["w"][-1].b`, taken apart."""
    found = re.match(r"\w+", text)
    assert found
    steps = (attribute or (int(place) if place else key) for attribute, place, key in STEP.findall(text[found.end() :]))
    return Place(found[0], tuple(steps))


class Plain:
    """A function with the gradients that it would have if it were decorated."""

    def __init__(self, function: Any, wrt: Any = None, has_aux: bool = False) -> None:
        self.function, self.has_aux = function, has_aux
        self.signature = inspect.signature(function)
        names = list(self.signature.parameters)
        self.own = names[1:] if names[:1] == ["self"] else names
        asked = None if wrt is None else [wrt] if isinstance(wrt, str | int) else wrt
        texts = None if asked is None else [self.own[w] if isinstance(w, int) else w for w in asked]
        self.places = None if texts is None else [place_of(text) for text in texts]

    def __get__(self, instance: Any, owner: Any = None) -> Any:
        return self if instance is None else BoundPlain(self, instance)

    def __call__(self, *args: Any, **named: Any) -> Any:
        return self.function(*args, **named)

    def arguments(self, args: tuple[Any, ...], named: Mapping[str, Any]) -> inspect.BoundArguments:
        bound = self.signature.bind(*args, **named)
        bound.apply_defaults()
        return bound

    def is_chosen(self, root: str, value: Any, path: Path, leaf: Any) -> bool:
        if not is_real(leaf):
            return False
        if self.places is None:
            return root in self.own
        return any(place.root == root and place.holds(value, path) for place in self.places)

    def roots(self, given: Mapping[str, Any]) -> list[str]:
        """The arguments that have gradients, in the order in which these come."""
        order = self.own if self.places is None else list(dict.fromkeys(place.root for place in self.places))
        return [r for r in order if any(self.is_chosen(r, given[r], path, v) for path, v in each_leaf(given[r]))]

    def loss_of(self, value: Any) -> Any:
        return value[0] if self.has_aux else value

    def value_and_grad(self, *args: Any, **named: Any) -> tuple[Any, Any]:
        bound = self.arguments(args, named)
        value, given = self.function(*bound.args, **bound.kwargs), bound.arguments

        def slope(root: str, path: Path, leaf: Any) -> Any:
            if not self.is_chosen(root, given[root], path, leaf):
                return None
            if not isinstance(leaf, np.ndarray):
                return self.slope_by(bound, root, path, ())
            found = np.empty(leaf.shape, object)
            for place in np.ndindex(leaf.shape):
                found[place] = self.slope_by(bound, root, path, place)
            return found

        roots = self.roots(given)
        trees = [remade(lambda path, leaf, r=root: slope(r, path, leaf), given[root]) for root in roots]
        return value, named_tuple("Gradients", roots)(*trees)

    def slope_by(self, bound: inspect.BoundArguments, root: str, path: Path, place: Path) -> Any:
        """The slope of the loss by one number."""
        level = next(levels)

        def moved(at: Path, leaf: Any) -> Any:
            if at != path:
                return leaf
            if not isinstance(leaf, np.ndarray):
                return Jet(level, leaf, 1.0)
            found = leaf.astype(object)
            found[place] = Jet(level, leaf[place], 1.0)
            return found

        return slope_at(level, self.loss_of(self.run_with(bound, {root: remade(moved, bound.arguments[root])})))

    def run_with(self, bound: inspect.BoundArguments, changed: Mapping[str, Any]) -> Any:
        other = inspect.BoundArguments(self.signature, {**bound.arguments, **changed})  # type: ignore[arg-type]
        return self.function(*other.args, **other.kwargs)

    def grad(self, *args: Any, **named: Any) -> Any:
        value, gradients = self.value_and_grad(*args, **named)
        if not self.has_aux:
            return gradients
        beside = tuple(value[1:])
        return gradients, beside[0] if len(beside) == 1 else beside

    def along(self, bound: inspect.BoundArguments, directions: Mapping[str, Any]) -> Any:
        """What the result changes by along `directions` of arguments, which hold None where nothing moves."""
        level = next(levels)
        found = self.run_with(bound, moved_along(level, bound.arguments, directions))
        return remade(lambda _, leaf: slopes_in(level, leaf), found)

    def gradients_along(self, bound: inspect.BoundArguments, directions: Mapping[str, Any]) -> Any:
        """What the gradients change by along `directions`."""
        level = next(levels)
        given = {**bound.arguments, **moved_along(level, bound.arguments, directions)}
        other = inspect.BoundArguments(self.signature, given)  # type: ignore[arg-type]
        _, gradients = self.value_and_grad(*other.args, **other.kwargs)
        return type(gradients)(*(remade(lambda _, leaf: slopes_in(level, leaf), tree) for tree in gradients))


def moved_along(level: int, given: Mapping[str, Any], directions: Mapping[str, Any]) -> dict[str, Any]:
    """Arguments whose numbers change along `directions` at a level."""

    def moved(root: str, path: Path, leaf: Any) -> Any:
        direction = dict(each_leaf(directions[root])).get(path)
        if direction is None:
            return leaf
        if not isinstance(leaf, np.ndarray):
            return Jet(level, leaf, direction)
        return np.frompyfunc(lambda v, d: Jet(level, v, d), 2, 1)(leaf, direction)

    return {r: remade(lambda path, leaf, r=r: moved(r, path, leaf), given[r]) for r in directions}


def slopes_in(level: int, leaf: Any) -> Any:
    """The slopes of a result; None for integers and the like."""
    if isinstance(leaf, np.ndarray) and leaf.dtype == object:
        return np.frompyfunc(lambda v: slope_at(level, v), 1, 1)(leaf)
    return slope_at(level, leaf) if isinstance(leaf, Jet | float) else None


class BoundPlain:
    """A method of an instance."""

    def __init__(self, of: Plain, instance: Any) -> None:
        self.of, self.instance = of, instance

    def __call__(self, *args: Any, **named: Any) -> Any:
        return self.of(self.instance, *args, **named)

    def grad(self, *args: Any, **named: Any) -> Any:
        return self.of.grad(self.instance, *args, **named)

    def value_and_grad(self, *args: Any, **named: Any) -> Any:
        return self.of.value_and_grad(self.instance, *args, **named)


def named_tuple(name: str, fields: list[str]) -> Any:
    return namedtuple(name, fields)  # type: ignore[misc]


def plain_decorator(function: Any = None, /, **settings: Any) -> Any:
    """Stands for `vectorize_grad`."""
    return Plain(function, **settings) if function is not None else lambda f: Plain(f, **settings)
