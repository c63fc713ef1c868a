"""How a decorated function is read: as it was written, or without the structures in it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from loopdiff.errors import UnsupportedLoopError
from loopdiff.frontend.callees import Sources
from loopdiff.frontend.capture import ArgumentType
from loopdiff.ir import nodes as ir
from loopdiff.pipeline.derive import look_through, read
from loopdiff.pipeline.stages import Stages
from loopdiff.source.functions import SourceFunction

if TYPE_CHECKING:
    from loopdiff.frontend.parse import Surface

# The surface LoopSet, None where it depends on types, and whether the function is only called by its leaves.
Look = tuple[ir.LoopSet | None, bool]


def looked_through(source: SourceFunction, sources: Sources, stages: Stages) -> Look:
    """A first look at a function, when it is decorated. Raises UnsupportedLoopError (LD1xx)."""
    from loopdiff.frontend.structures.apart import is_flat, taken_apart
    from loopdiff.frontend.structures.signs import gives_structures, takes_structures

    try:
        if gives_structures(source, sources):
            result = taken_apart(source, sources, {}).result
            if result is not None and not is_flat(result):
                return None, True
    except UnsupportedLoopError:
        pass
    try:
        return look_through(source, sources, stages), False
    except UnsupportedLoopError as error:
        if takes_structures(source, sources):
            return None, False
        return look_through(own_source(source, sources, error), sources, stages), False


def own_source(source: SourceFunction, sources: Sources, error: UnsupportedLoopError) -> SourceFunction:
    """`source`, which was refused with `error`, without the structures in it. Raises `error` if there are none, and
    UnsupportedLoopError (LD134) for those that cannot be followed."""
    from loopdiff.frontend.structures.apart import taken_apart

    apart = taken_apart(source, sources, {})
    if not apart.is_changed:
        raise error
    return apart.source


def read_for(source: SourceFunction, sources: Sources, types: Mapping[str, ArgumentType], stages: Stages) -> Surface:
    """The function for arguments of `types`. Raises UnsupportedLoopError (LD1xx)."""
    try:
        return read(source, sources, types, stages)
    except UnsupportedLoopError as error:
        return read(own_source(source, sources, error), sources, types, stages)
