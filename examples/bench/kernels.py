"""The kernels of the suite as the board runs them: their types, what is weighted, and what they cost at least.

The loops, sizes and oracles are those of `tests/corpus`. The element type is the one that the suite gives each
kernel. The loss is the sum of the weighted outputs: rows and tables that are only scratch have no weight.
`flops` counts additions, multiplications, divisions and comparisons of the primal as written, an elementary
function as one; a gradient with its value does about `growth` times as many. `sweeps` is how often the primal
goes over its arrays, where they are larger than a cache.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np

sys.path.insert(0, str(Path(__file__).parents[2]))

from tests.corpus import BY_NAME, Arguments, Entry, as_float32

Values = dict[str, Any]
ONCE: Callable[[Arguments], float] = lambda a: 1.0


@dataclass(frozen=True)
class Kernel:
    """What the board knows about an entry of the corpus.

    `outputs` are the weighted ones (`result` is what the function returns), `restored` the arrays that are
    copied back before each call because the loops overwrite their own input. `wrt` and `own_entry` are for
    measurements that differentiate less than the entry does, or loops that the corpus does not have.
    """

    name: str
    outputs: tuple[str, ...]
    flops: Callable[[Arguments], float]
    growth: float = 3.0
    dtype: str = "float64"
    restored: tuple[str, ...] = ()
    sweeps: Callable[[Arguments], float] = ONCE
    wrt: tuple[str, ...] = ()
    own_entry: Entry | None = None

    @property
    def entry(self) -> Entry:
        return self.own_entry or BY_NAME[self.name]

    @property
    def is_scalar(self) -> bool:
        """Whether the loss is what the function returns, and nothing else."""
        return self.outputs == ("result",)


@dataclass(frozen=True)
class Problem:
    """A kernel with arguments of one size and type. Nobody but the loops themselves may write to `args`."""

    kernel: Kernel
    size: str
    args: Arguments
    dtype: str

    @property
    def name(self) -> str:
        return self.kernel.name

    @property
    def wrt(self) -> tuple[str, ...]:
        return self.kernel.wrt or self.kernel.entry.wrt

    @cached_property
    def initial(self) -> Arguments:
        """Copies of the arguments: what peers start from that do not work in place."""
        return {k: v.copy() if isinstance(v, np.ndarray) else v for k, v in self.args.items()}

    @cached_property
    def weight(self) -> Values:
        """The cotangent of every weighted output, different for each element: sums of some outputs are constant."""
        rng = np.random.default_rng(1234)
        return {
            name: 1.0 if name == "result" else rng.uniform(0.5, 1.5, self.args[name].shape).astype(self.dtype)
            for name in self.kernel.outputs
        }

    @cached_property
    def restoring(self) -> tuple[tuple[np.ndarray, np.ndarray], ...]:
        return tuple((self.args[name], self.initial[name]) for name in self.kernel.restored)

    def restore(self) -> None:
        """Give arrays that the loops overwrite their first values."""
        for array, first in self.restoring:
            np.copyto(array, first)

    @property
    def flops(self) -> tuple[float, float]:
        """Operations of the primal, and of the value with its gradient."""
        count = self.kernel.flops(self.initial)
        return count, count * self.kernel.growth

    @property
    def traffic(self) -> tuple[float, float]:
        """Bytes that must at least move: every array once per sweep; for the gradient, arrays again and adjoints."""
        sizes = {k: v.nbytes for k, v in self.initial.items() if isinstance(v, np.ndarray)}
        both = sum(sizes[name] for name in self.kernel.restored)
        pure = sum(sizes[name] for name in self.kernel.entry.outputs if name not in self.kernel.restored)
        adjoints = sum(sizes[name] for name in self.wrt) + sum(np.asarray(w).nbytes for w in self.weight.values())
        primal = float(sum(sizes.values()) + both)
        sweeps = self.kernel.sweeps(self.initial)
        return primal * sweeps, (primal + sum(sizes.values()) - pure + adjoints) * sweeps


def problem(name: str, size: str, dtype: str | None = None) -> Problem:
    """A fresh problem; `size` is `tiny` or one of the entry's, `dtype` the kernel's own unless given."""
    kernel = BY_KERNEL[name]
    return problem_of(kernel, size, kernel.entry.args(0, None if size == "tiny" else size), dtype)


def problem_of(kernel: Kernel, size: str, args: Arguments, dtype: str | None = None) -> Problem:
    """A problem with these arguments, which are kept as its initial ones."""
    chosen = dtype or kernel.dtype
    made = Problem(kernel, size, as_float32(args) if chosen == "float32" else args, chosen)
    assert made.initial is not made.args
    return made


def product(*values: float) -> float:
    return float(np.prod(np.array(values, float)))


def shape(args: Arguments, name: str) -> tuple[int, ...]:
    return args[name].shape


def lower(n: float) -> float:
    """Pairs (i, j) with j < i."""
    return n * (n - 1) / 2


def conv_flops(a: Arguments) -> float:
    return 2 * product(*shape(a, "out"), *shape(a, "w")[:3])


def depthwise_flops(a: Arguments) -> float:
    return product(*shape(a, "x")) * (18 + 2 * a["pw"].shape[1])


def attention_flops(a: Arguments) -> float:
    B, S, D = shape(a, "Q")
    return product(B, S, S) * (4 * D + 6)


def mlp_flops(a: Arguments) -> float:
    P, I = shape(a, "x")
    H, O = a["W1"].shape[0], a["W3"].shape[0]
    return 2.0 * P * (I * H + H * H + H * O)


def gmm_flops(a: Arguments) -> float:
    n, d = shape(a, "x")
    return float(n * a["alpha"].shape[0] * (2 * lower(d) + 6 * d + 4))


def nbody_flops(a: Arguments) -> float:
    N, steps = a["mass"].shape[0], a["KE"].shape[0]
    return float(steps * (N * N * 20 + lower(N) * 13 + 22 * N))


KERNELS: tuple[Kernel, ...] = (
    Kernel("rde_matmul_log1p", ("result",), lambda a: product(*shape(a, "A"), a["B"].shape[1]) * 2 + 5 * a["C"].size),
    Kernel("tullio_bmm_rev", ("C",), lambda a: 2 * product(*shape(a, "A"), a["B"].shape[1])),
    Kernel("conv2d_bias", ("out",), conv_flops, dtype="float32"),
    Kernel("depthwise_separable", ("out",), depthwise_flops, dtype="float32"),
    Kernel("softmax", ("out",), lambda a: 5.0 * a["x"].size, 2.0, dtype="float32"),
    Kernel("attention", ("out",), attention_flops, 3.5, dtype="float32"),
    Kernel("mlp_rows", ("result",), mlp_flops, dtype="float32"),
    Kernel("gmm", ("result",), gmm_flops),
    Kernel("kmeans_cost", ("result",), lambda a: 3 * product(*shape(a, "points"), a["cent"].shape[0]), 1.1),
    Kernel(
        "jacobi_2d", ("A", "B"), lambda a: 10.0 * (a["T"] - 1) * a["A"].size, 2.0,
        restored=("A", "B"), sweeps=lambda a: float(a["T"] - 1),
    ),
    Kernel(
        "seidel_2d", ("A",), lambda a: 9.0 * (a["T"] - 1) * a["A"].size, 2.0,
        restored=("A",), sweeps=lambda a: float(a["T"] - 1),
    ),
    Kernel(
        "fdtd_2d", ("ex", "ey", "hz"), lambda a: 11.0 * len(a["fict"]) * a["ex"].size, 2.0,
        restored=("ex", "ey", "hz"), sweeps=lambda a: float(len(a["fict"])),
    ),
    Kernel("hdiff", ("out",), lambda a: 20.0 * a["out"].size, 2.5),
    Kernel("vadv", ("utens_stage",), lambda a: 30.0 * a["u_pos"].size, 3.0, restored=("utens_stage",)),
    Kernel("cholesky", ("A",), lambda a: len(a["A"]) ** 3 / 3, restored=("A",)),
    Kernel("syrk", ("C",), lambda a: lower(len(a["A"]) + 1) * (3 * a["A"].shape[1] + 1), restored=("C",)),
    Kernel("durbin", ("y",), lambda a: 4 * lower(len(a["r"]))),
    Kernel("nussinov_real", ("result",), lambda a: 2.0 * len(a["w"]) ** 3 / 6, 1.5),
    Kernel("spmv_csr", ("y",), lambda a: 2.0 * a["vals"].size),
    Kernel("weighted_histogram", ("res",), lambda a: 8.0 * a["data"].size, 1.5),
    Kernel("hash_grid", ("out",), lambda a: 8.0 * a["out"].size * 6, dtype="float32"),
    Kernel("bundle_adjustment", ("reproj", "werr"), lambda a: 75.0 * a["w"].size),
    Kernel("lstm_diag", ("result",), lambda a: a["seq"].size * (a["main"].shape[0] / 2 * 24 + 6)),
    Kernel("nbody", ("KE", "PE"), nbody_flops, restored=("pos", "vel")),
)  # fmt: skip
BY_KERNEL: dict[str, Kernel] = {kernel.name: kernel for kernel in KERNELS}
