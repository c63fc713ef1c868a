"""Ctrl-C in generated code: loops that take long ask the interpreter now and then whether a signal came.

Python's own handlers of signals only leave a note, which the interpreter looks at between instructions of Python: what
runs without it is not interrupted. So generated code calls `look_out` when it has been at work for a while (see
`patience`): on the main thread, which is the one that signals are for, it takes the interpreter's lock now and then,
more seldom where it has to wait for that, and lets the handlers run. No handler is installed, none is replaced: those
of the program, of notebooks and of timeouts run as ever, in the midst of a loop, and what one of them raises ends the
function, after it has released all that it holds.

A worker of the pool is asked to end by a note of the thread that it works for. Threads of the program's own are never
asked, as they never get signals from Python.

The state, and the function that looks, are known to generated code by symbols, so that machine code on disk stays
valid.
"""

from __future__ import annotations

import ctypes
import math
import os
import threading
import time
from typing import Any

import llvmlite.binding as llvm
from llvmlite import ir as llvm_ir
from numba.core import types
from numba.core.cgutils import alloca_once, alloca_once_value, for_range, get_or_insert_function, if_unlikely
from numba.core.typing.templates import signature
from numba.extending import intrinsic

from loopdiff.backends.python_objects import for_ever

STATE, LOOK = "loopdiff_interrupts", "loopdiff_look"
MOST_WORKERS = 128
# Words of the state: the main thread, when it asks again, whether a handler raised something since somebody wanted to
# know, whether workers are to end, and which threads these are.
MAIN, NEXT, RAISED, STOP, WORKERS = range(5)
MEMORY = for_ever((ctypes.c_int64 * (WORKERS + MOST_WORKERS))())
BLOCK = 1 << 18  # nanoseconds of predicted work from one look to the next
MOST = 40  # iterations of a block, as the exponent of two
PATIENCE = 1000 * BLOCK  # the same in smaller units, for what is counted in short steps
PAUSE, LONGEST = 50_000_000, 1_000_000_000  # nanoseconds between two times that the main thread takes the lock
WAITS = 100  # so many times what it had to wait for others
CLOCK = getattr(time, "CLOCK_MONOTONIC", None) if llvm.address_of_symbol("clock_gettime") else None

LOCK = threading.Lock()
KEPT: list[Any] = []  # what has to stay alive

BIT, INT32, INT64 = llvm_ir.IntType(1), llvm_ir.IntType(32), llvm_ir.IntType(64)
emitted: Any = intrinsic  # to type checkers, what a function of the typing context is when called


def pointer(builder: Any, number: Any) -> Any:
    """Where a word of the state is."""
    words = llvm_ir.ArrayType(INT64, len(MEMORY))
    state = builder.module.globals.get(STATE) or llvm_ir.GlobalVariable(builder.module, words, STATE)
    return builder.gep(state, [INT64(0), number], inbounds=True)


def load(builder: Any, number: Any) -> Any:
    return builder.load_atomic(pointer(builder, number), "monotonic", 8)


def store(builder: Any, number: Any, value: Any) -> None:
    builder.store_atomic(value, pointer(builder, number), "monotonic", 8)


def call(builder: Any, name: str, result: llvm_ir.Type, *args: Any) -> Any:
    """Call a function of the C library or of Python."""
    kind = llvm_ir.FunctionType(result, [a.type for a in args])
    return builder.call(get_or_insert_function(builder.module, kind, name), args)


def this_thread(builder: Any) -> Any:
    return call(builder, "PyThread_get_thread_ident", INT64)


# -- the function that looks ---------------------------------------------------------------------------------
def write_look(module: llvm_ir.Module) -> None:
    """Whether to end what this thread does. On the main thread, an exception is set if so."""
    function = llvm_ir.Function(module, llvm_ir.FunctionType(INT64, []), LOOK)
    builder = llvm_ir.IRBuilder(function.append_basic_block("entry"))
    answer = alloca_once_value(builder, INT64(0))
    thread = this_thread(builder)
    with builder.if_else(builder.icmp_signed("==", thread, load(builder, INT64(MAIN)))) as (main, other):
        with main:
            look_on_main(builder, answer)
        with other:
            look_elsewhere(builder, thread, answer)
    builder.ret(builder.load(answer))


def looking(builder: Any) -> Any:
    """Call the compiled `look`; whether to end."""
    function = get_or_insert_function(builder.module, llvm_ir.FunctionType(INT64, []), LOOK)
    # What handlers do to arrays is nothing that loops have to see: what they loaded before stays in registers.
    for attribute in ("cold", "nounwind", "inaccessiblememonly"):
        function.attributes.add(attribute)
    return builder.icmp_signed("!=", builder.call(function, []), INT64(0))


def look_on_main(builder: Any, answer: Any) -> None:
    """Let Python run handlers, if it is time for that: the longer others kept the lock, the later again."""
    is_time, start = BIT(1), now(builder)
    if start is not None:
        is_time = builder.icmp_signed(">=", start, load(builder, INT64(NEXT)))
    with builder.if_then(is_time):
        lock = call(builder, "PyGILState_Ensure", INT32)
        end = now(builder)
        found = call(builder, "PyErr_CheckSignals", INT32)
        call(builder, "PyGILState_Release", llvm_ir.VoidType(), lock)
        if start is not None:
            waited = builder.mul(builder.sub(end, start), INT64(WAITS))
            for relation, bound in (("<", PAUSE), (">", LONGEST)):
                waited = builder.select(builder.icmp_signed(relation, waited, INT64(bound)), INT64(bound), waited)
            store(builder, INT64(NEXT), builder.add(end, waited))
        with builder.if_then(builder.icmp_signed("!=", found, INT32(0))):
            store(builder, INT64(RAISED), INT64(1))
            builder.store(INT64(1), answer)


def now(builder: Any) -> Any:
    """Nanoseconds of a clock; None where there is none."""
    if CLOCK is None:
        return None
    moment = alloca_once(builder, llvm_ir.LiteralStructType([INT64, INT64]))
    call(builder, "clock_gettime", INT32, INT32(CLOCK), moment)
    seconds, rest = (builder.load(builder.gep(moment, [INT32(0), INT32(k)])) for k in (0, 1))
    return builder.add(builder.mul(seconds, INT64(1_000_000_000)), rest)


def look_elsewhere(builder: Any, thread: Any, answer: Any) -> None:
    """A worker ends with the loop that it works for."""
    is_asked = builder.icmp_signed("!=", load(builder, INT64(STOP)), INT64(0))
    with builder.if_then(is_asked), for_range(builder, INT64(MOST_WORKERS)) as each:
        worker = load(builder, builder.add(each.index, INT64(WORKERS)))
        with builder.if_then(builder.icmp_signed("==", worker, thread)):
            builder.store(INT64(1), answer)


# -- what generated code and the pool call -------------------------------------------------------------------
@emitted
def look_out(typingctx: Any) -> Any:
    """The patience with which to go on. Ends the function with Python's exception if a handler raised one."""

    def lower(context: Any, builder: Any, sig: Any, values: Any) -> Any:
        with if_unlikely(builder, looking(builder)):
            context.call_conv.return_exc(builder)
        return INT64(PATIENCE)

    return signature(types.int64), lower


def largest_block(work: float) -> int:
    """How many iterations of so many nanoseconds make a block: a power of two."""
    return 1 << min(max(BLOCK.bit_length() - math.frexp(work)[1], 0), MOST) if work > 0.0 else 1 << MOST


@emitted
def block_size(typingctx: Any, work: Any) -> Any:
    """The same in generated code."""

    def lower(context: Any, builder: Any, sig: Any, values: Any) -> Any:
        bits = builder.and_(builder.lshr(builder.bitcast(values[0], INT64), INT64(52)), INT64(2047))
        found = builder.sub(INT64(BLOCK.bit_length() + 1022), bits)
        for relation, bound in (("<", 0), (">", MOST)):
            found = builder.select(builder.icmp_signed(relation, found, INT64(bound)), INT64(bound), found)
        return builder.shl(INT64(1), found, flags=("nuw", "nsw"))

    return signature(types.int64, types.float64), lower


@emitted
def block_end(typingctx: Any, start: Any, size: Any, limit: Any) -> Any:
    """Where the block of a loop to `limit` ends. LLVM is not told how that is found: it would leave loops with bounds
    that take long to compute as they are, and not unroll them."""

    def lower(context: Any, builder: Any, sig: Any, values: Any) -> Any:
        start, size, limit = values
        rest = builder.sub(limit, start)
        is_last = (builder.icmp_signed(relation, size, rest) for relation in (">=", "<="))
        found = builder.select(builder.icmp_signed(">", size, INT64(0)), *is_last)
        end = builder.select(found, limit, builder.add(start, size))
        return builder.asm(llvm_ir.FunctionType(INT64, [INT64]), "", "=r,0", [end], side_effect=False)

    return signature(types.int64, types.int64, types.int64, types.int64), lower


@emitted
def is_interrupted(typingctx: Any) -> Any:
    """Whether a handler raised an exception, which is set from now on."""
    return signature(types.boolean), lambda context, builder, sig, values: looking(builder)


def hand_on(builder: Any) -> Any:
    """Whether Python's exception ended what was called, which the main thread raises at its next instruction then: for
    callers that have an error of their own to return."""
    answer = alloca_once_value(builder, BIT(0))
    with if_unlikely(builder, builder.icmp_signed("!=", load(builder, INT64(RAISED)), INT64(0))):
        store(builder, INT64(RAISED), INT64(0))
        lock = call(builder, "PyGILState_Ensure", INT32)
        kind = call(builder, "PyErr_Occurred", INT64)
        with builder.if_then(builder.icmp_signed("!=", kind, INT64(0))):
            call(builder, "PyThreadState_SetAsyncExc", INT32, this_thread(builder), kind)
            call(builder, "PyErr_Clear", llvm_ir.VoidType())
            builder.store(BIT(1), answer)
        call(builder, "PyGILState_Release", llvm_ir.VoidType(), lock)
    return builder.load(answer)


@emitted
def stop_workers(typingctx: Any, value: Any) -> Any:
    """Whether the workers of the pool are to end what they do."""

    def lower(context: Any, builder: Any, sig: Any, values: Any) -> Any:
        builder.store_atomic(builder.zext(values[0], INT64), pointer(builder, INT64(STOP)), "seq_cst", 8)
        return context.get_dummy_value()

    return signature(types.void, types.boolean), lower


@emitted
def are_stopped(typingctx: Any) -> Any:
    """Whether they are."""

    def lower(context: Any, builder: Any, sig: Any, values: Any) -> Any:
        return builder.icmp_signed("!=", builder.load_atomic(pointer(builder, INT64(STOP)), "seq_cst", 8), INT64(0))

    return signature(types.boolean), lower


@emitted
def be_worker(typingctx: Any, number: Any) -> Any:
    """Say that this thread is the worker of that number."""

    def lower(context: Any, builder: Any, sig: Any, values: Any) -> Any:
        store(builder, builder.add(values[0], INT64(WORKERS)), this_thread(builder))
        return context.get_dummy_value()

    return signature(types.void, types.int64), lower


# -- this process --------------------------------------------------------------------------------------------
def begin() -> None:
    """Nobody but the main thread is known; after a fork, that is the one that forked."""
    ctypes.memset(MEMORY, 0, ctypes.sizeof(MEMORY))
    MEMORY[MAIN] = threading.main_thread().ident or 0


def make_look() -> None:
    """Make the function that looks known to code that is compiled or loaded from now on."""
    with LOCK:
        if KEPT:
            return
        module = llvm_ir.Module(LOOK)
        write_look(module)
        engine = compiled_text(str(module))
        llvm.add_symbol(LOOK, engine.get_function_address(LOOK))
        KEPT.append(engine)


def compiled_text(text: str) -> Any:
    """What LLVM makes of a text of its own for this process: it lives as long as what is returned."""
    module = llvm.parse_assembly(text)
    module.triple = llvm.get_process_triple()
    machine = llvm.Target.from_default_triple().create_target_machine(opt=1, jit=True, codemodel="jitdefault")
    engine = llvm.create_mcjit_compiler(module, machine)
    engine.finalize_object()
    return engine


begin()
llvm.add_symbol(STATE, ctypes.addressof(MEMORY))
if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=begin)
