"""Division of 128-bit integers in compiled code, against Python's."""

from __future__ import annotations

import ctypes
import random
from collections.abc import Callable

import llvmlite.binding as llvm
import pytest

from loopdiff.backends.cpu import wide_division

CALL = """
define void @use(ptr %p) {{
  %f = inttoptr i64 {address} to ptr
  %a = load i128, ptr %p, align 16
  %q = getelementptr i8, ptr %p, i64 16
  %b = load i128, ptr %q, align 16
  %found = call i128 %f(i128 %a, i128 %b)
  store i128 %found, ptr %p, align 16
  ret void
}}
"""


def caller(address: int) -> tuple[object, Callable[[int, int], bytes]]:
    """What calls the function at `address`, and what that lives in."""
    module = llvm.parse_assembly(CALL.format(address=address))
    module.triple = llvm.get_process_triple()
    machine = llvm.Target.from_default_triple().create_target_machine(opt=1, jit=True, codemodel="jitdefault")
    engine = llvm.create_mcjit_compiler(module, machine)
    engine.finalize_object()
    use = ctypes.CFUNCTYPE(None, ctypes.c_void_p)(engine.get_function_address("use"))
    memory = ctypes.create_string_buffer(48)
    place = (ctypes.addressof(memory) + 15) & ~15

    def call(a: int, b: int) -> bytes:
        mask = (1 << 128) - 1
        ctypes.memmove(place, (a & mask).to_bytes(16, "little") + (b & mask).to_bytes(16, "little"), 32)
        use(place)
        return ctypes.string_at(place, 16)

    return (engine, memory), call


def drawn(rng: random.Random, is_signed: bool) -> tuple[int, int]:
    most = 127 if is_signed else 128
    a, b = (rng.getrandbits(rng.randint(1, most)) for _ in range(2))
    signs = (-1, 1) if is_signed else (1,)
    return rng.choice(signs) * a, rng.choice(signs) * (b or 1)


def towards_zero(a: int, b: int) -> tuple[int, int]:
    """Quotient and remainder as machines have them."""
    quotient = abs(a) // abs(b) * (1 if (a < 0) == (b < 0) else -1)
    return quotient, a - quotient * b


@pytest.mark.parametrize("name", wide_division.NAMES)
def test_functions_of_our_own_divide(name: str) -> None:
    is_signed, is_rest = "u" not in name, "mod" in name
    kept, call = caller(wide_division.of_text()[name])
    rng = random.Random(7)
    for _ in range(2000):
        a, b = drawn(rng, is_signed)
        assert int.from_bytes(call(a, b), "little", signed=is_signed) == towards_zero(a, b)[is_rest]
    del kept


def test_compiled_code_finds_them() -> None:
    wide_division.provide()
    assert all(map(llvm.address_of_symbol, wide_division.NAMES))
