"""From a LoopSet to a Numba dispatcher: emit, write the module, import it."""

from __future__ import annotations

from typing import Any

from loopdiff.backends.cpu.chunks import UNFUSED, worth
from loopdiff.backends.cpu.emission import Aside
from loopdiff.backends.cpu.scheduled import ScheduledEmitter
from loopdiff.backends.load import CompiledFunction, load_function, write_module
from loopdiff.backends.writer import render
from loopdiff.immutable import immutable, replace
from loopdiff.ir import nodes as ir
from loopdiff.ir.names import supply
from loopdiff.ir.ops import HALVES
from loopdiff.ir.walk import all_statements, map_body, statements
from loopdiff.mapping.loops import Arranged
from loopdiff.rules.definitions import has_text, rule_key
from loopdiff.schedule.cpu.scalar_replacement import hold_in_registers

# LLVM's flags: results may be rounded differently, but NaN and infinity stay what they are.
FASTMATH = ("arcp", "contract", "nsz", "reassoc")


@immutable
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


def write_function(arranged: Arranged, style: Style, *, cache: bool) -> CompiledFunction:
    """The function of a scheduled LoopSet in a module on disk."""
    ls = arranged.ls
    cache = cache and all(has_text(s.rule) for s in all_statements(ls.body) if isinstance(s, ir.Call))
    text = generate(arranged, style, cache=cache)
    return load_function(ls.name, write_module(ls.name, text, is_cached=cache), text, arranged)


def generate(arranged: Arranged, style: Style, *, cache: bool) -> str:
    """Module text of a scheduled LoopSet."""
    emitter = emitter_of(arranged, may_reassociate=style.fastmath)
    function = emitter.function() if arranged.threads is None else with_threads(emitter, arranged.threads)
    flags = f"{{{', '.join(repr(f) for f in FASTMATH)}}}" if style.fastmath else "False"
    decorator = decorator_of(flags, cache=cache)
    parts = [line for text in emitter.nests for line in (decorator_of(flags, cache=False), text)]
    parts += [line for text in emitter.chunks for line in ("@njit", text)]
    name = arranged.ls.name
    body = "\n".join((*parts, decorator, function))
    return render("\n".join([*header(emitter, name, style.accuracy, body), body]))


def decorator_of(flags: str, *, cache: bool) -> str:
    """The decorators of a generated function, with those `flags` for the arithmetic."""
    compiled = f"@njit(nogil=True, error_model='numpy', fastmath={flags}, pipeline_class=Direct)"
    return f"@kept\n{compiled}" if cache else compiled


def emitter_of(arranged: Arranged, **others: Any) -> ScheduledEmitter:
    schedule = arranged.schedule
    ls = as_stored(hold_in_registers(arranged.ls, schedule))
    indices = {s.path: s.stmt.index for s in statements(arranged.ls.body) if isinstance(s.stmt, ir.Loop)}
    return ScheduledEmitter(
        ls,
        mappings={indices[p]: (p, m) for p, m in schedule.mappings},
        sharing={indices[p]: s for p, s in schedule.shared.items()},
        **others,
    )


def as_stored(ls: ir.LoopSet) -> ir.LoopSet:
    """`ls`, which stores in halves what is not rounded yet: a store rounds what it gets."""
    halves = {a.name: HALVES[a.type.dtype] for a in ls.arrays if a.type is not None and a.type.is_half}

    def unrounded(stmt: ir.Stmt) -> tuple[ir.Stmt, ...]:
        match stmt:
            case ir.Assign(target=ir.Access(array=array, subscripts=(_, *_)), value=ir.Apply(op=op, args=(value,))):
                return (replace(stmt, value=value) if halves.get(array) is op else stmt,)
            case _:
                return (stmt,)

    return replace(ls, body=map_body(ls.body, unrounded)) if halves else ls


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
        nests=emitter.nests, may_reassociate=emitter.may_reassociate,
    )  # fmt: skip
    other.names.taken |= emitter.names.taken
    emitter.aside = Aside(name, worth(other, other.ls.body, UNFUSED))
    text = other.function()
    emitter.names.taken |= other.names.taken
    emitter.chunks.append(text)
    return emitter.function()


def header(emitter: ScheduledEmitter, name: str, accuracy: str, body: str) -> list[str]:
    """Docstring and imports of the generated module with that `body`."""
    lines = [
        f'"""Generated by loopdiff from `{name}`."""',
        "import math",
        "import numpy as np",
        "from numba import njit",
        "from loopdiff.backends.cpu.direct import Direct",
        "from loopdiff.backends.machine_code import kept",
    ]
    if any(isinstance(s, ir.Require) for s in all_statements(emitter.ls.body)):
        lines.append("from loopdiff.errors import ArgumentError")
    if emitter.looks:
        names = ", ".join(sorted((*emitter.looks, "make_look")))
        lines += [f"from loopdiff.backends.cpu.interrupts import {names}", "make_look()"]
    if emitter.calls:
        lines.append("from loopdiff.backends.ruled import called")
        found = sorted((name, rule_key(rule), form) for (rule, form), name in emitter.calls.items())
        lines += [f"{name} = called({key!r}, {form!r})" for name, key, form in found]
    if emitter.imports:
        lines.append(f"from loopdiff.backends.cpu.scalar_math import {', '.join(sorted(emitter.imports))}")
    if emitter.products:
        names = [n for n in ("give_up", "multiply", "multiply_again") if f"{n}(" in body]
        lines.append(f"from loopdiff.backends.cpu.multiply import {', '.join((*names, 'use'))}")
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
