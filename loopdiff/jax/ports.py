"""What handlers are made of: buffers of a foreign call, and how parameters of a compiled function come from them."""

from __future__ import annotations

from typing import Any, Literal

from loopdiff.immutable import immutable

Kind = Literal["array", "scalar"]


@immutable
class Port:
    """One operand or result of the foreign call: the parameter it carries, its dtype and rank."""

    name: str
    kind: Kind
    dtype: str
    rank: int


@immutable
class HandlerArgument:
    """How one parameter of the compiled function is made.

    `operand` and `result` number the foreign call's buffers; with both, the result's buffer starts as a copy of the
    operand. `is_zeroed`: the result starts at zero. With neither, the parameter is unused: an empty array; or a
    number that is known, `constant`.
    """

    port: Port
    operand: int | None = None
    result: int | None = None
    is_zeroed: bool = False
    constant: int | None = None


@immutable
class Handler:
    """What a foreign call runs: `function(*arguments)`, whose scalar results go to `returns` (result numbers).

    `is_tuple`: it returns a tuple, perhaps of one. `is_on_device`: it launches kernels, and buffers are the GPU's;
    `asks_stream`: on the stream that XLA says. `traits`: what XLA may know of it. `types`: Numba's
    of the arguments of a function on the CPU.
    """

    name: str
    function: Any
    operands: tuple[Port, ...]
    results: tuple[Port, ...]
    arguments: tuple[HandlerArgument, ...]
    returns: tuple[int | None, ...]
    is_tuple: bool
    complaint: str
    is_on_device: bool = False
    asks_stream: bool = True
    traits: int = 0
    types: tuple[Any, ...] = ()
