"""From a LoopSet to a Numba dispatcher: emit, write the module, import it."""

from __future__ import annotations

from collections.abc import Set as AbstractSet
from dataclasses import dataclass, replace
from typing import Any

from loopdiff.analysis.polyhedra import build_model
from loopdiff.backends.cpu import simd
from loopdiff.backends.cpu.chunks import UNFUSED, worth
from loopdiff.backends.cpu.host import host_machine
from loopdiff.backends.cpu.scalar_math import HELPERS
from loopdiff.backends.cpu.scheduled import Aside, ScheduledEmitter
from loopdiff.backends.cpu.vector_math import VECTOR_FUNCTIONS
from loopdiff.backends.load import CompiledFunction, load_function, write_module
from loopdiff.backends.writer import render
from loopdiff.ir.nodes import Allocate, Call, Index, Let, Loop, LoopSet, Require
from loopdiff.ir.walk import statements
from loopdiff.requests import Requests
from loopdiff.rules import has_text, key_of
from loopdiff.transform.choices import merge_choices
from loopdiff.transform.copies import without_copies
from loopdiff.transform.fills import fuse_with_fills
from loopdiff.transform.fuse import fuse
from loopdiff.transform.gather import gather_sums
from loopdiff.transform.idle import leave_out_idle
from loopdiff.transform.like_terms import with_like_terms
from loopdiff.transform.normalize import supply
from loopdiff.transform.parallel import share_loops
from loopdiff.transform.privates import is_zero
from loopdiff.transform.registers import hold_in_registers
from loopdiff.transform.rename import Renaming, rename_everywhere, renamed
from loopdiff.transform.restructure import ascend, restructure
from loopdiff.transform.schedule import NOTHING, Arranged, plan
from loopdiff.transform.screening import screen
from loopdiff.transform.starts import start_sums
from loopdiff.transform.strong import choose_strong_products
from loopdiff.transform.sums import tidy_sums
from loopdiff.transform.zeros import drop_unread_zeros

THREADS = ("is_worth", "saving", "share", "run_in_chunks", "run_in_turns", "run_aside", "add_parts", "fill")
CALLS = ("multiply", "use", "look_out", "make_look", "block_size", "block_end", *THREADS)
BUILTINS = ("ArgumentError", "abs", "bool", "max", "min", "range", "np", "math", "njit", "kept", *CALLS)
RESERVED = frozenset((*simd.__all__, *HELPERS, *(f"v{f}" for f in VECTOR_FUNCTIONS), *BUILTINS))
# LLVM's flags: results may be rounded differently, but NaN and infinity stay what they are.
FASTMATH = ("arcp", "contract", "nsz", "reassoc")


@dataclass(frozen=True, slots=True)
class Style:
    """How a function is written.

    `fastmath` allows reassociation, reciprocals and ignoring the sign of zero, never assumptions about NaN or infinity.
    Without it sums keep their order; products and sums in vectors, but for strict ones, may be fused all the same.
    `accuracy`: which elementary functions. `dead`: arrays that nobody looks at before or after the function, so that
    threads may each have their own; None: no threads.
    """

    fastmath: bool = True
    accuracy: str = "default"
    dead: frozenset[str] | None = None


PLAIN = Style()


def compile_loopset(ls: LoopSet, style: Style = PLAIN, *, cache: bool = True) -> CompiledFunction:
    """Generate, write and import the function of `ls`; Numba compiles it at its first call, or loads it from disk."""
    arranged = schedule_loops(arrange_loops(ls, fastmath=style.fastmath), style)
    return write_function(arranged, style, cache=cache)


def arrange_loops(ls: LoopSet, *, fastmath: bool, may_fuse: bool = True) -> LoopSet:
    """`ls` with checks screened and loops reversed, distributed and fused to suit the machine, under names that
    generated code may use.

    `may_fuse`: False where nests stay as they are, because loops of theirs were asked for.
    """
    return fuse_loops(prepare_loops(ls, fastmath=fastmath), fastmath=fastmath, may_fuse=may_fuse, may_start=may_fuse)


def prepare_loops(ls: LoopSet, *, fastmath: bool) -> LoopSet:
    """The same without fusion."""
    ls = avoid_reserved_names(screen(merge_choices(choose_strong_products(without_copies(ls)))))
    return restructure(gathered(tidy_sums(with_like_terms(ls)))) if fastmath else ascend(ls, is_strict=True)


def fuse_loops(
    ls: LoopSet, *, fastmath: bool, may_fuse: bool, may_start: bool = True, is_deep: bool = True
) -> LoopSet:  # fmt: skip
    """What `prepare_loops` gives with its nests fused, and register tiles that start at zero, if they may be.

    `is_deep`: so are the loops inside of fused ones.
    """
    if may_fuse:
        is_strict = not fastmath
        ls = fuse_with_fills(ls, is_strict=is_strict) if is_deep else fuse(ls, is_strict=is_strict, is_deep=False)
    if not fastmath:
        return ls
    return leave_out_idle(start_sums(ls) if may_start else ls)


def gathered(ls: LoopSet) -> LoopSet:
    """`ls` with sums in gather form, which may leave nothing of the zeros that arrays begin with."""
    found = gather_sums(ls, host_machine())
    cleared = {s.stmt.array for s in statements(ls.body) if isinstance(s.stmt, Allocate) and is_zero(s.stmt.fill)}
    dead = {a.name for a in ls.arrays if a.extents is not None and a.role == "adjoint"}
    cleared &= dead | {a.name for a in ls.arrays if a.role == "gradient"}
    return drop_unread_zeros(found, cleared, dead) if cleared and found is not ls else found


def schedule_loops(ls: LoopSet, style: Style, requests: Requests = NOTHING) -> Arranged:
    """`ls`, whose loops are arranged, with a schedule for the host. Raises ScheduleError (LD5xx) for `requests`."""
    model = build_model(ls)
    schedule = plan(model, may_reassociate=style.fastmath, machine=host_machine(), requests=requests)
    if style.dead is not None:
        schedule = replace(schedule, sharing=share_loops(model, schedule, style.dead, style.fastmath))
    return Arranged(ls, schedule)


def write_function(arranged: Arranged, style: Style, *, cache: bool) -> CompiledFunction:
    """The function of a scheduled LoopSet in a module on disk."""
    ls = arranged.ls
    cache = cache and all(has_text(s.stmt.rule) for s in statements(ls.body) if isinstance(s.stmt, Call))
    text = generate(arranged, style, cache=cache)
    return load_function(ls.name, write_module(ls.name, text, is_cached=cache), text, arranged)


def generate(arranged: Arranged, style: Style, *, cache: bool) -> str:
    """Module text of a scheduled LoopSet."""
    emitter = emitter_of(arranged, may_reassociate=style.fastmath)
    function = emitter.function() if arranged.threads is None else with_threads(emitter, arranged.threads)
    flags = f"{{{', '.join(repr(f) for f in FASTMATH)}}}" if style.fastmath else "False"
    decorator = decorator_of(flags, cache=cache)
    chunks = (line for text in emitter.chunks for line in ("@njit", text))
    name = arranged.ls.name
    return render("\n".join([*header(emitter, name, style.accuracy), *chunks, decorator, function]))


def decorator_of(flags: str, *, cache: bool) -> str:
    """The decorators of a generated function, with those `flags` for the arithmetic."""
    compiled = f"@njit(nogil=True, error_model='numpy', fastmath={flags}, pipeline_class=Direct)"
    return f"@kept\n{compiled}" if cache else compiled


def emitter_of(arranged: Arranged, **others: Any) -> ScheduledEmitter:
    schedule = arranged.schedule
    ls = hold_in_registers(arranged.ls, schedule)
    sites = {s.path: s.stmt for s in statements(ls.body)}
    return ScheduledEmitter(
        ls,
        mappings={id(sites[p]): (p, m) for p, m in schedule.mappings},
        sharing={id(sites[p]): s for p, s in schedule.shared.items()},
        **others,
    )


def with_threads(emitter: ScheduledEmitter, threads: Arranged) -> str:
    """The function, which hands over to one for several threads, now among the functions of chunks, if that pays."""
    own, plain = supply(threads.ls), emitter.ls.name
    own.taken.update((*emitter.names.taken, plain))
    name = own.fresh(f"{plain}_on_threads")
    emitter.names.taken.add(name)
    other = emitter_of(
        replace(threads, ls=replace(threads.ls, name=name)),
        imports=emitter.imports, simd=emitter.simd, functions=emitter.functions, products=emitter.products,
        threads=emitter.threads, looks=emitter.looks, chunks=emitter.chunks, calls=emitter.calls, is_sharing=True,
        may_reassociate=emitter.may_reassociate,
    )  # fmt: skip
    other.names.taken |= emitter.names.taken
    emitter.aside = Aside(name, worth(other, other.ls.body, UNFUSED))
    text = other.function()
    emitter.names.taken |= other.names.taken
    emitter.chunks.append(text)
    return emitter.function()


def avoid_reserved_names(ls: LoopSet, others: AbstractSet[str] = frozenset()) -> LoopSet:
    """`ls` with names replaced that would hide what generated code calls, that of another back end is told in `others`,
    or an index that shares a cell's name."""
    names, reserved = supply(ls), RESERVED | others
    clashing = sorted(n for n in names.taken if n in reserved)
    ls = rename_everywhere(ls, {n: names.fresh(f"{n}_") for n in clashing})
    variables = {a.name for a in ls.arrays} | {s.stmt.name for s in statements(ls.body) if isinstance(s.stmt, Let)}
    indices = sorted({s.stmt.index for s in statements(ls.body) if isinstance(s.stmt, Loop)} & variables)
    new: Renaming = {Index(i): Index(names.fresh(i)) for i in indices}
    name = f"{ls.name}_" if ls.name in reserved else ls.name
    return replace(ls, name=name, body=tuple(renamed(s, new) for s in ls.body))


def header(emitter: ScheduledEmitter, name: str, accuracy: str) -> list[str]:
    """Docstring and imports of the generated module."""
    lines = [
        f'"""Generated by loopdiff from `{name}`."""',
        "import math",
        "import numpy as np",
        "from numba import njit",
        "from loopdiff.backends.cpu.direct import Direct",
        "from loopdiff.backends.machine_code import kept",
    ]
    if any(isinstance(s.stmt, Require) for s in statements(emitter.ls.body)):
        lines.append("from loopdiff.errors import ArgumentError")
    if emitter.looks:
        names = ", ".join(sorted((*emitter.looks, "make_look")))
        lines += [f"from loopdiff.backends.cpu.interrupts import {names}", "make_look()"]
    if emitter.calls:
        lines.append("from loopdiff.backends.ruled import called")
        found = sorted((name, key_of(rule), form) for (rule, form), name in emitter.calls.items())
        lines += [f"{name} = called({key!r}, {form!r})" for name, key, form in found]
    if emitter.imports:
        lines.append(f"from loopdiff.backends.cpu.scalar_math import {', '.join(sorted(emitter.imports))}")
    if emitter.products:
        lines.append("from loopdiff.backends.cpu.multiply import multiply, use")
        lines += [f"use({function!r}, {dtype!r})" for function, dtype in sorted(emitter.products)]
    if emitter.threads:
        lines.append(f"from loopdiff.backends.cpu.threads.calling import {', '.join(sorted(emitter.threads))}")
    if emitter.simd:
        lines.append(f"from loopdiff.backends.cpu.simd import {', '.join(sorted(emitter.simd))}")
    if emitter.functions:
        table = "ACCURATE_FUNCTIONS" if accuracy == "high" else "VECTOR_FUNCTIONS"
        lines.append(f"from loopdiff.backends.cpu.vector_math import {table}")
        lines += [f"v{f} = {table}[{f!r}]" for f in sorted(emitter.functions)]
    return lines
