"""The compiled functions of a specialization, the sweeps among them, and what is planned between these."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, Literal

from loopdiff.errors import Span
from loopdiff.immutable import immutable, replace
from loopdiff.ir import nodes as ir
from loopdiff.ir.codec import known
from loopdiff.ir.printer import print_expr
from loopdiff.pipeline.derive import plain_buffers
from loopdiff.settings.requests import NOTHING, Requests
from loopdiff.specialize.entry_points import refusal

if TYPE_CHECKING:
    from loopdiff.ad.tape.sweeps import Sweeps
    from loopdiff.backends.load import CompiledFunction

SweepName = Literal["forward", "reverse", "counts"]


@immutable
class Unit:
    """A LoopSet and its compiled function.

    `requests` were for its loops, `reader` goes on with the arrays that it leaves. `entry` is where Python enters the
    compiled function; an interpreted one has none. What runs on a device is entered there alone.
    """

    ls: ir.LoopSet
    function: CompiledFunction
    requests: Requests = NOTHING
    reader: ir.LoopSet | None = None
    entry: Callable[..., Any] | None = None
    is_on_device: bool = False

    @property
    def dispatcher(self) -> Callable[..., Any]:
        """The function as compiled code calls it."""
        return self.function.dispatcher

    @property
    def call(self) -> Callable[..., Any]:
        """The function for arguments that were checked and prepared: nothing looks at their types or layouts."""
        return self.entry or self.dispatcher

    def refuse(self, error: ValueError) -> Exception:
        """The ArgumentError, or MemoryError, that an error of the compiled function stands for."""
        return refusal(self.ls, error)

    def run(self, *args: Any) -> Any:
        """Call the compiled function, with prepared arguments. Raises ArgumentError where a `Require` does not hold."""
        try:
            return self.call(*args)
        except ValueError as error:
            raise self.refuse(error) from None


@known
@immutable
class Temporary:
    """An array kept between the sweeps: from which place `loc`, its `shape` formula and `dtype`, and why.

    `bytes` is its size for the arguments `compile` was called with; None if it was called with types.
    """

    name: str
    loc: Span
    shape: tuple[str, ...]
    dtype: str
    decision: str
    reason: str
    bytes: int | None = None

    @property
    def line(self) -> int:
        return self.loc.line

    def laid_out(self, decl: ir.ArrayDecl) -> Temporary:
        """The same as the sweeps have it in the end."""
        dtype = self.dtype if decl.type is None else decl.type.dtype
        return replace(self, shape=tuple(map(print_expr, decl.extents or ())), dtype=dtype)

    def __str__(self) -> str:
        size = "" if self.bytes is None else f", {self.bytes} bytes"
        shape = ", ".join(self.shape)
        return f"{self.name}[{shape}] {self.dtype} (line {self.line}){size}: {self.decision}, {self.reason}"


@known
@immutable
class Plan:
    """Sweeps in a form that can be kept on disk and read without the modules that made them."""

    forward: ir.LoopSet
    reverse: ir.LoopSet
    counts: ir.LoopSet | None
    count_names: tuple[str, ...]
    count_tapes: tuple[str, ...]
    counted: tuple[str, ...]
    hindered: tuple[tuple[Span, str], ...]
    temporaries: tuple[Temporary, ...]
    has_segments: bool


@immutable
class SweepUnits:
    """The sweeps of a plan, each compiled by `make` when it is asked for."""

    plan: Plan
    make: Callable[[SweepName], Unit]

    @property
    def forward(self) -> Unit:
        return self.make("forward")

    @property
    def reverse(self) -> Unit:
        return self.make("reverse")

    @property
    def counts(self) -> Unit | None:
        return None if self.plan.counts is None else self.make("counts")


def kept_plan(sweeps: Sweeps) -> Plan:
    temporaries = tuple(
        Temporary(t.name, t.loc, tuple(map(print_expr, t.extents)), t.dtype, t.decision, t.reason)
        for t in sweeps.temporaries
    )
    reverse = plain_buffers(sweeps.reverse)
    return Plan(
        sweeps.forward, reverse, sweeps.counts, sweeps.count_names, sweeps.count_tapes, sweeps.counted,
        sweeps.hindered, temporaries, sweeps.has_segments,
    )  # fmt: skip
