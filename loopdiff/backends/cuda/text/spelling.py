"""Operations that kernels spell in their own way: what Numba has no name for on the GPU, and what may fail.

The functions are named here; `device_functions` has them for the GPU, `emulated_functions` for the CPU.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from loopdiff.ir.ops import Op
from loopdiff.ir.types import F32, F64, INT, ScalarType

SUFFIX = {F64: "f64", F32: "f32", INT: "i64"}
OWN_FUNCTIONS: dict[tuple[Op, ScalarType], str] = {
    **{
        (op, kind): f"{name}_{SUFFIX[kind]}"
        for kind in (F64, F32)
        for op, name in {
            Op.FLOOR: "floor", Op.CEIL: "ceil", Op.TRUNC: "trunc", Op.ROUND: "rint", Op.CBRT: "cbrt", Op.EXP2: "exp2",
            Op.FMOD: "fmod", Op.STRICT_ADD: "strict_add", Op.STRICT_SUB: "strict_sub", Op.STRICT_MUL: "strict_mul",
            Op.STRICT_DIV: "strict_div",
        }.items()
    },
    **{(Op.SIGN, kind): f"sign_{SUFFIX[kind]}" for kind in SUFFIX},
}  # fmt: skip
# Operations on integers that raise in Python: kernels note it in the array of the status, and go on with zero.
CHECKED = {
    Op.FLOORDIV: "checked_floordiv", Op.MOD: "checked_mod", Op.POW: "checked_pow", Op.SHL: "checked_shl",
    Op.SHR: "checked_shr",
}  # fmt: skip
# Values that are all bytes zero: arrays are filled with them without a kernel.
ZEROS = ("0", "0.0", "np.float32(0.0)", "False")
# Elements of the status: whether anything is wrong, then what.
STATUS, BY_ZERO, MODULO_ZERO, NEGATIVE_POWER, NEGATIVE_SHIFT, FIRST_CHECK = range(6)


@dataclass(slots=True)
class FailureChecks:
    """What the elements of the status from `FIRST_CHECK` on mean."""

    known: dict[tuple[str, str], int] = field(default_factory=dict)

    def number(self, code: str, message: str) -> int:
        return self.known.setdefault((code, message), FIRST_CHECK + len(self.known))

    @property
    def size(self) -> int:
        return FIRST_CHECK + len(self.known)
