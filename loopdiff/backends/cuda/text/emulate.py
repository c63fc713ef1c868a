"""Kernels on the CPU: the same function of a thread, called for block after block and thread after thread.

Where a kernel has a barrier, at sums over a block, all threads of the block have run up to it before one goes on. Of
two runs, one backwards, equal results say that nothing depends on the order of threads.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from math import prod

from loopdiff.backends.cpu.scalar_math import spell_constant
from loopdiff.backends.cpu.vector import neutral_value
from loopdiff.backends.cuda.text.kernels import Kernel
from loopdiff.backends.cuda.text.spelling import ZEROS
from loopdiff.backends.cuda.text.threads import ListText
from loopdiff.backends.cuda.text.warps import EmulatedWarps, WarpText
from loopdiff.backends.writer import Writer
from loopdiff.ir import nodes as ir
from loopdiff.ir.names import NameSupply
from loopdiff.ir.types import ArrayType, ScalarType


@dataclass(slots=True)
class Emulated:
    """The host's text for the CPU: arrays are NumPy's, and a launch calls the function of `grid_function`."""

    is_backwards: bool
    imports: set[str] = field(default_factory=set)

    @property
    def warps(self) -> WarpText:
        return EmulatedWarps(self.is_backwards)

    def borrow(self, name: str) -> list[str]:
        return []

    def allocate(self, name: str, shape: str, dtype: str) -> list[str]:
        return [f"{name} = np.empty({shape}, np.{'bool_' if dtype == 'bool' else dtype})"]

    def fill(self, name: str, value: str) -> list[str] | None:
        return [f"{name}[...] = {value}"] if value in ZEROS else None

    def clear_rows(self, name: str, first: str, end: str) -> list[str]:
        self.imports.add("clear_rows")
        return [f"clear_rows({name}, {first}, {end})"]

    def release(self, name: str) -> list[str]:
        return []

    def keep(self, name: str) -> list[str]:
        return []

    def peek(self, place: str, array: str, subscripts: list[str]) -> str:
        return place

    def launch(self, kernel: Kernel, blocks: list[str], params: Iterable[str], parts: list[str]) -> list[str]:
        given = blocks[: len(kernel.axes)]
        return [f"{grid_name(kernel)}({', '.join((*given, *params, *parts))})"]

    def finish(self, op: ir.AccumulateOp, kind: ScalarType, parts: str, target: str, neutral: str) -> list[str]:
        self.imports.add(f"finish_{op}")
        lanes = f"np.empty(256, np.{kind.value})"
        return [f"finish_{op}({parts}, {lanes}, {neutral}, {target})"]

    def add_listed(self, update: ListText, kind: ArrayType, elements: str, width: str) -> list[str]:
        self.imports.add("add_listed")
        return [f"add_listed({update.places}, {update.values}, {update.array}, {update.before_first or '0'}, {width})"]

    def scan(self, offsets: str) -> list[str]:
        self.imports.add("scan")
        return [f"scan({offsets})"]


def grid_name(kernel: Kernel) -> str:
    return f"{kernel.name}_on_grid"


def grid_function(kernel: Kernel, names: NameSupply, *, is_backwards: bool) -> str:
    """The function that runs all blocks and threads of a kernel."""
    writer = Writer()
    if not kernel.axes:
        params = ", ".join(kernel.params)
        with writer.block(f"def {grid_name(kernel)}({params}):"):
            writer.line(f"{kernel.name}({params})")
        return writer.text
    blocks = [names.fresh("blocks") for _ in kernel.place.here]
    parts, lanes = ([names.fresh(f"{n}_{stem}") for n, _, _ in kernel.sums] for stem in ("sums", "lanes"))
    block, lane, turn = (names.fresh(n) for n in ("block", "lane", "turn"))
    each, threads = prod(kernel.each), prod(kernel.block)
    with writer.block(f"def {grid_name(kernel)}({', '.join((*blocks, *kernel.params, *parts))}):"):
        for count, number, size in zip(kernel.place.counts, blocks, kernel.each, strict=False):
            writer.line(f"{count} = {number} * {size}")
        total = " * ".join(blocks)
        with writer.block(f"for {turn} in range({total}):"):
            writer.line(f"{block} = {f'{total} - 1 - {turn}' if is_backwards else turn}")
            # Of a warp only the first lane has a value: the others are as before each block, which `block_add` changes.
            for held, (_, op, kind) in zip(lanes, kernel.sums, strict=True):
                neutral = spell_constant(neutral_value(op, kind), kind)
                writer.line(f"{held} = np.full({threads}, {neutral}, np.{kind.value})")
            inner = names.fresh("turn")
            with writer.block(f"for {inner} in range({each}):"):
                writer.line(f"{lane} = {f'{each - 1} - {inner}' if is_backwards else inner}")
                places(writer, kernel, blocks, block, lane)
                call = f"{kernel.name}({', '.join((*kernel.place.params, *kernel.params))})"
                first = f"{lane} * {threads // each}" if threads > each else lane
                results = ", ".join(f"{held}[{first}]" for held in lanes)
                writer.line(f"{results} = {call}" if results else call)
            for part, held, (_, op, _) in zip(parts, lanes, kernel.sums, strict=True):
                writer.line(f"{part}[{block}] = block_{op}({held})")
    return writer.text


def places(writer: Writer, kernel: Kernel, blocks: list[str], block: str, lane: str) -> None:
    """The place of a thread in the grid, from its block and its number there."""
    last = len(kernel.place.here) - 1
    for number, (name, size) in enumerate(zip(kernel.place.here, kernel.each, strict=False)):
        in_block = block if number == last else f"({block} % {blocks[number]})"
        writer.line(f"{name} = {in_block} * {size} + {lane} % {size}" if size > 1 else f"{name} = {in_block}")
        block, lane = f"({block} // {blocks[number]})", f"({lane} // {size})"
