"""Programs of trap_programs.py on whoever is installed: who gives what plain Python gives, and who something else.

    python examples/bench/traps_of_python.py

JAX, PyTorch, autograd and Numba get the text as it stands, with their own functions in place of NumPy's; Dr.Jit, Warp,
Taichi and DaCe a kernel of the same statements. Why a peer refuses a program is said on stderr.
"""

# pyright: reportInvalidTypeForm=false, reportMissingImports=false, reportFunctionMemberAccess=false
# pyright: reportGeneralTypeIssues=false
# Annotations of kernels are values here: Warp, Taichi and DaCe read the types of their arguments from them.
import contextlib
import functools
import importlib.util
import sys
import tempfile
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from types import FunctionType, SimpleNamespace
from typing import Any, cast

import numpy as np

ROOT = Path(__file__).parents[2]
sys.path[:0] = [str(Path(__file__).parent), str(ROOT)]

import trap_programs as programs  # noqa: E402
from report import table  # noqa: E402
from trap_programs import REFUSED, ROWS, TITLES, Answer, Program, X, argument, flat, truth  # noqa: E402

from loopdiff import vectorize_grad  # noqa: E402

Answers = Mapping[Program, Answer]
Run = Callable[[], tuple[Any, ...]]
STEPS = (0.5, -0.4, 0.7)
TRIPS = 70_000


def answer(program: Program, run: Run) -> Answer:
    try:
        return flat(*run())
    except Exception as error:
        print(f"{TITLES[program]}: {type(error).__name__}: {str(error).strip()[:200]}", file=sys.stderr)
        return REFUSED


def answers(runs: Mapping[Program, Run]) -> Answers:
    return {program: answer(program, run) for program, run in runs.items()}


def spoken(program: Program, **names: Any) -> Program:
    """The program with other things under its global names."""
    function = cast(FunctionType, program)
    return FunctionType(function.__code__, {**function.__globals__, **names}, None, function.__defaults__)


def everything(run: Callable[[Program], tuple[Any, ...]]) -> Answers:
    return answers({p: functools.partial(run, p) for p in TITLES})


# -- those who take the text ------------------------------------------------------------------------------------------
def loopdiff() -> Answers:
    def run(program: Program) -> tuple[Any, ...]:
        value, g = vectorize_grad(wrt="x")(program).value_and_grad(argument(program).copy())
        return value, g.x

    return everything(run)


def jax() -> Answers:
    import jax
    import jax.numpy as jnp

    jax.config.update("jax_enable_x64", True)
    return everything(lambda p: jax.value_and_grad(spoken(p, np=jnp))(jnp.asarray(argument(p))))


def torch() -> Answers:
    import torch

    words = SimpleNamespace(outer=torch.outer, diag=torch.diag, array=torch.tensor, broadcast_to=torch.broadcast_to)

    def run(program: Program) -> tuple[Any, ...]:
        x = torch.tensor(argument(program), requires_grad=True)
        value = spoken(program, np=words)(x)
        value.backward()
        return value.detach(), x.grad

    return everything(run)


def autograd() -> Answers:
    import autograd

    words = importlib.import_module("autograd.numpy")
    return everything(lambda p: autograd.value_and_grad(spoken(p, np=words))(argument(p)))


def numba() -> Answers:
    from numba import njit

    helpers = {f.__name__: njit(f) for f in (programs.normalised, programs.tripled)}
    return everything(lambda p: (njit(spoken(p, **helpers))(argument(p)),))


# -- those who take kernels -------------------------------------------------------------------------------------------
def drjit() -> Answers:
    import drjit as dr
    from drjit.llvm.ad import Array2f64, Float64, Int, TensorXf64, UInt

    def normalised(w):
        norm = dr.sum(w * w)
        w /= norm
        return norm

    def array_before_a_call(x):
        w = 1.0 * x
        return dr.sum(w * normalised(w)) + dr.gather(Float64, w, UInt(0))

    def vector(x):
        return Array2f64(dr.gather(Float64, x, UInt(0)), dr.gather(Float64, x, UInt(1)))

    def negative_integers_divided(x):
        return dr.sum(x * Float64((dr.arange(Int, 3) - 2) // 2))

    def subscript_before_the_first(x):
        t = TensorXf64(x)
        return (t[-2] * t[-1]).array

    def gradient(function: Program, program: Program) -> tuple[Any, ...]:
        x = Float64(argument(program))
        dr.enable_grad(x)
        value = function(x)
        dr.backward(value)
        return dr.detach(value).numpy(), dr.grad(x).numpy()

    kernels = {
        programs.array_before_a_call: array_before_a_call,
        programs.element_before_a_call: lambda x: programs.element_before_a_call(vector(x)),
        programs.elements_change_places: lambda x: programs.elements_change_places(vector(x)),
        programs.negative_integers_divided: negative_integers_divided,
        programs.subscript_before_the_first: subscript_before_the_first,
    }
    return answers({p: functools.partial(gradient, kernel, p) for p, kernel in kernels.items()})


def warp() -> Answers:
    import warp as wp

    wp.config.quiet = True

    def numbers(values: Any) -> Any:
        return wp.array(values, dtype=wp.float64, requires_grad=True)

    def gradient(kernel: Any, x: Any, *more: Any) -> tuple[Any, ...]:
        out = numbers(np.zeros(1))
        with wp.Tape() as tape:
            wp.launch(kernel, 1, [x, *more], [out])
        out.grad.fill_(1.0)
        tape.backward()
        return out.numpy(), x.grad.numpy()

    element, places, before = warp_elements(wp)
    added, divided, trips = warp_integers(wp)
    return answers(
        {
            programs.element_before_a_call: lambda: gradient(element, numbers(X), numbers(np.zeros(2))),
            programs.elements_change_places: lambda: gradient(places, numbers(X), numbers(np.zeros(2))),
            programs.floats_added_to_integers: lambda: gradient(
                added, numbers(X), numbers(STEPS), wp.array([-2, 3, -1], dtype=int)
            ),
            programs.negative_integers_divided: lambda: gradient(divided, numbers(X), 3),
            programs.trips_beyond_32_bits: lambda: gradient(trips, numbers(X), TRIPS),
            programs.subscript_before_the_first: lambda: gradient(before, numbers(ROWS)[2:]),
        }
    )


def warp_elements(wp: Any) -> tuple[Any, ...]:
    f64, vector = wp.float64, wp.array(dtype=wp.float64)

    @wp.func
    def tripled(v: vector):
        v[0] = f64(3.0) * v[0]
        return v[1]

    @wp.kernel(module="unique")
    def element(x: vector, w: vector, out: vector):
        for i in range(2):
            w[i] = x[i]
        out[0] = w[0] * tripled(w) + w[0] * w[0]

    @wp.kernel(module="unique")
    def places(x: vector, w: vector, out: vector):
        for i in range(2):
            w[i] = x[i]
        w[0], w[1] = w[1], w[0]
        out[0] = w[0] * w[0] * w[1]

    @wp.kernel(module="unique")
    def before(x: vector, out: vector):
        out[0] = x[-2] * x[-1]

    return element, places, before


def warp_integers(wp: Any) -> tuple[Any, ...]:
    f64, vector, integers = wp.float64, wp.array(dtype=wp.float64), wp.array(dtype=int)

    @wp.kernel(module="unique")
    def added(x: vector, steps: vector, counts: integers, out: vector):
        for k in range(3):
            counts[k] += steps[k]
        for k in range(3):
            out[0] += f64(counts[k]) * x[k]

    @wp.kernel(module="unique")
    def divided(x: vector, n: int, out: vector):
        for i in range(n):
            out[0] += x[i] * f64((i - 2) // 2)

    @wp.kernel(module="unique")
    def trips(x: vector, n: int, out: vector):
        p = f64(1.0)
        for _ in range(n * n // 1000000000):
            p = p * x[0]
        out[0] = p

    return added, divided, trips


def taichi() -> Answers:
    import taichi as ti

    ti.init(arch=ti.cpu, default_fp=ti.f64, log_level=ti.ERROR)
    rows, alone = (ti.field(ti.f64, size, needs_grad=True) for size in (2, 1))
    x, w = (ti.field(ti.f64, 3, needs_grad=True) for _ in range(2))
    out = ti.field(ti.f64, (), needs_grad=True)
    element, places, before = taichi_elements(ti, x, w, alone, out)
    added, divided, trips = taichi_integers(ti, x, out)

    def gradient(kernel: Any, of: Any = x) -> tuple[Any, ...]:
        out[None] = 0.0
        kernel()
        of.grad.fill(0.0)
        w.grad.fill(0.0)
        out.grad[None] = 1.0
        kernel.grad()
        return out[None], of.grad.to_numpy()

    rows.from_numpy(ROWS[:2])
    alone.from_numpy(ROWS[2:])
    x.from_numpy(X)
    return answers(
        {
            programs.element_before_a_call: lambda: gradient(element),
            programs.elements_change_places: lambda: gradient(places),
            programs.floats_added_to_integers: lambda: gradient(added),
            programs.negative_integers_divided: lambda: gradient(divided),
            programs.trips_beyond_32_bits: lambda: gradient(trips),
            programs.subscript_before_the_first: lambda: gradient(before, alone),
        }
    )


def taichi_elements(ti: Any, x: Any, w: Any, alone: Any, out: Any) -> tuple[Any, ...]:
    @ti.func
    def tripled():
        w[0] = 3.0 * w[0]
        return w[1]

    @ti.kernel
    def element():
        for _ in range(1):
            w[0], w[1] = x[0], x[1]
            out[None] += w[0] * tripled() + w[0] * w[0]

    @ti.kernel
    def places():
        for _ in range(1):
            w[0], w[1] = x[0], x[1]
            w[0], w[1] = w[1], w[0]
            out[None] += w[0] * w[0] * w[1]

    @ti.kernel
    def before():
        for _ in range(1):
            out[None] += alone[-2] * alone[-1]

    return element, places, before


def taichi_integers(ti: Any, x: Any, out: Any) -> tuple[Any, ...]:
    steps, counts, n = ti.field(ti.f64, 3), ti.field(ti.i32, 3), ti.field(ti.i32, ())
    steps.from_numpy(np.array(STEPS))
    counts.from_numpy(np.array([-2, 3, -1], dtype=np.int32))
    n[None] = TRIPS

    @ti.kernel
    def add():
        for k in range(3):
            counts[k] += steps[k]

    @ti.kernel
    def added():
        for k in range(3):
            out[None] += counts[k] * x[k]

    @ti.kernel
    def divided():
        for i in range(3):
            out[None] += x[i] * ((i - 2) // 2)

    @ti.kernel
    def trips():
        for _ in range(1):
            p = 1.0
            for _i in range(n[None] * n[None] // 1000000000):
                p = p * x[0]
            out[None] += p

    add()
    return added, divided, trips


def dace() -> Answers:
    import dace

    backwards = importlib.import_module("dace.autodiff").add_backward_pass
    double = dace.float64

    @dace.program
    def normalised(w: double[3]):
        norm = np.sum(w * w)
        w[:] = w / norm
        return norm

    @dace.program
    def array(x: double[3], S: double[1]):
        w = 1.0 * x
        S[0] = np.sum(w * normalised(w)) + w[0]

    @dace.program
    def tripled(v: double[3]):
        v[0] = 3.0 * v[0]
        return v[1]

    @dace.program
    def element(x: double[3], S: double[1]):
        w = 1.0 * x
        S[0] = w[0] * tripled(w) + w[0] * w[0]

    @dace.program
    def places(x: double[3], S: double[1]):
        w = 1.0 * x
        w[0], w[1] = w[1], w[0]
        S[0] = w[0] * w[0] * w[1]

    @dace.program
    def before(x: double[1], S: double[1]):
        S[0] = x[-2] * x[-1]

    def gradient(kernel: Any, x: np.ndarray) -> tuple[Any, ...]:
        sdfg = kernel.to_sdfg()
        backwards(sdfg=sdfg, inputs=["x"], outputs=["S"])
        value, slopes = np.zeros(1), np.zeros(x.size)
        sdfg(x=x.copy(), S=value, gradient_x=slopes, gradient_S=np.ones(1))
        return value, slopes

    kernels = {
        programs.array_before_a_call: array,
        programs.element_before_a_call: element,
        programs.elements_change_places: places,
        programs.subscript_before_the_first: before,
    }
    with tempfile.TemporaryDirectory() as folder, contextlib.chdir(folder):  # it keeps there what it refuses
        dace.Config.set("default_build_folder", value=folder)
        return answers({p: functools.partial(gradient, kernel, argument(p)) for p, kernel in kernels.items()})


# -- the table --------------------------------------------------------------------------------------------------------
PEERS = (loopdiff, jax, torch, autograd, drjit, warp, taichi, dace, numba)
NAMES = {
    "jax": "JAX", "torch": "PyTorch", "drjit": "Dr.Jit", "warp": "Warp", "taichi": "Taichi", "dace": "DaCe",
    "numba": "Numba (values)",
}  # fmt: skip


def text(found: Answer) -> str:
    if isinstance(found, str):
        return found
    value, *gradient = (f"{v:.4g}" for v in found)
    return f"{value}; {' '.join(gradient)}" if gradient else value


def verdict(found: Answer, true: Answer) -> str:
    if isinstance(found, str):
        return found
    if isinstance(true, str) or not np.allclose(found, true[: found.size], rtol=1e-6):
        return f"**{text(found)}**"
    return "right"


def rows(peers: Iterable[Callable[[], Answers]] = PEERS) -> list[list[str]]:
    found = {p.__name__: p() for p in peers if importlib.util.find_spec(p.__name__)}
    out = [["", "true", *(NAMES.get(name, name) for name in found)]]
    for program, title in TITLES.items():
        true = truth(program)
        cells = [verdict(each[program], true) if program in each else "" for each in found.values()]
        out.append([title, text(true), *cells])
    return out


if __name__ == "__main__":
    header, *lines = rows()
    print(table(header, lines, left=2))
