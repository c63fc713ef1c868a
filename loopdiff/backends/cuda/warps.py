"""What differs between the GPU and its emulation in the text of kernels whose iterations are those of warps."""

from __future__ import annotations

from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass
from typing import Protocol

from loopdiff.backends.cuda.common_functions import WARP
from loopdiff.backends.writer import Writer
from loopdiff.ir.nodes import AccumulateOp
from loopdiff.ir.types import ScalarType


class WarpText(Protocol):
    """Texts and lines: the number of a lane is called `lane`, and `held` has what each lane has summed."""

    def begin(self, writer: Writer, lane: str) -> None:
        """What comes before all iterations."""
        ...

    def hold(self, writer: Writer, held: str, kind: ScalarType) -> None:
        """Make `held`, if it takes an array."""
        ...

    def lanes(self, writer: Writer, lane: str) -> AbstractContextManager[None]:
        """Around what each lane does for itself."""
        ...

    def keep(self, writer: Writer, lane: str, cell: str, held: str) -> None:
        """Keep what a lane has summed in `cell`."""
        ...

    def total(self, op: AccumulateOp, kind: ScalarType, cell: str, held: str) -> tuple[str, str]:
        """What all lanes have summed together, and the function that it takes."""
        ...

    def first(self, writer: Writer, lane: str) -> AbstractContextManager[None]:
        """Around what one lane does for all."""
        ...

    def of_first(self, lane: str, new: str, old: str) -> str:
        """`new` for one lane, `old` for the others."""
        ...

    def wait(self, writer: Writer) -> None:
        """Each lane sees what the others have written."""
        ...


@dataclass(frozen=True, slots=True)
class DeviceWarps:
    """A lane is a thread."""

    def begin(self, writer: Writer, lane: str) -> None:
        writer.line(f"{lane} = cuda.threadIdx.x")

    def hold(self, writer: Writer, held: str, kind: ScalarType) -> None:
        pass

    def lanes(self, writer: Writer, lane: str) -> AbstractContextManager[None]:
        return nullcontext()

    def keep(self, writer: Writer, lane: str, cell: str, held: str) -> None:
        pass

    def total(self, op: AccumulateOp, kind: ScalarType, cell: str, held: str) -> tuple[str, str]:
        function = f"warp_{op}_{kind.value}"
        return f"{function}({cell})", function

    def first(self, writer: Writer, lane: str) -> AbstractContextManager[None]:
        return writer.block(f"if {lane} == 0:")

    def of_first(self, lane: str, new: str, old: str) -> str:
        return f"{new} if {lane} == 0 else {old}"

    def wait(self, writer: Writer) -> None:
        writer.line("cuda.syncwarp()")


@dataclass(frozen=True, slots=True)
class EmulatedWarps:
    """One lane after the other, from the last on if that `is_backwards`."""

    is_backwards: bool

    def begin(self, writer: Writer, lane: str) -> None:
        pass

    def hold(self, writer: Writer, held: str, kind: ScalarType) -> None:
        writer.line(f"{held} = np.empty({WARP}, np.{kind.value})")

    def lanes(self, writer: Writer, lane: str) -> AbstractContextManager[None]:
        return writer.block(f"for {lane} in range({f'{WARP - 1}, -1, -1' if self.is_backwards else WARP}):")

    def keep(self, writer: Writer, lane: str, cell: str, held: str) -> None:
        writer.line(f"{held}[{lane}] = {cell}")

    def total(self, op: AccumulateOp, kind: ScalarType, cell: str, held: str) -> tuple[str, str]:
        return f"block_{op}({held})", f"block_{op}"

    def first(self, writer: Writer, lane: str) -> AbstractContextManager[None]:
        return nullcontext()

    def of_first(self, lane: str, new: str, old: str) -> str:
        return new

    def wait(self, writer: Writer) -> None:
        pass
