"""Defects of LLVM that generated code keeps clear of, found by trying.

LLVM 22 takes `select(mask, masked.load(p, mask), other)` for a masked load at the place of the `select`: behind stores
to `p` that stand between the two (https://github.com/llvm/llvm-project/issues/215453). Values that were read before an
element changed are then those after it. Masked loads come from vectors with masks, where `simd.build.masked_load` hides
them from the `select`, and from LLVM's own vectorizer, which is told to leave loops with branches alone.
"""

from __future__ import annotations

from functools import cache
from typing import Any

import llvmlite.binding as llvm

EXAMPLE = """
define <2 x double> @example(ptr %p, <2 x i1> %mask, <2 x double> %other) {
  %found = call <2 x double> @llvm.masked.load.v2f64.p0(ptr %p, i32 8, <2 x i1> %mask, <2 x double> zeroinitializer)
  store <2 x double> %other, ptr %p
  %result = select <2 x i1> %mask, <2 x double> %found, <2 x double> %other
  ret <2 x double> %result
}
declare <2 x double> @llvm.masked.load.v2f64.p0(ptr, i32, <2 x i1>, <2 x double>)
"""


@cache
def moves_masked_loads() -> bool:
    """Whether LLVM moves masked loads past stores; it does if it cannot be asked."""
    try:
        module = llvm.parse_assembly(EXAMPLE)
        machine = llvm.Target.from_default_triple().create_target_machine()
        passes = llvm.create_pass_builder(machine, llvm.create_pipeline_tuning_options())
        manager = llvm.create_new_module_pass_manager()
        manager.add_instruction_combine_pass()
        manager.run(module, passes)
        function = str(module.get_function("example"))
    except (AttributeError, RuntimeError):
        return True
    return function.index("store") < function.index("masked.load")


class ScalarCodegen:
    """Numba's code generator `inner` without LLVM's vectorizer, for a library whose loops are not written here."""

    _loopvect = False

    def __init__(self, inner: Any) -> None:
        self.inner = inner

    def __getattr__(self, name: str) -> Any:
        return getattr(self.inner, name)

    def _module_pass_manager(self, **kwargs: Any) -> Any:
        return self.inner._module_pass_manager(**{**kwargs, "loop_vectorize": False})

    def _function_pass_manager(self, **kwargs: Any) -> Any:
        return self.inner._function_pass_manager(**{**kwargs, "loop_vectorize": False})
