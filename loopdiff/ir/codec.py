"""LoopSets, and what else is derived from a function, as JSON: text that says what is there and can do nothing.

Everything that may occur is a frozen dataclass or an enumeration of `KNOWN`, a tuple, a set, a mapping, a number or a
string. The schema is that of the dataclasses: a field has the types that its annotation names, when it is written and
when it is read. Values are listed one by one, what they are made of before them, so that what is shared stays shared:
reading takes one pass, a place is one in what was read so far, and nothing can lead back to itself.
"""

from __future__ import annotations

import base64
import json
import sys
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, fields, is_dataclass
from enum import Enum
from functools import cache
from types import NoneType, UnionType
from typing import Any, Literal, NamedTuple, TypeVar, Union, get_args, get_origin

from loopdiff.errors import Home, Span
from loopdiff.ir import nodes
from loopdiff.ir.ops import Op
from loopdiff.ir.types import ArrayType, ScalarType
from loopdiff.rules.definitions import Rule, rule_key, rule_of_key
from loopdiff.settings.requests import Request

PLAIN = frozenset((str, int, float, bool, NoneType))
Replacing = Mapping[type, Callable[[Any], Any]]
NOTHING: Replacing = {}
C = TypeVar("C", bound=type)
KNOWN: dict[str, type] = {}


class Mark:
    """What an item of the list begins with, if it is not the number of a dataclass."""

    TUPLE, PLAIN_TUPLE, SET, MAPPING, SCALAR, MEMBER, BYTES, RULE, REPLACED = range(-1, -10, -1)


class CodecError(ValueError):
    """A value that has no place in the schema, or a text that says no value."""


def known(cls: C) -> C:
    """Let instances of `cls` be written and read, under its name."""
    found = KNOWN.setdefault(cls.__name__, cls)
    assert found is cls
    return cls


for node in (Home, Span, Op, ArrayType, ScalarType, Request, *vars(nodes).values()):
    if isinstance(node, type) and (is_dataclass(node) or issubclass(node, Enum)) and node is not Rule:
        known(node)


class Field(NamedTuple):
    """A field of a dataclass: the types that it may have, whether they are all plain, and what sets it."""

    name: str
    allowed: frozenset[type]
    is_plain: bool
    set: Callable[[Any, Any], None]


@cache
def schema(cls: type) -> tuple[Field, ...]:
    """The fields of a dataclass."""
    found = ((f.name, allowed_by(cls.__module__, str(f.type))) for f in fields(cls))
    return tuple(Field(name, types, types <= PLAIN, getattr(cls, name).__set__) for name, types in found)


@cache
def allowed_by(module: str, annotation: str) -> frozenset[type]:
    """The types that an annotation in a module names: `get_type_hints` would evaluate each over and over."""
    return allowed(eval(annotation, vars(sys.modules[module])))


def allowed(hint: Any) -> frozenset[type]:
    """The types of the values that an annotation names."""
    origin = get_origin(hint)
    if origin in (Union, UnionType):
        return frozenset[type]().union(*map(allowed, get_args(hint)))
    if origin is Literal:
        return frozenset(map(type, get_args(hint)))
    if origin is not None:
        return frozenset((dict if issubclass(origin, Mapping) else origin,))
    return frozenset((NoneType if hint is None else hint,))


# -- writing -------------------------------------------------------------------------------------------------
def encode(value: Any, replacing: Replacing = NOTHING) -> bytes:
    """The text of `value`. Raises CodecError.

    Instances of the types in `replacing` are written as what these functions make of them.
    """
    table = Table(replacing)
    try:
        root = table.add(value)
        found = {"classes": list(table.classes), "table": table.items, "root": root}
        return json.dumps(found, separators=(",", ":")).encode()
    except (RecursionError, KeyError, ValueError) as error:
        raise CodecError(f"{type(error).__name__}: {error}") from error


@dataclass(slots=True)
class Table:
    """The list in the making. `places` has for each value, by identity, its number, and keeps it alive."""

    replacing: Replacing
    items: list[list[Any]] = field(default_factory=list)
    classes: dict[str, int] = field(default_factory=dict)
    places: dict[int, tuple[int, Any]] = field(default_factory=dict)

    def add(self, value: Any) -> int:
        """The number of `value`, listed with all that it is made of."""
        if id(value) in self.places:
            return self.places[id(value)][0]
        item = self.item(value)
        number = len(self.items)
        self.items.append(item)
        self.places[id(value)] = number, value
        return number

    def item(self, value: Any) -> list[Any]:
        cls = type(value)
        if cls in self.replacing:
            return [Mark.REPLACED, self.number(cls), self.add(self.replacing[cls](value))]
        if cls in PLAIN:
            return [Mark.SCALAR, value]
        if cls is tuple:
            is_plain = all(type(v) in PLAIN for v in value)
            return [Mark.PLAIN_TUPLE, *value] if is_plain else [Mark.TUPLE, *map(self.add, value)]
        if cls is frozenset:
            return [Mark.SET, *map(self.add, sorted(value, key=repr))]
        if isinstance(value, Mapping):
            return [Mark.MAPPING, *(self.add(part) for pair in value.items() for part in pair)]
        if cls is bytes:
            return [Mark.BYTES, base64.b64encode(value).decode()]
        if cls is Rule:
            return [Mark.RULE, rule_key(value)]
        if isinstance(value, Enum):
            return [Mark.MEMBER, self.number(cls), value.name]
        return self.instance(value, cls)

    def instance(self, value: Any, cls: type) -> list[Any]:
        item: list[Any] = [self.number(cls)]
        for one in schema(cls):
            part = getattr(value, one.name)
            kind = dict if isinstance(part, Mapping) else type(part)
            if kind not in one.allowed:
                raise CodecError(f"{cls.__name__}.{one.name} is a {kind.__name__}")
            item.append(part if one.is_plain else self.add(part))
        return item

    def number(self, cls: type) -> int:
        if KNOWN.get(cls.__name__) is not cls:
            raise CodecError(f"a {cls.__name__} cannot be kept")
        return self.classes.setdefault(cls.__name__, len(self.classes))


# -- reading -------------------------------------------------------------------------------------------------
def decode(text: bytes, replacing: Replacing = NOTHING) -> Any:
    """The value that `encode` gave `text` for. Raises CodecError for any other text.

    `replacing` has for the types that were replaced the functions that make them again.
    """
    try:
        found = json.loads(text)
        classes = [KNOWN[name] for name in found["classes"]]
        schemas = [None if issubclass(cls, Enum) else schema(cls) for cls in classes]
        values: list[Any] = []
        for item in found["table"]:
            number = item[0]
            if number >= 0:
                values.append(instance_of(classes[number], schemas[number], item, values))
            else:
                values.append(other_value(number, item, classes, values, replacing))
        return values[found["root"]]
    except (RecursionError, KeyError, IndexError, TypeError, ValueError, AttributeError) as error:
        raise CodecError(f"{type(error).__name__}: {error}") from error


def instance_of(cls: type, known_fields: tuple[Field, ...] | None, item: list[Any], values: list[Any]) -> Any:
    if known_fields is None:
        raise CodecError(f"a {cls.__name__} with fields")
    made = object.__new__(cls)
    for (name, types, is_plain, put), part in zip(known_fields, item[1:], strict=True):
        value = part if is_plain else values[part]
        if type(value) not in types:
            raise CodecError(f"{cls.__name__}.{name} is a {type(value).__name__}")
        put(made, value)
    return made


def other_value(kind: int, item: list[Any], classes: list[type], values: list[Any], replacing: Replacing) -> Any:
    """A value that is no instance of a dataclass, or was replaced."""
    parts = item[1:]
    match kind:
        case Mark.PLAIN_TUPLE if PLAIN.issuperset(map(type, parts)):
            return tuple(parts)
        case Mark.TUPLE:
            return tuple([values[p] for p in parts])
        case Mark.SET:
            return frozenset(values[p] for p in parts)
        case Mark.MAPPING:
            found = [values[p] for p in parts]
            return dict(zip(found[::2], found[1::2], strict=True))
        case Mark.MEMBER:
            number, name = parts
            member: Any = classes[number]
            return member[name]
        case Mark.REPLACED:
            number, place = parts
            return replacing[classes[number]](values[place])
        case _:
            return single_value(kind, *parts)


def single_value(kind: int, value: Any) -> Any:
    match kind:
        case Mark.SCALAR if type(value) in PLAIN:
            return value
        case Mark.BYTES:
            return base64.b64decode(value, validate=True)
        case Mark.RULE:
            return rule_of_key(value)
        case _:
            raise CodecError(f"{kind}: {value!r} is no value")
