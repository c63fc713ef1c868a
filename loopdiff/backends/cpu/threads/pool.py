"""The pool: native threads that run the chunks of one loop at a time, without Python and without its lock.

A job is a function, its environment and a number of chunks. Who runs a loop publishes a job, takes chunks as workers
do, closes the job and waits for those still inside. Every thread begins with a range of chunks of its own, so that
what one loop leaves in its cache is there for the next one, and goes on with what is left of the others'. So nothing
waits for a worker to come, and a loop finishes with no workers at all: while the pool is busy (another Python thread,
a handler of XLA, a loop inside a chunk) its chunks run one after the other on the thread that asked. Workers start
with the first job, look out for the next for a while, then sleep. A process that was forked has none and starts its
own.

`run_chunks` is compiled once, kept on disk, and known to generated code by the symbol `RUN`.

Why no chunk is run after its job has ended: a worker first counts itself `ACTIVE` and then looks at `OPEN`; the caller
first clears `OPEN` and then waits for `ACTIVE` to be zero, all in one order that every thread agrees on. `SLEEPING` and
`OPEN` see to it in the same way that nobody sleeps through a job.
"""

from __future__ import annotations

import atexit
import ctypes
import signal
from typing import Any

import llvmlite.binding as llvm
from llvmlite import ir as llvm_ir
from numba import njit, types
from numba.core.cgutils import alloca_once, alloca_once_value, get_or_insert_function
from numba.core.typing.templates import signature
from numba.extending import intrinsic

from loopdiff.backends.cpu.interrupts import are_stopped, be_worker, is_interrupted, make_look, stop_workers
from loopdiff.backends.machine_code import kept_callback
from loopdiff.backends.python_objects import for_ever
from loopdiff.settings.options import thread_count

RUN, STATE = "loopdiff_run_chunks", "loopdiff_pool"
MOST_THREADS = 128
# Words of the state, each in a cache line of its own.
LINE = 64
PROCESS, BUSY, OPEN, NUMBER, SLEEPING, STARTED, WANTED, ACTIVE, RANGES, COUNT, FUNCTION, ENVIRONMENT, MODE, STOPPED = (
    LINE * k for k in range(14)
)
EAGER = LINE * 14  # not zero: loops of any size run in chunks, for tests
# What pthreads keep: a lock, a condition, a set of signals, and the name of each thread.
LOCK, CONDITION, SIGNALS, THREADS = (LINE * k for k in (16, 18, 20, 22))
TAKEN = THREADS + 8 * MOST_THREADS  # of each range of chunks, how many, in a cache line of its own
SIZE = TAKEN + LINE * MOST_THREADS
SPINS = 1000  # looks at the state, some 30 ns each, before a thread sleeps or gives way
BLOCK = int(getattr(signal, "SIG_BLOCK", 0))
HAS_THREADS = all(llvm.address_of_symbol(name) for name in ("pthread_create", "pthread_cond_wait", "getpid"))

INT64, INT32, BYTES = llvm_ir.IntType(64), llvm_ir.IntType(32), llvm_ir.IntType(8).as_pointer()
i64 = types.int64
emitted: Any = intrinsic  # to type checkers, what a function of the typing context is when called


def word_operation(emit: Any, count: int) -> Any:
    """An intrinsic on `count` integers, the first one an address: `emit(builder, pointer, *others)`."""

    def lower(context: Any, builder: Any, sig: Any, values: Any) -> Any:
        found = emit(builder, builder.inttoptr(values[0], INT64.as_pointer()), *values[1:])
        return values[0] if found is None else found

    typed = signature(i64, *(i64,) * count), lower
    match count:
        case 1:
            return intrinsic(lambda typingctx, address: typed)
        case 2:
            return intrinsic(lambda typingctx, address, value: typed)
        case _:
            return intrinsic(lambda typingctx, address, old, new: typed)


def swapped(builder: Any, pointer: Any, old: Any, new: Any) -> Any:
    found = builder.cmpxchg(pointer, old, new, "seq_cst", "seq_cst")
    return builder.zext(builder.extract_value(found, 1), INT64)


load = word_operation(lambda builder, pointer: builder.load_atomic(pointer, "seq_cst", 8), 1)
store = word_operation(lambda builder, pointer, value: builder.store_atomic(value, pointer, "seq_cst", 8), 2)
add = word_operation(lambda builder, pointer, value: builder.atomic_rmw("add", pointer, value, "seq_cst"), 2)
swap = word_operation(swapped, 3)


@emitted
def the_state(typingctx: Any) -> Any:
    """The address of the state."""

    def lower(context: Any, builder: Any, sig: Any, values: Any) -> Any:
        found = builder.module.globals.get(STATE) or llvm_ir.GlobalVariable(builder.module, INT64, STATE)
        return builder.ptrtoint(found, INT64)

    return signature(i64), lower


@emitted
def call_chunk(typingctx: Any, function: Any, environment: Any, chunk: Any) -> Any:
    """Run one chunk of a job; not zero if it was interrupted."""

    def lower(context: Any, builder: Any, sig: Any, values: Any) -> Any:
        kind = llvm_ir.FunctionType(INT64, [INT64, INT64]).as_pointer()
        return builder.call(builder.inttoptr(values[0], kind), values[1:])

    return signature(i64, i64, i64, i64), lower


# How processors wait, and where they keep how floats are rounded and whether small ones are flushed.
MACHINE = {"x86_64": "x86", "aarch64": "arm", "arm64": "arm"}.get(llvm.get_process_triple().split("-")[0], "")


def instruction(builder: Any, name: str, result: llvm_ir.Type, *args: Any) -> Any:
    """Call the LLVM intrinsic `name`."""
    kind = llvm_ir.FunctionType(result, [a.type for a in args])
    return builder.call(get_or_insert_function(builder.module, kind, name), args)


@emitted
def pause(typingctx: Any) -> Any:
    """Let the other thread of the core work."""

    def lower(context: Any, builder: Any, sig: Any, values: Any) -> Any:
        if MACHINE == "x86":
            instruction(builder, "llvm.x86.sse2.pause", llvm_ir.VoidType())
        elif MACHINE == "arm":
            instruction(builder, "llvm.aarch64.hint", llvm_ir.VoidType(), INT32(1))
        return context.get_dummy_value()

    return signature(types.void), lower


@emitted
def float_mode(typingctx: Any) -> Any:
    """The state of the processor's floating point unit."""

    def lower(context: Any, builder: Any, sig: Any, values: Any) -> Any:
        if MACHINE == "x86":
            place = alloca_once(builder, INT32)
            instruction(builder, "llvm.x86.sse.stmxcsr", llvm_ir.VoidType(), builder.bitcast(place, BYTES))
            return builder.zext(builder.load(place, typ=INT32), INT64)
        return instruction(builder, "llvm.aarch64.get.fpcr", INT64) if MACHINE == "arm" else INT64(0)

    return signature(i64), lower


@emitted
def set_float_mode(typingctx: Any, mode: Any) -> Any:
    """Make the floating point unit work as `mode` says."""

    def lower(context: Any, builder: Any, sig: Any, values: Any) -> Any:
        if MACHINE == "x86":
            place = alloca_once_value(builder, builder.trunc(values[0], INT32))
            instruction(builder, "llvm.x86.sse.ldmxcsr", llvm_ir.VoidType(), builder.bitcast(place, BYTES))
        elif MACHINE == "arm":
            instruction(builder, "llvm.aarch64.set.fpcr", llvm_ir.VoidType(), values[0])
        return context.get_dummy_value()

    return signature(types.void, i64), lower


def native(name: str, count: int) -> Any:
    """A C function of `count` addresses or integers."""
    return types.ExternalFunction(name, signature(types.int32, *(i64,) * count))


getpid, sched_yield = native("getpid", 0), native("sched_yield", 0)
pthread_create, pthread_join = native("pthread_create", 4), native("pthread_join", 2)
pthread_mutex_init, pthread_cond_init = native("pthread_mutex_init", 2), native("pthread_cond_init", 2)
pthread_mutex_lock, pthread_mutex_unlock = native("pthread_mutex_lock", 1), native("pthread_mutex_unlock", 1)
pthread_cond_wait, pthread_cond_broadcast = native("pthread_cond_wait", 2), native("pthread_cond_broadcast", 1)
sigfillset = native("sigfillset", 1)
pthread_sigmask = types.ExternalFunction("pthread_sigmask", signature(types.int32, types.int32, i64, i64))


# -- workers -------------------------------------------------------------------------------------------------
@njit
def take_chunks(state: int, own: int) -> None:
    """Run chunks of the open job until none is left or one is interrupted, those of the range `own` first."""
    function, environment, count = load(state + FUNCTION), load(state + ENVIRONMENT), load(state + COUNT)
    ranges = load(state + RANGES)
    for turn in range(ranges):
        number = (own + turn) % ranges
        first, last = count * number // ranges, count * (number + 1) // ranges
        while not are_stopped():
            chunk = first + add(state + TAKEN + LINE * number, 1)
            if chunk >= last:
                break
            if call_chunk(function, environment, chunk) != 0:
                stop_workers(True)


@njit
def next_job(state: int, done: int) -> int:
    """The number of a job other than `done`, once there is one; 0 when the pool is to stop."""
    for _ in range(SPINS):
        job = load(state + OPEN)
        if job != 0 and job != done:
            return job
        pause()
    pthread_mutex_lock(state + LOCK)
    add(state + SLEEPING, 1)
    while True:
        job = load(state + OPEN)
        if load(state + STOPPED) != 0:
            job = 0
            break
        if job != 0 and job != done:
            break
        pthread_cond_wait(state + CONDITION, state + LOCK)
    add(state + SLEEPING, -1)
    pthread_mutex_unlock(state + LOCK)
    return job


def work(number: int) -> int:
    """The life of worker `number`."""
    state, job = the_state(), 0
    pthread_sigmask(BLOCK, state + SIGNALS, 0)
    be_worker(number)
    while True:
        job = next_job(state, job)
        if job == 0:
            return 0
        add(state + ACTIVE, 1)
        if load(state + OPEN) == job and number < load(state + RANGES) - 1:
            set_float_mode(load(state + MODE))
            take_chunks(state, number + 1)
        add(state + ACTIVE, -1)


# -- callers -------------------------------------------------------------------------------------------------
@njit
def is_taken(state: int) -> bool:
    """Whether this thread has the pool for itself from now on."""
    process, own = load(state + PROCESS), getpid()
    if process != own:
        # Nothing was done yet, or all of it by the process that this one was forked from.
        if process == -own or swap(state + PROCESS, process, -own) == 0:
            return False
        for word in (BUSY, OPEN, SLEEPING, STARTED, ACTIVE):
            store(state + word, 0)
        pthread_mutex_init(state + LOCK, 0)
        pthread_cond_init(state + CONDITION, 0)
        sigfillset(state + SIGNALS)
        store(state + PROCESS, own)
    return swap(state + BUSY, 0, 1) != 0


@njit
def wake(state: int) -> None:
    """Wake all that sleep."""
    pthread_mutex_lock(state + LOCK)
    pthread_cond_broadcast(state + CONDITION)
    pthread_mutex_unlock(state + LOCK)


@njit
def run_alone(function: int, environment: int, count: int) -> int:
    """The same as `run_chunks` on this thread."""
    for chunk in range(count):
        if call_chunk(function, environment, chunk) != 0:
            return 1
    return 0


def run_chunks(function: int, environment: int, count: int) -> int:
    """Call `function(environment, chunk)` for every chunk below `count`, on several threads if the pool is free.

    Not zero if that was interrupted."""
    state = the_state()
    workers = min(load(state + WANTED), count) - 1
    if workers <= 0 or not is_taken(state):
        return run_alone(function, environment, count)
    started = load(state + STARTED)
    while started < workers and pthread_create(state + THREADS + 8 * started, 0, the_worker(), started) == 0:
        started += 1
    store(state + STARTED, started)
    store(state + FUNCTION, function)
    store(state + ENVIRONMENT, environment)
    store(state + COUNT, count)
    store(state + RANGES, workers + 1)
    for number in range(workers + 1):
        store(state + TAKEN + LINE * number, 0)
    store(state + MODE, float_mode())
    stop_workers(False)
    store(state + OPEN, add(state + NUMBER, 1) + 1)
    if load(state + SLEEPING) > 0:
        wake(state)
    take_chunks(state, 0)
    store(state + OPEN, 0)
    turns = 0
    while load(state + ACTIVE) != 0:
        turns += 1
        if turns < SPINS:
            pause()
        else:
            sched_yield()
            if not are_stopped() and is_interrupted():
                stop_workers(True)
    ended = int(are_stopped())
    stop_workers(False)
    store(state + BUSY, 0)
    return ended


def end_workers(state: int) -> None:
    """End all threads of this process's pool, unless they are at work for a daemon thread, whose loop nobody waits for:
    then they end with the process. The pool is not given back, so no other loop gets it meanwhile."""
    if load(state + PROCESS) != getpid() or swap(state + BUSY, 0, 1) == 0:
        return
    store(state + WANTED, 1)
    store(state + STOPPED, 1)
    wake(state)
    for number in range(load(state + STARTED)):
        pthread_join(load(state + THREADS + 8 * number), 0)


@emitted
def the_worker(typingctx: Any) -> Any:
    """The address of the compiled `work`."""

    def lower(context: Any, builder: Any, sig: Any, values: Any) -> Any:
        kind = llvm_ir.FunctionType(INT64, [INT64])
        found = builder.module.globals.get(f"{STATE}_worker") or llvm_ir.Function(
            builder.module, kind, f"{STATE}_worker"
        )
        return builder.ptrtoint(found, INT64)

    return signature(i64), lower


# -- this process's pool -------------------------------------------------------------------------------------
MEMORY = for_ever(ctypes.create_string_buffer(SIZE + LINE))
BASE = -(-ctypes.addressof(MEMORY) // LINE) * LINE


def word(offset: int) -> ctypes.c_int64:
    """A word of the state."""
    return ctypes.c_int64.from_address(BASE + offset)


def install() -> list[Any]:
    """Compile the pool and make it known to generated code; what has to stay alive."""
    three = i64(i64, i64, i64)
    llvm.add_symbol(STATE, BASE)
    make_look()
    if not HAS_THREADS:
        alone: Any = kept_callback(three)(run_alone.py_func)
        llvm.add_symbol(RUN, alone.address)
        return [alone]
    worker: Any = kept_callback(i64(i64))(work)
    llvm.add_symbol(f"{STATE}_worker", worker.address)
    run: Any = kept_callback(three)(run_chunks)
    llvm.add_symbol(RUN, run.address)
    stop: Any = kept_callback(types.void(i64))(end_workers)
    atexit.register(stop.ctypes, BASE)
    return [worker, run, stop]


def set_wanted(count: int) -> None:
    """From now on use `count` threads, the calling one included, in each loop that runs in parallel."""
    word(WANTED).value = max(1, min(count, MOST_THREADS))


set_wanted(thread_count())
INSTALLED = install()
