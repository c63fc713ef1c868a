"""Kernels for the GPU in plain Python, lane by lane: each runs up to where it waits for others, in any order.

What emulated kernels cannot show: lanes of a warp that do not meet at the same place, or read what others have yet to
write; one that does what another does, too. Calls at which threads meet (`syncwarp`, `warp_*`, `of_first_lane`,
`block_*`) become yields of a generator for each thread.
"""

from __future__ import annotations

import ast
import builtins
from collections.abc import Callable, Generator
from itertools import product
from random import Random
from types import SimpleNamespace
from typing import Any

import numpy as np

from loopdiff.backends.cuda.text.device import Device, kernel_name, kernel_text
from loopdiff.backends.cuda.text.host import HostEmitter
from loopdiff.backends.cuda.text.kernels import Kernel
from loopdiff.mapping.launches import LaunchPlan
from tests.cuda.plain import COMBINE, NAMES, WARP, Poisoned, clear_rows, over_block
from tests.cuda.stub import finishing

Meeting = tuple[str, int, Any]  # the function called, the line, and what it is given
Thread = Generator[Meeting, Any, None]


class Meetings(ast.NodeTransformer):
    """Makes generators of functions: calls at which threads meet are yielded."""

    def __init__(self, own: set[str]) -> None:
        self.own = own

    def visit_FunctionDef(self, node: ast.FunctionDef) -> Any:
        self.generic_visit(node)
        node.decorator_list = []
        node.body.insert(0, ast.parse("if False:\n    yield").body[0])
        return node

    def visit_Call(self, node: ast.Call) -> Any:
        self.generic_visit(node)
        match node.func:
            case ast.Attribute(attr="syncwarp"):
                return meeting("syncwarp", node.lineno, ast.Constant(0))
            case ast.Name(id=name) if name in self.own:
                return ast.YieldFrom(node)
            case ast.Name(id=name) if name.startswith(("warp_", "block_")) or name == "of_first_lane":
                return meeting(name, node.lineno, node.args[0])
            case _:
                return node


def meeting(name: str, line: int, value: ast.expr) -> ast.Yield:
    return ast.Yield(ast.Tuple([ast.Constant(name), ast.Constant(line), value], ast.Load()))


def run_plan(plan: LaunchPlan, args: tuple[Any, ...], seed: int) -> Any:
    """What the function of a plan returns, its threads in the order that `seed` draws."""
    random, host = Random(seed), HostEmitter(plan.ls, plan=plan, target=Device())
    assert not host.target.lists.targets
    names = {
        "__builtins__": builtins, **NAMES, "device_empty": Poisoned.empty, "release": lambda array: None,
        "keep": lambda array: None, "borrow": lambda array: array,
        "clear": lambda array: array.fill(0), "clear_rows": clear_rows, "peek": lambda array, *place: array[place],
    }  # fmt: skip
    for op in COMBINE:
        finish = finishing(op)
        for dtype in ("float64", "float32", "int64"):
            names[f"finish_{op}_{dtype}"] = lambda x, y, z, *given, finish=finish: finish(*given)
    names |= {kernel_name(k): launcher(k, host, random) for k in host.kernels}
    exec(compile(ast.parse(host.text), "<host>", "exec"), names)
    with np.errstate(all="ignore"):
        return names[plan.ls.name](*args)


def launcher(kernel: Kernel, host: HostEmitter[Device], random: Random) -> Callable[..., None]:
    """A kernel as a function of how many blocks there are, and what it is given."""
    tree = ast.parse(kernel_text(kernel, host.names))
    own = {f.name for f in tree.body if isinstance(f, ast.FunctionDef)}
    code = compile(ast.fix_missing_locations(Meetings(own).visit(tree)), f"<{kernel.name}>", "exec")

    def launch(x: int, y: int, z: int, *args: Any) -> None:
        blocks = list(product(range(x), range(y), range(z)))
        random.shuffle(blocks)
        for block in blocks:
            run_block([thread(code, kernel, (x, y, z), block, t, args) for t in places(kernel.block)], random)

    return launch


def places(shape: tuple[int, int, int]) -> list[tuple[int, int, int]]:
    return [(x, y, z) for z, y, x in product(*map(range, reversed(shape)))]


def thread(
    code: Any, kernel: Kernel, grid: tuple[int, ...], block: tuple[int, ...], place: tuple[int, ...], args: Any
) -> Thread:  # fmt: skip
    named = {"gridDim": grid, "blockDim": kernel.block, "blockIdx": block, "threadIdx": place}
    cuda = SimpleNamespace(**{n: SimpleNamespace(x=v[0], y=v[1], z=v[2]) for n, v in named.items()})
    names = {"__builtins__": builtins, **NAMES, "cuda": cuda}
    exec(code, names)
    return names[kernel_name(kernel)](*args)


def run_block(threads: list[Thread], random: Random) -> None:
    """Run all threads of a block: warps by turns, in each the lanes one after the other."""
    width = min(WARP, len(threads))
    answers: list[Any] = [None] * len(threads)
    running, waiting = list(range(0, len(threads), width)), dict[int, list[Meeting]]()
    while running:
        first = running.pop(random.randrange(len(running)))
        met = advance(threads[first : first + width], answers[first : first + width], random)
        assert len({m[:2] for m in met}) == 1, f"lanes part: {sorted({m[:2] for m in met})}"
        name, values = met[0][0], [m[2] for m in met]
        if name.startswith("block_"):
            waiting[first] = met
        elif name != "end":
            answers[first : first + width] = answered(name, values)
            running.append(first)
        if not running and waiting:
            assert len(waiting) * width == len(threads), "warps have left before a sum over the block"
            everything = [m for first in sorted(waiting) for m in waiting[first]]
            assert len({m[:2] for m in everything}) == 1
            total = over_block(COMBINE[everything[0][0].split("_")[1]])(np.array([m[2] for m in everything]))
            answers = [total, *[type(total)(-1)] * (len(threads) - 1)]  # known to the first thread
            running, waiting = list(waiting), {}


def advance(lanes: list[Thread], answers: list[Any], random: Random) -> list[Meeting]:
    """Where each lane waits next."""
    met: dict[int, Meeting] = {}
    for k in random.sample(range(len(lanes)), len(lanes)):
        try:
            met[k] = lanes[k].send(answers[k])
        except StopIteration:
            met[k] = ("end", 0, 0)
    return [met[k] for k in range(len(lanes))]


def answered(name: str, values: list[Any]) -> list[Any]:
    """What each lane is told."""
    if name == "syncwarp":
        return [None] * len(values)
    if name == "of_first_lane":
        return [values[0]] * len(values)
    return [over_block(COMBINE[name.split("_")[1]])(np.array(values))] * len(values)
