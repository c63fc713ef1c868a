"""What passes work on, read from the text of loops, printed and run: a function, both sweeps, a model, a launch plan.

A launch plan is made of the loops of one function, and printed as what the host does and what each kernel runs. It is
run in plain Python, as kernels on the CPU. All else is interpreted, but for loops over complex numbers, which are left
to NumPy.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from typing import Any

import numpy as np

from loopdiff.analysis.polyhedral.model import Model, build_model
from loopdiff.backends.cpu.compile import Style
from loopdiff.backends.cuda.compile import emulated_text
from loopdiff.frontend.binding.complex_parts import has_complex
from loopdiff.ir import nodes as ir
from loopdiff.ir.interpret import poison, run
from loopdiff.ir.printer import (
    array_line,
    body_lines,
    indent,
    print_expr,
    print_loopset,
    print_stmts,
    result_text,
    stmt_lines,
)
from loopdiff.ir.reader import read_loopset
from loopdiff.mapping.launches import HostIf, HostLoop, Launch, LaunchPlan, OnHost, Step
from loopdiff.pipeline.both import BothSweeps
from loopdiff.pipeline.passes import Context
from loopdiff.pipeline.runner import loopsets_of
from loopdiff.report.launches import grid_words
from loopdiff.schedule.gpu.launch_planner import plan_launches
from loopdiff.specialize.interface import as_pairs
from tests.cuda.plain import in_plain_python
from tests.gradients.interpreted import evaluate

Loops = ir.LoopSet | BothSweeps | Model | LaunchPlan
Memory = dict[str, Any]

EXTENT = 17  # of each axis of an argument: so many iterations are worth the lanes of a warp


# -- from text, and back -------------------------------------------------------------------------------------
def read_sweeps(text: str, context: Context, lanes: frozenset[str]) -> BothSweeps:
    forward, reverse = (read_loopset(part) for part in re.split(r"^(?=loopset )", text, flags=re.M)[1:])
    return BothSweeps(forward, reverse, lanes)


def read_model(text: str, context: Context, lanes: frozenset[str]) -> Model:
    return build_model(read_loopset(text))


def read_launches(text: str, context: Context, lanes: frozenset[str]) -> LaunchPlan:
    model = build_model(read_loopset(text))
    return plan_launches(model, context.dead, context.requests, may_reassociate=context.fastmath)


# What passes of these pipelines work on, made from text; of others it is the function itself.
READERS: Mapping[str, Callable[[str, Context, frozenset[str]], Loops]] = {
    "LAST": read_sweeps, "BOTH_SWEEPS": read_sweeps, "CUDA_MODEL": read_model, "CUDA_LAUNCHES": read_launches,
}  # fmt: skip


def read(text: str, pipeline: str, context: Context, lanes: frozenset[str]) -> Loops:
    """What passes of `pipeline` work on in this context, from text; `lanes` are those of both sweeps."""
    reader = READERS.get(pipeline)
    return read_loopset(text) if reader is None else reader(text, context, lanes)


def printed(loops: Loops) -> str:
    if not isinstance(loops, LaunchPlan):
        return "".join(print_loopset(ls) for ls in loopsets_of(loops))
    own = (array_line(a) for a in loops.ls.arrays if a.name not in loops.ls.params)
    head = f"launches {loops.ls.name}({', '.join(loops.ls.params)})"
    results = [f"return {', '.join(map(result_text, loops.ls.results))}"] if loops.ls.results else []
    return "\n".join((head, *indent([*own]), *step_lines(loops.steps), *results)) + "\n"


def step_lines(steps: tuple[Step, ...]) -> Iterator[str]:
    """What the host does, one line after the other, and below each kernel what an iteration runs."""
    for step in steps:
        match step:
            case Launch(grid=grid, body=body):
                yield f"{'one thread' if grid is None else grid_words(grid, step)}:"
                yield from indent(body_lines(body))
            case HostLoop(loop=loop, steps=inner):
                yield f"host: {stmt_lines(loop)[0]}"
                yield from indent([*step_lines(inner)])
            case HostIf(stmt=stmt, then=then, orelse=orelse):
                yield f"host: if {print_expr(stmt.cond)}:"
                yield from indent([*step_lines(then)])
                if orelse:
                    yield "host: else:"
                    yield from indent([*step_lines(orelse)])
            case OnHost(stmt=stmt):
                yield from (f"host: {line}" for line in stmt_lines(stmt))


# -- what they compute ---------------------------------------------------------------------------------------
def arguments(loops: Loops) -> Memory:
    """Numbers for what functions declare: floating ones away from zero, of both signs, and places inside of arrays."""
    rng = np.random.default_rng(0)
    found: Memory = {}
    for ls in loopsets_of(loops):
        for name in (n for n in ls.params if n not in found):
            if is_workspace(name, ls):
                found[name] = workspace(ls.array(name), ls, found)
            elif ls.has_array(name):
                decl = ls.array(name)
                assert decl.type is not None
                shape = (EXTENT,) * decl.type.rank if decl.extents is None else extents(decl, ls, found)
                found[name] = drawn(shape, np.dtype(decl.type.dtype), rng)
            else:
                kind = ls.scalar(name).type
                found[name] = 0.75 if kind is not None and kind.is_float else EXTENT
    return found


def drawn(shape: tuple[int, ...], kind: np.dtype[Any], rng: np.random.Generator) -> np.ndarray:
    floats = rng.uniform(0.5, 1.5, shape) * rng.choice((-1.0, 1.0), shape)
    numbers = {"c": floats + 1j * floats[::-1], "f": floats, "b": floats > 0.0}
    return numbers.get(kind.kind, rng.integers(0, EXTENT, shape)).astype(kind)


def is_workspace(name: str, ls: ir.LoopSet) -> bool:
    """Whether a parameter is memory for what functions keep, which nobody looks at before or afterwards."""
    return ls.has_array(name) and ls.array(name).extents is not None and ls.array(name).role != "gradient"


def workspace(decl: ir.ArrayDecl, ls: ir.LoopSet, given: Memory) -> np.ndarray:
    """Memory in which nothing is to be read before it is written."""
    assert decl.type is not None
    found = np.empty(extents(decl, ls, given), decl.type.dtype)
    poison(found)
    return found


def extents(decl: ir.ArrayDecl, ls: ir.LoopSet, given: Memory) -> tuple[int, ...]:
    return tuple(evaluate(e, ls, given, {}) for e in decl.extents or ())


def counterparts(before: Loops, after: Loops) -> dict[str, str]:
    """The parameters of `after` that are those of `before`, by name, or else in their place; not what is workspace, or
    what only `after` asks for and says the size of."""
    found: dict[str, str] = {}
    for old, new in zip(loopsets_of(before), loopsets_of(after), strict=True):
        for place, name in enumerate(new.params):
            if name in old.params and not is_workspace(name, new):
                found[name] = name
            elif not new.has_array(name) or new.array(name).extents is None:
                found[name] = old.params[place]
    return found


def passed_on(given: Memory, before: Loops, after: Loops) -> Memory:
    """Memory for `after`: that of `before`, complex numbers as pairs where they are split, and what else it needs."""
    known = counterparts(before, after)
    found: Memory = {}
    for ls in loopsets_of(after):
        for name in (n for n in ls.params if n not in found):
            if name in known:
                value, kind = given[known[name]], ls.array(name).type if ls.has_array(name) else None
                is_split = np.iscomplexobj(value) and kind is not None and kind.is_pair
                found[name] = as_pairs(value) if is_split else value
            else:
                found[name] = workspace(ls.array(name), ls, found)
    return found


def outcome(loops: Loops, memory: Memory) -> tuple[Any, ...]:
    """What functions return, one run after the other on the arrays in `memory`."""
    match loops:
        case LaunchPlan(ls=ls):
            call = in_plain_python(emulated_text(loops, Style(), cache=False), ls.name)
            found = call(*(memory[n] for n in ls.params))
            return () if not ls.results else found if ls.returns_tuple else (found,)
        case ir.LoopSet() if has_complex(loops):
            return run_in_numpy(loops, memory)
        case _:
            return tuple(r for ls in loopsets_of(loops) for r in run(ls, {n: memory[n] for n in ls.params}))


def outcome_after(before: Loops, loops: Loops, memory: Memory) -> tuple[Any, ...]:
    """What `loops` return in the place of `before`, be it in memory that they are given for it."""
    given, results = memory.keys() - counterparts(before, loops).keys(), iter(outcome(loops, memory))
    asked = (r.array if isinstance(r, ir.ArrayResult) else None for ls in loopsets_of(before) for r in ls.results)
    return (*(memory[n] if n in given else next(results) for n in asked), *results)


def run_in_numpy(ls: ir.LoopSet, memory: Memory) -> tuple[Any, ...]:
    """Loops without cells and Lets, whose text is Python, on complex numbers of NumPy."""
    assert not ls.results
    names = {n: getattr(np, n) for n in ("real", "imag", "conj", "exp", "sqrt")}
    exec(print_stmts(ls.body), {**names, **memory})
    return ()
