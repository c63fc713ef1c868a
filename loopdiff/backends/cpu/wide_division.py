"""Division of 128-bit integers, which LLVM calls by name where it works out how often a loop runs that goes by a step
of the data (`range(2 * i, n, i)`). Just-in-time code finds the compiler's runtime library only where somebody has said
where it is: without that it jumps nowhere.
"""

from __future__ import annotations

import ctypes
import sys

import llvmlite.binding as llvm

from loopdiff.backends.cpu.interrupts import compiled_text

# Of each function, which of the two divisions it is, and which of the quotient and the rest it gives.
FUNCTIONS = {
    "__udivti3": ("divided", 0), "__umodti3": ("divided", 1), "__divti3": ("signed", 0), "__modti3": ("signed", 1),
}  # fmt: skip
NAMES = tuple(FUNCTIONS)
LIBRARIES = {"linux": ("libgcc_s.so.1",), "darwin": (None,)}
KEPT: list[object] = []  # what the functions live in

# Long division, bit by bit; of numbers with signs, of their absolute values.
DIVISIONS = """
define private { i128, i128 } @divided(i128 %a, i128 %b) {
entry:
  br label %step
step:
  %k = phi i32 [ 127, %entry ], [ %next, %step ]
  %quotient = phi i128 [ 0, %entry ], [ %more, %step ]
  %rest = phi i128 [ 0, %entry ], [ %left, %step ]
  %place = zext i32 %k to i128
  %shifted = lshr i128 %a, %place
  %bit = and i128 %shifted, 1
  %twice = shl i128 %rest, 1
  %part = or i128 %twice, %bit
  %is_over = icmp slt i128 %rest, 0
  %is_large = icmp uge i128 %part, %b
  %fits = or i1 %is_over, %is_large
  %less = sub i128 %part, %b
  %left = select i1 %fits, i128 %less, i128 %part
  %one = shl i128 1, %place
  %with = or i128 %quotient, %one
  %more = select i1 %fits, i128 %with, i128 %quotient
  %next = sub i32 %k, 1
  %is_last = icmp eq i32 %k, 0
  br i1 %is_last, label %end, label %step
end:
  %first = insertvalue { i128, i128 } undef, i128 %more, 0
  %both = insertvalue { i128, i128 } %first, i128 %left, 1
  ret { i128, i128 } %both
}
define private { i128, i128 } @signed(i128 %a, i128 %b) {
  %s = ashr i128 %a, 127
  %t = ashr i128 %b, 127
  %u = xor i128 %a, %s
  %v = xor i128 %b, %t
  %c = sub i128 %u, %s
  %d = sub i128 %v, %t
  %both = call { i128, i128 } @divided(i128 %c, i128 %d)
  %quotient = extractvalue { i128, i128 } %both, 0
  %sign = xor i128 %s, %t
  %w = xor i128 %quotient, %sign
  %first = sub i128 %w, %sign
  %rest = extractvalue { i128, i128 } %both, 1
  %x = xor i128 %rest, %s
  %second = sub i128 %x, %s
  %one = insertvalue { i128, i128 } undef, i128 %first, 0
  %two = insertvalue { i128, i128 } %one, i128 %second, 1
  ret { i128, i128 } %two
}
"""
FUNCTION = """
define i128 @{name}(i128 %a, i128 %b) {{
  %both = call {{ i128, i128 }} @{division}(i128 %a, i128 %b)
  %found = extractvalue {{ i128, i128 }} %both, {part}
  ret i128 %found
}}
"""


def provide() -> None:
    """Let compiled code find the functions: those of the compiler's library, or our own."""
    if all(map(llvm.address_of_symbol, NAMES)):
        return
    for name, address in (of_library() or of_text()).items():
        llvm.add_symbol(name, address)


def of_library() -> dict[str, int]:
    """The addresses in a library that is there anyway; none where there is no such."""
    for path in LIBRARIES.get(sys.platform, ()):
        try:
            library = ctypes.CDLL(path)
            found = {n: ctypes.cast(getattr(library, n), ctypes.c_void_p).value or 0 for n in NAMES}
        except (OSError, AttributeError):
            continue
        KEPT.append(library)
        return found
    return {}


def of_text() -> dict[str, int]:
    """The addresses of functions that are compiled here."""
    parts = (FUNCTION.format(name=n, division=d, part=p) for n, (d, p) in FUNCTIONS.items())
    engine = compiled_text(DIVISIONS + "".join(parts))
    KEPT.append(engine)
    return {name: engine.get_function_address(name) for name in NAMES}
