"""The machine model: vector width, costs of instructions, caches and bandwidths of a processor.

Costs are cycles in which an instruction keeps its unit busy (Fog, "Instruction tables"): two units for arithmetic, two
for loads, one for stores and one for divisions, four instructions in each cycle. They are those of a recent x86 core;
that other cores differ by a factor that is much the same for all loops does not change which loop is the cheapest.
"""

from __future__ import annotations

from loopdiff.immutable import immutable
from loopdiff.ir.ops import COMPARISONS, PLAIN, QUOTIENTS, Op

ARITHMETIC, LOAD, STORE, ISSUE = 0.5, 0.5, 1.0, 0.25
IMPEDED = 0.15  # of what units other than the busiest do is not hidden behind it
LATENCY = 4.0
DIVISION_LATENCY, FUNCTION_LATENCY, FORWARDING = 14.0, 30.0, 5.0
OVERLAPPING = 20.0  # a vector read from parts of several that were just stored
LOOP = 1.5  # counting and branching of an iteration
START = 10.0  # bounds, masks and the last partial vector of a vector loop
REDUCE = 12.0  # adding the lanes of a vector
GATHERED, SCATTERED = 1.0, 2.0  # one lane whose element lies apart from the others, its address included
PLACE = 3.0  # one lane of an update of computed places: lanes may meet, and go one after the other
CALL = 150.0  # a function with a rule

# Cycles of one call of a function, for all lanes of a vector or for a scalar.
FUNCTIONS: dict[Op, float] = {
    Op.EXP: 16.0, Op.EXP2: 16.0, Op.EXPM1: 24.0, Op.LOG: 20.0, Op.LOG2: 22.0, Op.LOG10: 22.0, Op.LOG1P: 24.0,
    Op.SIN: 24.0, Op.COS: 24.0, Op.TAN: 40.0, Op.ASIN: 40.0, Op.ACOS: 40.0, Op.ATAN: 30.0, Op.ATAN2: 45.0,
    Op.SINH: 40.0, Op.COSH: 40.0, Op.TANH: 30.0, Op.ASINH: 50.0, Op.ACOSH: 50.0, Op.ATANH: 50.0,
    Op.ERF: 35.0, Op.ERFC: 60.0, Op.CBRT: 40.0, Op.POW: 60.0, Op.HYPOT: 30.0, Op.FMOD: 60.0,
    Op.GAMMA: 200.0, Op.LGAMMA: 200.0, Op.DIGAMMA: 200.0, Op.TRIGAMMA: 200.0,
}  # fmt: skip
# Cycles of operations that are a few instructions each; those of one instruction are left out.
SEQUENCES: dict[Op, float] = {
    **dict.fromkeys(PLAIN, 1.0), Op.SIGN: 1.5, Op.MIN: 1.5, Op.MAX: 1.5, Op.COPYSIGN: 1.0, Op.STRONG_MUL: 1.5,
}  # fmt: skip
FREE = frozenset((Op.STOP, Op.SLOPED, Op.NOT))
TESTS = frozenset(COMPARISONS)
# Cycles of a division and a square root, for each lane and at least, by bits of an element.
DIVISIONS: dict[Op, dict[int, tuple[float, float]]] = {
    **{op: {64: (2.0, 4.0), 32: (0.625, 3.0)} for op in QUOTIENTS},
    Op.SQRT: {64: (3.0, 6.0), 32: (0.75, 3.0)},
}
INTEGER_DIVISION = 45.0  # of each lane: vectors have none


@immutable
class Cache:
    """A level of the memory: its size, and how many bytes in a nanosecond come from the level behind it."""

    size: int
    bandwidth: float


@immutable
class Machine:
    """A processor core: bits of its vector registers, its clock in GHz, its caches from the smallest on.

    The last cache is shared with other cores, which is why only a part of it counts.
    """

    bits: int = 512
    clock: float = 3.0
    caches: tuple[Cache, ...] = (Cache(32 << 10, 70.0), Cache(1 << 20, 30.0), Cache(16 << 20, 14.0))

    def lanes(self, item_bits: int) -> int:
        """How many elements of `item_bits` a vector has."""
        return max(1, self.bits // item_bits)

    @property
    def registers(self) -> int:
        """How many vectors it holds."""
        return 32 if self.bits == 512 else 16

    @property
    def has_mask_registers(self) -> bool:
        """Whether masked stores are as fast as others."""
        return self.bits == 512

    def nanoseconds(self, cycles: float) -> float:
        return cycles / self.clock
