"""What functions return, and which of it and of their arguments has a derivative."""

from __future__ import annotations

from collections.abc import Collection, Mapping

from loopdiff.errors import NOWHERE, DifferentiationError
from loopdiff.errors.codes import reject
from loopdiff.frontend.capture import ArgumentType
from loopdiff.ir import nodes as ir
from loopdiff.ir.types import ArrayType, ScalarType
from loopdiff.ir.typing import type_env, type_of
from loopdiff.source.functions import SourceFunction
from loopdiff.source.parameters import root_named
from loopdiff.specialize.interface import is_complex

LOSS_FIRST = "return a number, then what goes with it"


def result_types(ls: ir.LoopSet) -> tuple[ScalarType | ArrayType, ...]:
    env = type_env(ls)
    return tuple(type_of(r.value, env) if isinstance(r, ir.ScalarResult) else env.arrays[r.array] for r in ls.results)


def is_floating(kind: ScalarType | ArrayType) -> bool:
    return kind.element.is_float if isinstance(kind, ArrayType) else kind.is_float


def has_slope(kind: ScalarType | ArrayType) -> bool:
    return is_floating(kind) or is_complex(kind)


def refuse_integers(ls: ir.LoopSet, wrt: tuple[str, ...]) -> None:
    """Raise DifferentiationError (LD402) for each name of `wrt` whose type has no derivatives."""
    found = []
    for name in wrt:
        decl = ls.array(name) if ls.has_array(name) else ls.scalar(name)
        kind = decl.type.element if isinstance(decl.type, ArrayType) else decl.type
        if kind is None or not kind.is_float:
            given = decl.type if isinstance(decl.type, ArrayType) else getattr(kind, "value", "unknown")
            found.append(reject("LD402", f"`{name}` is {given}: it has no derivative", NOWHERE))
    if found:
        raise DifferentiationError(*found)


def names_asked(
    wrt: tuple[str, ...], names: Collection[str], source: SourceFunction, types: Mapping[str, ArgumentType]
) -> tuple[str, ...]:  # fmt: skip
    """`wrt` without what has no derivative for arguments of these `types`, where the source says that it need not have
    any. Raises DifferentiationError (LD401) for what is none of the arguments' `names`: it stands in one that is no
    structure."""
    refuse_parts(wrt, names)
    unsure = ((n, types[n]) for n in source.if_floating)
    integers = {n for n, kind in unsure if not has_slope(kind if isinstance(kind, ArrayType) else kind.type)}
    return tuple(n for n in wrt if n not in integers) if integers else wrt


def wrt_by_name(source: SourceFunction, wrt: tuple[str | int, ...] | None) -> tuple[str, ...] | None:
    """`wrt` with names for places, of a method behind `self`; what names nothing stays as it is, and is refused by
    `check_wrt`."""
    if wrt is None:
        return None
    known = [name for name in source.signature.parameters if name not in source.unasked]
    places = range(-len(known), len(known))
    return tuple(known[w] if isinstance(w, int) and w in places else w for w in wrt)  # type: ignore[misc]


def refuse_parts(wrt: tuple[str, ...], names: Collection[str]) -> None:
    """Raise DifferentiationError (LD401) for what stands in an argument, of which one is no structure."""
    found = [
        reject("LD401", f"`wrt` names `{name}`, and `{root_named(name)}` is no structure", NOWHERE, "name the argument")
        for name in wrt
        if name not in names
    ]
    if found:
        raise DifferentiationError(*found)


def check_wrt(source: SourceFunction, wrt: tuple[str, ...] | None) -> None:
    """Raise DifferentiationError (LD401, LD403) for a `wrt` that is wrong whatever the types are."""
    if wrt is None:
        return
    roots = {name: root_named(name) if isinstance(name, str) else name for name in wrt}
    known = list(source.signature.parameters)
    found = [
        reject("LD401", f"`wrt` names {name!r}, which is no argument of `{source.name}`", NOWHERE)
        for name, root in roots.items()
        if root not in known
    ]
    found += [
        reject("LD401", f"`wrt` names `{name}` twice", NOWHERE)
        for name, root in roots.items()
        if root in known and wrt.count(name) > 1
    ]
    if not wrt:
        found.append(reject("LD403", "`wrt` is empty", NOWHERE))
    if found:
        raise DifferentiationError(*found)
