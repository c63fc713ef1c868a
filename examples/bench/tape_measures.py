"""Programs under policies and limits: what they keep, their gradients, what compiling took, and memory in long loops.

`tape_programs.py` has the programs, `tapes.py` the tasks. Gradients go into files, for `tapes.py` to compare.
"""

from __future__ import annotations

import gc
import inspect
import re
import sys
import time
import tracemalloc
from collections.abc import Callable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import limited
import numpy as np
from tape_programs import BY_NAME, Args, Program, wave_arguments, waves_until
from timing import calls_per_batch

from tests.corpus.versions import rotated_wave

Task = Mapping[str, Any]


# -- programs, each under a policy -----------------------------------------------------------------------------------
def decorated(program: Program, **options: Any) -> Any:
    from loopdiff import vectorize_grad

    return vectorize_grad(wrt=program.wrt, **options)(program.function)


def values_of(args: Args) -> tuple[Any, ...]:
    """Arguments for one call, which may overwrite them."""
    return tuple(a.copy() if isinstance(a, np.ndarray) else a for a in args.values())


def kept(task: Task, _: Callable[[str], None]) -> dict[str, Any]:
    """Bytes between the sweeps by policy: of `temporaries`, and of the arrays of a workspace that have their names."""
    program = BY_NAME[task["program"]]
    args = program.make(**program.full)
    found: dict[str, Any] = {"least": program.least(args)}
    for policy in task["policies"]:
        k = decorated(program, tape=policy).compile(*args.values())
        names = k.signature("forward")[len(args) :]
        sizes = {name: array.nbytes for name, array in zip(names, k.workspace(*values_of(args)), strict=False)}
        said = {t.name: t.bytes for t in k.temporaries}
        found[policy] = {"kept": sum(said.values()), "allocated": sum(sizes.get(name, 0) for name in said)}
    return found


def compiled(task: Task, trying: Callable[[str], None]) -> dict[str, Any]:
    """CPU seconds of compiling value and gradient; then gradients of small and of full arguments, and the peak."""
    import loopdiff  # noqa: F401, I001  not what is measured, nor what Numba loads before its first function
    import numba

    numba.njit(lambda x: x)(1)
    program = BY_NAME[task["program"]]
    args, small = program.make(**program.full), program.make(**program.small)
    options = {"tape": task["tape"]}
    if task["limit"]:
        options["memory_limit"] = task["limit"]
    trying("compiling")
    times = [time.process_time()]
    f = decorated(program, **options)
    for _ in range(2):
        f.value_and_grad(*values_of(args))
        times.append(time.process_time())
    found: dict[str, Any] = {"first": 2 * times[1] - times[0] - times[2], "limit": task["limit"]}
    trying("running")
    small_gradients = f.vjp(*values_of(small))[1](1.0)
    save(task["file"], small=small_gradients, full=f.vjp(*values_of(args))[1](1.0))
    return found | {"kept": sum(t.bytes for t in f.compile(*args.values()).temporaries)}


def fitting(task: Task, _: Callable[[str], None]) -> dict[str, Any]:
    """A limit, or the least that any sweeps need, where that is more."""
    from loopdiff import ArgumentError

    program = BY_NAME[task["program"]]
    args = program.make(**program.full)
    try:
        refused = decorated(program, memory_limit=task["limit"]).compile(*args.values()).refusal
    except ArgumentError as error:
        refused = str(error)
    needed = re.search(r"needs (\d+) bytes", refused)
    return {"limit": int(needed[1]) if needed else task["limit"]}


def peaks(task: Task, _: Callable[[str], None]) -> dict[str, Any]:
    """By policy, the most bytes that Python's allocators have given at once during `vjp` and the pullback, beyond what
    there was before, and what was predicted. All code is there already, and no memory of earlier calls.
    """
    from loopdiff.memory.recycled import GRADIENTS

    program = BY_NAME[task["program"]]
    args = program.make(**program.full)
    found: dict[str, Any] = {}
    for policy in task["policies"]:
        f, values = decorated(program, tape=policy), values_of(args)
        f.vjp(*values_of(args))[1](1.0)
        k = f.compiled(tuple(args.values()), "pullback")
        k.run.arena.free.clear()
        GRADIENTS.blocks, GRADIENTS.held = {}, 0
        gc.collect()
        tracemalloc.start()
        f.vjp(*values)[1](1.0)
        found[policy] = {"peak": tracemalloc.get_traced_memory()[1], "predicted": k.memory.peak}
        tracemalloc.stop()
    return {"peaks": found}


def save(file: str, **gradients: Any) -> None:
    """Add gradients to the file, by size and argument; None leaves those of a size alone."""
    path = Path(file)
    known = dict(np.load(path)) if path.exists() else {}
    for size, record in gradients.items():
        known |= {f"{size} {n}": np.asarray(getattr(record, n)) for n in getattr(record, "_fields", ())}
    arrays: dict[str, Any] = known
    np.savez(path, **arrays)


def oracle(task: Task, _: Callable[[str], None]) -> dict[str, Any]:
    """The gradients at the small size, from running the function on numbers that carry derivatives."""
    from tests.independent import numbers
    from tests.independent.oracle import taped

    numbers.LARGEST = 1e11  # what these programs are called with is known to be far from where roundings decide
    program = BY_NAME[task["program"]]
    helpers = [
        h for n in program.function.__code__.co_names if inspect.isfunction(h := program_globals(program).get(n))
    ]
    texts = [inspect.getsource(g) for g in (*helpers, program.function)]
    with numbers.closeness(0.0):
        run = taped("\n\n".join([*texts, f"f = {program.function.__name__}"]), program.make(**program.small))
    gradients = run.pull([1.0], {})
    arrays: dict[str, Any] = {f"small {n}": np.asarray(g) for n, g in gradients.items() if g is not None}
    np.savez(task["file"], **arrays)
    return {}


def program_globals(program: Program) -> dict[str, Any]:
    return program.function.__globals__


# -- long loops in little memory -------------------------------------------------------------------------------------
def long_loop(task: Task, trying: Callable[[str], None]) -> dict[str, Any]:
    """CPU seconds of value and gradient of a wave, and how much more memory the process had at most.

    `kind`: a loop of known length, or one that data end.
    """
    from loopdiff import vectorize_grad

    is_open, steps = task["kind"] == "while", task["steps"]
    u, v, c = (wave_arguments(task["n"], steps)[name] for name in ("u", "v", "c"))
    function: Callable[..., Any] = waves_until if is_open else rotated_wave
    f = vectorize_grad(wrt=("u", "v", "c"), **task["options"])(function)
    last = float(steps) if is_open else steps
    trying("compiling")
    f.value_and_grad(u[:6, :6].copy(), v[:6, :6].copy(), c, min(last, 40))
    trying("running")
    limited.forget_peak()
    before, times = limited.peak_megabytes(), []
    for _ in range(task["times"]):
        given = (u.copy(), v.copy(), c, last)
        start = time.process_time()
        _, gradients = f.value_and_grad(*given)
        times.append(time.process_time() - start)
        save(task["file"], full=gradients)
    found = {"seconds": min(times), "megabytes": limited.peak_megabytes() - before}
    return {**found, "kept": sum(t.bytes or 0 for t in f.compile(u, v, c, last).temporaries)}


# -- two trees in turns ----------------------------------------------------------------------------------------------
def in_turns(task: Task, trying: Callable[[str], None]) -> dict[str, Any]:
    """Value and gradient some times for each line of the input, CPU seconds of one as a line of the output."""
    program = BY_NAME[task["program"]]
    args = program.make(**task.get("full", program.full))
    f = decorated(replace(program, wrt=tuple(task["wrt"])) if task.get("wrt") else program)
    trying("compiling")
    _, gradients = f.value_and_grad(*values_of(args))
    save(task["file"], full=gradients)
    count = calls_per_batch(lambda: f.value_and_grad(*values_of(args)), task["batch"])
    print("ready", flush=True)
    for _ in sys.stdin:
        given = [values_of(args) for _ in range(count)]
        start = time.process_time()
        for values in given:
            f.value_and_grad(*values)
        print((time.process_time() - start) / count, flush=True)
    return {}


MEASURED = {
    "kept": kept,
    "peaks": peaks,
    "compiled": compiled,
    "fitting": fitting,
    "oracle": oracle,
    "long": long_loop,
    "turns": in_turns,
}
