"""The decorator, and its settings."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from os import PathLike, fspath
from typing import Any, ParamSpec, Protocol, TypeVar, overload

from loopdiff.differentiable import Differentiable, decorate
from loopdiff.settings.options import Accuracy, Check, MemoryLimit, Negative, Options, Shown, TapePolicy, Target
from loopdiff.settings.requests import requests_of

Folder = str | PathLike[str] | None
Names = str | int | tuple[str | int, ...] | list[str | int] | list[str] | None
P = ParamSpec("P")
R = TypeVar("R")


class Decorator(Protocol):
    """What `vectorize_grad` with settings is applied to a function as."""

    def __call__(self, function: Callable[P, R], /) -> Differentiable[P, R]: ...


@overload
def vectorize_grad(function: Callable[P, R], /) -> Differentiable[P, R]: ...
@overload
def vectorize_grad(
    *, wrt: Names = None, tape: TapePolicy = "auto", fastmath: bool = True, parallel: bool = False,
    cache: bool = True, accuracy: Accuracy = "default", memory_limit: MemoryLimit = None, check: Check = "cheap",
    schedule: Mapping[str, Mapping[str, str]] | None = None, autotune: bool = False, target: Target = "cpu",
    progress: Shown = "auto", negative: Negative = "error", source: str | None = None, spill: Folder = None,
    has_aux: bool = False,
) -> Decorator: ...  # fmt: skip
def vectorize_grad(
    function: Callable[..., Any] | None = None, /, *, wrt: Names = None, tape: TapePolicy = "auto",
    fastmath: bool = True, parallel: bool = False, cache: bool = True, accuracy: Accuracy = "default",
    memory_limit: MemoryLimit = None, check: Check = "cheap", schedule: Mapping[str, Mapping[str, str]] | None = None,
    autotune: bool = False, target: Target = "cpu", progress: Shown = "auto", negative: Negative = "error",
    source: str | None = None, spill: Folder = None, has_aux: bool = False,
) -> Any:  # fmt: skip
    """Compile a loop nest over NumPy arrays and its derivatives. Used with or without arguments.

    Args:
        function: A plain Python function, or the gradient `f.grad` of a differentiable one.
        wrt: Names or places of the arguments to differentiate, or of what stands in one, `params["w"]`,
            `model.layers[0]`. By default every floating argument but `self`, except arrays that are written and no
            element of which is read before; of a gradient, those that it is the gradient by.
        tape: `store` or `recompute` what the reverse sweep needs, or choose for each value (`auto`).
        fastmath: Whether sums may be reordered, products fused and common factors taken out of sums. NaN and infinity
            are not assumed away.
        parallel: Whether outer loops may run on several threads, where their work pays for it.
        cache: Whether generated code is kept on disk for later processes.
        accuracy: `high` asks elementary functions for 1 ulp.
        memory_limit: Most bytes between the sweeps; beyond it values are recomputed. `auto`: half of the memory that is
            free at a call, in the container too, where the system says how much that is.
        check: How a pullback notices that arrays it needs were changed: by checksums (`cheap`), by copies
            (`always`), not at all (`never`). `first`: by checksums, and the first call of each signature
            compares reverse with forward mode.
        schedule: What loops of the sweeps `primal`, `forward`, `reverse` and `tangent` are to become:
            `{"reverse": {"i": "scalar", "j@12": "vector"}}`, `j@12` being the loop over `j` at line 12. One of
            `vector`, `scalar`, `tile`, `rows=64` and `no rows`, or for the GPU `threads`, `sequential`, `warp`, `plain`
            and rows. Whatever is not asked for is chosen.
        autotune: Whether the first gradient for arguments of a new type or size measures a few schedules on copies of
            them. Which was fastest is remembered on disk.
        target: `cuda` runs loops as kernels on the GPU, `cuda-emulated` runs the same kernels on the CPU, thread after
            thread.
        progress: Whether a line on standard error says how far compiling is, once it takes two seconds. `auto`: where
            that is a terminal, for calls from the main thread and not for JAX; `always`; `never`.
        negative: What a subscript is that is negative for some arguments or in some iterations, `x[i - 1]` at `i = 0`:
            an error (LD311, LD310), or an element counted `from_end`, as in Python. Those that always are count from
            there in any case.
        source: The text that the function was made of by `exec`, where no file holds it; all of it, and what the
            function calls may stand there as well.
        spill: The folder for files that hold what goes from the forward to the reverse sweep, arrays of a megabyte and
            more, in place of memory. Nothing is left of them when they are not needed any more, or the process ends.
        has_aux: Whether `grad` and `value_and_grad` are of the number that the function returns first, and what comes
            after it has no derivative there: `(loss, aux), g = f.value_and_grad(x)`, `g, aux = f.grad(x)`.

    Raises:
        UnsupportedLoopError: The function leaves the accepted language (LD1xx).
        DifferentiationError: `wrt` is not a set of its arguments (LD401, LD403).
        ArgumentError: A setting has a value it cannot have (LD309).
        ScheduleError: Later, when code is generated: `schedule` cannot be followed (LD5xx).
    """
    options = Options(
        tape, fastmath, parallel, cache, accuracy, memory_limit, check, requests_of(schedule), autotune, target,
        progress=progress, negative=negative, spill=None if spill is None else fspath(spill), has_aux=has_aux,
    )  # fmt: skip
    keep_text(source)
    names = None if wrt is None else tuple(wrt) if isinstance(wrt, Iterable) and not isinstance(wrt, str) else (wrt,)
    if function is None:
        return lambda f: decorate(f, names, options)
    return decorate(function, names, options)


def keep_text(source: str | None) -> None:
    """Remember the text that functions were made of."""
    if source is not None:
        from loopdiff.source.texts import hand_over

        hand_over(source)
