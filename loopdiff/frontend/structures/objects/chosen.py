"""What `wrt` names in structures: an argument, or what stands in one."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from typing import Any

from loopdiff.errors import NOWHERE, DifferentiationError
from loopdiff.errors.codes import reject
from loopdiff.frontend.structures.trees import Branch, Leaf, Path, Tree, described, leaves
from loopdiff.source.parameters import place_named


def chosen_names(
    parameters: Mapping[str, tuple[str, ...]], trees: Mapping[str, Tree], text: str, floating: Collection[str]
) -> list[str]:
    """The leaves to differentiate by of an argument, or of what stands in it, that `text` names. Raises
    DifferentiationError: LD401 if nothing stands there, LD402 if that holds no floating numbers."""
    name, path = place_named(text) or (text, ())
    names = parameters[name]
    if names == (name,) and not path:
        return [name]
    place = place_in(trees[name], path)
    if place is None:
        message, hint = f"`wrt` names `{text}`, and nothing stands there", f"`{name}` is {described(trees[name])}"
        raise DifferentiationError(reject("LD401", message, NOWHERE, hint))
    pairs = zip(leaves(trees[name]), names, strict=True)
    found = [n for (at, _), n in pairs if at[: len(place)] == place and n in floating]
    if not found:
        message = f"`wrt` names `{text}`, which holds no floating numbers here"
        raise DifferentiationError(reject("LD402", message, NOWHERE))
    return found


def names_one(trees: Mapping[str, Tree], text: str) -> bool:
    """Whether `text` in `wrt` names a number or an array, and no structure."""
    name, path = place_named(text) or (text, ())
    tree = trees[name]
    for key in place_in(tree, path) or ():
        tree = tree.item(key) if isinstance(tree, Branch) else None
    return isinstance(tree, Leaf)


def place_in(tree: Tree, path: Sequence[Any]) -> Path | None:
    """Where the keys, attributes and places in `path` lead, which may count from the end; None for nowhere."""
    place: list[Any] = []
    for step in path:
        if not isinstance(tree, Branch):
            return None
        is_row = (
            issubclass(tree.type, tuple | list) and isinstance(step, int) and -len(tree.keys) <= step < len(tree.keys)
        )
        place.append(tree.keys[step] if is_row else step)
        found = tree.item(place[-1])
        if found is None:
            return None
        tree = found
    return tuple(place)
