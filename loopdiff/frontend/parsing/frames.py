"""The functions that are being parsed, each in its frame, and what each has returned so far."""

from __future__ import annotations

from loopdiff.errors import Span
from loopdiff.frontend.parsing.bindings import Values
from loopdiff.immutable import immutable


@immutable
class Returned:
    """What the function returns; `span` is its first `return`."""

    values: Values
    is_tuple: bool
    span: Span


@immutable
class CallFrame:
    """A function that is being parsed; `key` says which, whatever its name."""

    key: object
    name: str
