"""Kernels from their syntax trees: the walks of `backends.cpu.direct`, tried first in a pipeline of numba-cuda.

Its own passes take time that grows with the square of a kernel's length, and most of what it takes to compile one.
"""

from __future__ import annotations

import ast
import importlib
import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from loopdiff.backends.cpu.direct.expressions import Value
from loopdiff.backends.cpu.direct.hints import ROLLED, Hint
from loopdiff.backends.cpu.direct.lower import Lowering
from loopdiff.backends.cpu.direct.passes import lowered
from loopdiff.backends.cpu.direct.syntax import Unknown, constant_of
from loopdiff.backends.cuda.aliasing import Arrays, Marks
from loopdiff.backends.cuda.toolchain import cuda
from loopdiff.source.nodes import syntax_nodes

compiler: Any = importlib.import_module(f"{cuda.__name__}.compiler")
errors: Any = importlib.import_module(f"{cuda.__name__}.core.errors")
lock: Any = importlib.import_module(f"{cuda.__name__}.core.compiler_lock").global_compiler_lock
lowering: Any = importlib.import_module(f"{cuda.__name__}.lowering")
machinery: Any = importlib.import_module(f"{cuda.__name__}.core.compiler_machinery")
passes: Any = importlib.import_module(f"{cuda.__name__}.core.typed_passes")


KERNELS: list[Callable[..., Any] | None] = [None]  # that are being compiled


class DeviceLowering(Lowering, lowering.CUDALower):
    """numba-cuda's lowering, of a tree; of that of a kernel LLVM is told what its arrays have in common."""

    def init(self) -> None:
        super().init()
        # What a function is given by a kernel may be one array twice, or written before by another function.
        is_kernel = self.func_ir.func_id.func is KERNELS[-1]
        kinds = dict(zip(self.fndesc.args, self.fndesc.argtypes, strict=True)) if is_kernel else {}
        self.marks = Marks(self.module, Arrays.of(self.tree, kinds))
        self.stores = True  # whether the loop around writes elements

    def load(self, array: ast.expr, place: Value) -> Value:
        with self.marked(array):
            return super().load(array, place)

    def save(self, array: ast.expr, value: Value, place: Value) -> None:
        with self.marked(array):
            super().save(array, value, place)

    def loop(self, index: str, given: list[ast.expr], body: list[ast.stmt]) -> None:
        before, self.stores = self.stores, writes_elements(body)
        super().loop(index, given, body)
        self.stores = before

    def hints(self, given: list[ast.expr], body: list[ast.stmt]) -> Iterator[Hint]:
        """No copies of what is as far apart as there are threads: these have seldom more than one iteration of it."""
        if len(given) == 3 and constant_of(given[2]) is ...:
            yield ROLLED

    @contextmanager
    def marked(self, array: ast.expr) -> Iterator[None]:
        """What is written meanwhile is about elements of `array`."""
        written = self.builder.block.instructions
        before = len(written)
        yield
        if isinstance(array, ast.Name):
            self.marks.mark(array.id, written[before:], among_stores=self.stores)


def writes_elements(body: list[ast.stmt]) -> bool:
    return any(isinstance(n, ast.Subscript) and isinstance(n.ctx, ast.Store) for s in body for n in syntax_nodes(s))


@machinery.register_pass(mutates_CFG=False, analysis_only=False)
class DirectDeviceLowering(passes.BaseNativeLowering):
    """Types and lowers a function from its syntax tree. Where it gives up, the state is as it was."""

    _name = "direct_device_lowering"

    @property
    def lowering_class(self) -> Any:
        return DeviceLowering

    def run_pass(self, state: Any) -> Any:
        try:
            return lowered(state, super().run_pass)
        except Exception as error:
            if os.environ.get("LOOPDIFF_STRICT") and not isinstance(error, Unknown):
                raise
            # numba-cuda goes on with its own passes after an error of its own only.
            raise errors.UnsupportedError(f"{type(error).__name__}: {error}") from error


@machinery.register_pass(mutates_CFG=False, analysis_only=True)
class StartDeviceAgain(machinery.CompilerPass):
    """Forgets why another pipeline gave up, which numba-cuda would report."""

    _name = "start_device_again"

    def __init__(self) -> None:
        super().__init__()

    def run_pass(self, state: Any) -> Any:
        state.status.fail_reason = None
        return False


class DirectCompiler(compiler.CUDACompiler):
    """numba-cuda's compiler, whose own passes are asked only for what the walks do not know."""

    def define_pipelines(self) -> list[Any]:
        first, second = machinery.PassManager("direct"), machinery.PassManager("cuda")
        first.add_pass(compiler.CreateLibrary, "create library")
        first.add_pass(DirectDeviceLowering, "from the syntax tree")
        first.add_pass(compiler.CUDABackend, "cuda backend")
        second.add_pass(StartDeviceAgain, "after what only numba-cuda knows")
        for usual in super().define_pipelines():
            second.passes.extend(usual.passes)
        first.finalize()
        second.finalize()
        return [first, second]


@contextmanager
def direct_compiler(kernel: Callable[..., Any]) -> Iterator[None]:
    """Whatever numba-cuda compiles meanwhile for `kernel`, it does with `DirectCompiler`: nobody can hand it another
    one."""
    with lock:
        usual = compiler.CUDACompiler
        compiler.CUDACompiler = DirectCompiler
        KERNELS.append(kernel)
        try:
            yield
        finally:
            KERNELS.pop()
            compiler.CUDACompiler = usual
