"""What differs between the GPU and its emulation in the text of kernels whose iterations are those of warps."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext
from typing import Protocol

from loopdiff.backends.cuda.common_functions import WARP
from loopdiff.backends.writer import Writer
from loopdiff.immutable import immutable
from loopdiff.ir import nodes as ir
from loopdiff.ir.types import ScalarType


@immutable
class LaneSum:
    """A `cell` into which each lane sums, and the name of an array for what all of them have, if it takes one."""

    cell: str
    op: ir.AccumulateOp
    kind: ScalarType
    held: str


class WarpText(Protocol):
    """Texts and lines, in which the number of a lane is called `lane`."""

    def begin(self, writer: Writer, lane: str) -> None:
        """What comes before all iterations."""
        ...

    def lanes(self, writer: Writer, lane: str, sums: Sequence[LaneSum]) -> AbstractContextManager[None]:
        """Around what each lane does for itself."""
        ...

    def total(self, part: LaneSum) -> tuple[str, str]:
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


@immutable
class DeviceWarps:
    """A lane is a thread."""

    def begin(self, writer: Writer, lane: str) -> None:
        writer.line(f"{lane} = cuda.threadIdx.x")

    def lanes(self, writer: Writer, lane: str, sums: Sequence[LaneSum]) -> AbstractContextManager[None]:
        return nullcontext()

    def total(self, part: LaneSum) -> tuple[str, str]:
        function = f"warp_{part.op}_{part.kind.value}"
        return f"{function}({part.cell})", function

    def first(self, writer: Writer, lane: str) -> AbstractContextManager[None]:
        return writer.block(f"if {lane} == 0:")

    def of_first(self, lane: str, new: str, old: str) -> str:
        return f"{new} if {lane} == 0 else {old}"

    def wait(self, writer: Writer) -> None:
        writer.line("cuda.syncwarp()")


@immutable
class EmulatedWarps:
    """One lane after the other, from the last on if that `is_backwards`."""

    is_backwards: bool

    def begin(self, writer: Writer, lane: str) -> None:
        pass

    @contextmanager
    def lanes(self, writer: Writer, lane: str, sums: Sequence[LaneSum]) -> Iterator[None]:
        for part in sums:
            writer.line(f"{part.held} = np.empty({WARP}, np.{part.kind.value})")
        with writer.block(f"for {lane} in range({f'{WARP - 1}, -1, -1' if self.is_backwards else WARP}):"):
            yield
            for part in sums:
                writer.line(f"{part.held}[{lane}] = {part.cell}")

    def total(self, part: LaneSum) -> tuple[str, str]:
        return f"block_{part.op}({part.held})", f"block_{part.op}"

    def first(self, writer: Writer, lane: str) -> AbstractContextManager[None]:
        return nullcontext()

    def of_first(self, lane: str, new: str, old: str) -> str:
        return new

    def wait(self, writer: Writer) -> None:
        pass
