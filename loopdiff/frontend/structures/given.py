"""The structures of a call's arguments: lists, tuples, dictionaries and records of numbers and arrays, by `optree`."""

from __future__ import annotations

import dataclasses
from ast import Constant
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any

import numpy as np
import optree

from loopdiff.errors import NOWHERE, ArgumentError
from loopdiff.errors.codes import reject
from loopdiff.frontend.classes import is_plain_class
from loopdiff.frontend.structures.signs import is_known, is_plain_dataclass, is_plain_record
from loopdiff.frontend.structures.trees import Branch, Kind, Leaf, Rank, Static, Tree
from loopdiff.source.functions import MISSING
from loopdiff.source.named.ranges import BOUNDS

SPACE = "loopdiff"
ROWS = (list, tuple, dict)
NO_RECORDS: set[type[Any]] = set()  # classes of leaves, which are no dataclasses
# Loops over a dictionary go through it in the order in which it was filled. The switch is back once nobody has it.
IN_ORDER = optree.dict_insertion_ordered(True, namespace=SPACE)
IN_ORDER.__enter__()


def range_of(names: tuple[str, ...], parts: Iterable[Any]) -> range | None:
    """A range of these bounds; None where these are gradients, which integers have none of."""
    bounds = tuple(parts)
    return None if None in bounds else range(*bounds)


optree.register_pytree_node(
    range, lambda r: ((r.start, r.stop, r.step), BOUNDS, BOUNDS), range_of, namespace=SPACE  # type: ignore[arg-type]
)  # fmt: skip


def is_structure(value: Any) -> bool:
    """Whether an argument is no number and no array."""
    return (
        isinstance(value, (*ROWS, range)) or is_known(value) or is_plain_dataclass(value) or is_plain_class(type(value))
    )


def flattened(values: tuple[Any, ...]) -> tuple[list[Any], Any]:
    """The leaves of arguments, and how they stand in them."""
    try:
        found, spec = optree.tree_flatten(values, none_is_leaf=True, namespace=SPACE)  # type: ignore[arg-type]
    except RecursionError:
        message = "an argument holds itself, or more than can be gone through"
        raise ArgumentError(reject("LD210", message, NOWHERE)) from None
    kinds = set(map(type, found))
    if kinds <= NO_RECORDS:
        return found, spec
    records = {k for k in kinds if is_plain_class(k) or (dataclasses.is_dataclass(k) and is_plain_record(k))}
    for kind in records:
        register(kind)
    NO_RECORDS.update(kinds - records)
    return flattened(values)


def register(kind: type[Any]) -> None:
    """Teach `optree` the fields of a dataclass, or attributes of objects. Made again from leaves these skip what their
    `__init__` checks: gradients need not be what it asks of parameters."""
    fields = tuple(field.name for field in dataclasses.fields(kind)) if dataclasses.is_dataclass(kind) else None

    def take(value: Any) -> tuple[tuple[Any, ...], tuple[str, ...], tuple[str, ...]]:
        found = vars(value) if fields is None else {name: getattr(value, name) for name in fields}
        return tuple(found.values()), tuple(found), tuple(found)

    def make(names: tuple[str, ...], parts: Iterable[Any]) -> Any:
        return with_attributes(kind, dict(zip(names, parts, strict=True)))

    optree.register_pytree_node(kind, take, make, namespace=SPACE)  # type: ignore[arg-type]


def with_attributes(kind: type[Any], parts: dict[str, Any]) -> Any:
    """An object of a class with these attributes."""
    new: Any = kind.__new__
    made = new(kind)
    for name, part in parts.items():
        object.__setattr__(made, name, part)
    return made


def trees_of(spec: Any, values: Sequence[Any]) -> list[Tree]:
    """The tree of each argument, from the leaves of all."""
    rest = iter(values)
    return [tree_of(child, rest, given_leaf) for child in spec.children()]


def tree_of(spec: Any, values: Iterator[Any], leaf_of: Callable[[Any], Tree]) -> Tree:
    if spec.is_leaf():
        return leaf_of(next(values))
    if kind_of(spec.type) == "record" and not is_plain_record(spec.type):
        message = f"`{spec.type.__name__}` does more than hold its fields"
        raise ArgumentError(reject("LD210", message, NOWHERE, "pass its fields, or a dictionary of them"))
    items = tuple(tree_of(child, values, leaf_of) for child in spec.children())
    keys = getattr(spec.type, "_fields", None) if issubclass(spec.type, tuple) else None
    return Branch(kind_of(spec.type), spec.type, tuple(spec.entries()) if keys is None else keys, items)


def outer_tree(flat: tuple[list[Any], Any]) -> Tree:
    """The tree of a structure from outside, `flat`: its leaves are arrays and floating numbers, the rest is known."""
    found, spec = flat
    return tree_of(spec.children()[0], iter(found), outer_leaf)


def given_leaf(value: Any) -> Tree:
    """A leaf of what a call gives."""
    return Static(value) if is_known(value) else Leaf(Constant(0), known_rank(value))


def known_rank(value: Any) -> Any:
    """How many axes an array has; MISSING for numbers."""
    shape = getattr(value, "shape", ())
    return Rank(len(shape)) if shape != () else MISSING


def outer_leaf(value: Any) -> Tree:
    """A leaf of what stands outside."""
    if not is_part(value):
        return Leaf(Constant(0), known_rank(value))
    return Leaf(Constant(value), value) if isinstance(value, int) else Static(value)


def is_part(value: Any) -> bool:
    """Whether a value in a structure from outside is part of the program."""
    return not isinstance(value, float | complex | np.ndarray | np.number)


def kind_of(kind: type[Any]) -> Kind:
    if issubclass(kind, dict):
        return "dict"
    return "tuple" if kind is tuple else "list" if kind is list else "record"


def of_values(tree: Tree, values: Iterator[Any]) -> Any:
    """What `tree` says, of these values of its leaves."""
    match tree:
        case Leaf():
            return next(values)
        case Static(value=value):
            return value
        case Branch(kind="record", type=kind, keys=keys, items=items):
            parts = [of_values(item, values) for item in items]
            is_tuple = issubclass(kind, tuple)
            return kind(*parts) if is_tuple else with_attributes(kind, dict(zip(keys, parts, strict=True)))
        case Branch(kind="dict", keys=keys, items=items):
            return {key: of_values(item, values) for key, item in zip(keys, items, strict=True)}
        case Branch(type=kind, items=items):
            return kind([of_values(item, values) for item in items])


def of_leaves(spec: Any, values: Sequence[Any]) -> Any:
    """What stands as `spec` says, of other leaves."""
    return optree.tree_unflatten(spec, values)


def leaves_like(tree: Tree, value: Any) -> Iterator[Any]:
    """What `value` has in the places of the leaves of `tree`, in their order; None stands for all that would be in it.

    Raises ValueError where it has something else there.
    """
    match tree:
        case Static():
            return
        case Leaf():
            yield value
        case Branch(keys=keys, items=items):
            for part, item in zip(parts_like(tree, value, len(keys)), items, strict=True):
                yield from leaves_like(item, part)


def parts_like(tree: Branch, value: Any, count: int) -> Sequence[Any]:
    """The parts of `value` that are called as those of `tree`."""
    if value is None:
        return (None,) * count
    if tree.kind == "dict" and isinstance(value, dict) and value.keys() == set(tree.keys):
        return [value[key] for key in tree.keys]
    if tree.kind in ("tuple", "list") and isinstance(value, tuple | list) and len(value) == count:
        return value
    if tree.kind == "record" and isinstance(value, tree.type):
        return [getattr(value, name) for name in tree.keys]
    raise ValueError
