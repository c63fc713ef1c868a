"""Frozen dataclasses that cost little to define and to make: `@immutable` for `@dataclass(frozen=True, slots=True)`.

A dataclass compiles seven functions when its module is imported, most of which nobody ever calls: for the hundreds of
classes of a compiler, a tenth of the time until a first gradient. Here a method is compiled when it is first called,
and `__init__` sets fields through their slots. Everything else is as of any dataclass: `fields`, `replace`, `match`.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import MISSING, Field, FrozenInstanceError, dataclass, field, fields
from typing import Any, TypeVar, dataclass_transform

C = TypeVar("C")
Method = Callable[..., Any]


class HashedOnce:
    """Has room for the hash of a frozen value, which is then found once: a tree that is a key of many tables would be
    walked as often as it is looked up. It is not a field: it is neither compared, nor copied, nor kept."""

    __slots__ = ("own_hash",)


class NamedOnce:
    """Has room for the names in a frozen value, likewise (`ir.mentions`)."""

    __slots__ = ("own_names",)
    own_names: Any


@dataclass_transform(frozen_default=True, field_specifiers=(field,))
def immutable(cls: type[C]) -> type[C]:
    """`cls` as a dataclass with slots whose fields are set once. Methods that it has itself are kept."""
    own = {name for name, held in vars(cls).items() if held is not None}  # `__hash__` where there is an `__eq__`
    made: Any = dataclass(init=False, repr=False, eq=False, slots=True)(cls)
    writers = {"__init__": init_of, "__eq__": eq_of, "__hash__": hash_of}
    for name, write in writers.items():
        if name not in own:
            setattr(made, name, when_called(made, name, write))
    for name, method in SHARED.items():
        if name not in own:
            setattr(made, name, method)
    return made


def when_called(cls: type, name: str, write: Callable[[type], Method]) -> Method:
    """A method that puts what `write` makes in its place, when it is first called."""

    def method(self: object, *args: object, **named: object) -> Any:
        written = write(cls)
        written.__qualname__, written.__module__ = f"{cls.__qualname__}.{name}", cls.__module__
        setattr(cls, name, written)
        return written(self, *args, **named)

    return method


# -- copies with other fields --------------------------------------------------------------------------------
REPLACING: dict[type, Method] = {}


def replace(value: C, /, **changes: Any) -> C:
    """What `dataclasses.replace` gives, for any dataclass, in a fifth of the time: which fields there are is found once
    for each class.

    Raises TypeError for fields that there are not.
    """
    kind = value.__class__
    method = REPLACING.get(kind)
    if method is None:
        method = REPLACING[kind] = replacing_of(kind)
    made: C = method(value, **changes)
    return made


def replacing_of(cls: type) -> Method:
    names = [f.name for f in fields(cls) if f.init]  # type: ignore[arg-type]
    given = [f"{name}=__MISSING" for name in names]
    values = [f"{name}=__self.{name} if {name} is __MISSING else {name}" for name in names]
    head = f"def replaced({', '.join(['__self', '/', *(['*', *given] if given else [])])}):"
    return compiled(head, [f"return __class({', '.join(values)})"], {"__MISSING": MISSING, "__class": cls})


# -- methods that are written for each class -----------------------------------------------------------------
def init_of(cls: type) -> Method:
    """`__init__`: one argument for each field, those with defaults or `kw_only` as in a dataclass."""
    known: dict[str, Any] = {"__MISSING": MISSING}
    given: dict[bool, list[str]] = {False: [], True: ["*"]}
    lines: list[str] = []
    for f in fields(cls):  # type: ignore[arg-type]
        value = f"__make_{f.name}()" if f.default_factory is not MISSING else f"__default_{f.name}"
        known |= {f"__set_{f.name}": getattr(cls, f.name).__set__}
        known |= {f"__make_{f.name}": f.default_factory, f"__default_{f.name}": f.default}
        if f.init:
            given[bool(f.kw_only)].append(f.name + default_of(f))
            value = f.name if f.default_factory is MISSING else f"{value} if {f.name} is __MISSING else {f.name}"
        if f.init or f.default is not MISSING or f.default_factory is not MISSING:
            lines.append(f"__set_{f.name}(self, {value})")
    if hasattr(cls, "__post_init__"):
        lines.append("self.__post_init__()")
    named = given[True] if len(given[True]) > 1 else []
    return compiled(f"def __init__({', '.join(['self', *given[False], *named])}):", lines or ["pass"], known)


def default_of(f: Field[Any]) -> str:
    if f.default_factory is not MISSING:
        return "=__MISSING"
    return "" if f.default is MISSING else f"=__default_{f.name}"


def eq_of(cls: type) -> Method:
    """`__eq__`: of the same class, with equal fields, of which those that are identical are not looked into."""
    test = f"return {compared(cls, 'self')} == {compared(cls, 'other')}"
    return compiled(
        "def __eq__(self, other):",
        ["if self is other: return True", "if other.__class__ is not self.__class__: return NotImplemented", test],
        {},
    )


def hash_of(cls: type) -> Method:
    """`__hash__`, of the fields that are compared."""
    assert all(f.hash is None for f in fields(cls)), "fields are hashed where they are compared"  # type: ignore[arg-type]
    found = f"hash({compared(cls, 'self')})"
    if not issubclass(cls, HashedOnce):
        return compiled("def __hash__(self):", [f"return {found}"], {})
    lines = [
        "try: return self.own_hash",
        f"except AttributeError: found = {found}",
        "set_hash(self, found)",
        "return found",
    ]
    return compiled("def __hash__(self):", lines, {"set_hash": vars(HashedOnce)["own_hash"].__set__})


def compared(cls: type, instance: str) -> str:
    """The fields of an instance that are compared, as a tuple."""
    names = (f.name for f in fields(cls) if f.compare)  # type: ignore[arg-type]
    return f"({''.join(f'{instance}.{name}, ' for name in names)})"


def compiled(head: str, lines: list[str], known: dict[str, Any]) -> Method:
    text = "\n ".join([head, *lines])
    exec(compile(text, "<immutable>", "exec"), known)
    return next(known[name] for name in ("__init__", "__eq__", "__hash__", "replaced") if name in known)


# -- methods that all classes have ---------------------------------------------------------------------------
def in_words(self: Any) -> str:
    said = (f"{f.name}={getattr(self, f.name)!r}" for f in fields(self) if f.repr)
    return f"{type(self).__qualname__}({', '.join(said)})"


def refuse_to_set(self: object, name: str, value: object) -> None:
    raise FrozenInstanceError(f"cannot assign to field {name!r}")


def refuse_to_delete(self: object, name: str) -> None:
    raise FrozenInstanceError(f"cannot delete field {name!r}")


def state(self: Any) -> list[Any]:
    return [getattr(self, f.name) for f in fields(self)]


def set_state(self: Any, values: list[Any]) -> None:
    for f, value in zip(fields(self), values, strict=True):
        object.__setattr__(self, f.name, value)


SHARED: dict[str, Method] = {
    "__repr__": in_words,
    "__setattr__": refuse_to_set,
    "__delattr__": refuse_to_delete,
    "__getstate__": state,
    "__setstate__": set_state,
}
