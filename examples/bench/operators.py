"""Operators of the kernel library against JAX and PyTorch: the value, and the value with all gradients.

    python examples/bench/operators.py [--cores N] [--asked] [--write] [NAME ...]

Float32, pinned to as many cores as asked for, all candidates in turn: on several, with `parallel=True`. Gradients are
compared before anything is timed. PyTorch takes part where it is installed. `--asked` measures the ten rows that the
library is judged by (four minutes), and says at how many gradients we are ahead of both. `--write` puts the table into
its section of `docs/operators_measured.md`.
"""

from __future__ import annotations

import os
import sys
from pathlib import Path

CORES = int(sys.argv[sys.argv.index("--cores") + 1]) if "--cores" in sys.argv else 1
# Seconds: between candidates, for the threads of others to go to sleep, and of a batch, for which its own stay awake.
PAUSE, BATCH = (0.02, 0.04) if CORES > 1 else (0.0, 0.01)
sys.path[:0] = [str(Path(__file__).parent), str(Path(__file__).parents[2])]

from timing import pin, thread_settings  # noqa: E402

os.environ.update(thread_settings(CORES))
os.environ["JAX_ENABLE_X64"] = "0"
os.environ["XLA_FLAGS"] = f"--xla_cpu_multi_thread_eigen={str(CORES > 1).lower()} intra_op_parallelism_threads={CORES}"
pin(CORES)

import argparse  # noqa: E402
import importlib.util  # noqa: E402
from collections.abc import Callable, Iterator  # noqa: E402
from dataclasses import dataclass  # noqa: E402
from itertools import pairwise  # noqa: E402
from typing import Any  # noqa: E402

import jax  # noqa: E402
import jax.numpy as jnp  # noqa: E402
import numpy as np  # noqa: E402
from machine import processor  # noqa: E402
from report import duration, in_section, versions  # noqa: E402
from timing import paired  # noqa: E402

from loopdiff import vectorize_grad  # noqa: E402
from loopdiff.kernels import Operator, encodings, networks, nn  # noqa: E402

PAGE = Path(__file__).parents[2] / "docs" / "operators_measured.md"
HAS_TORCH = importlib.util.find_spec("torch") is not None
rng = np.random.default_rng(0)


def draw(*shape: int) -> np.ndarray:
    return rng.standard_normal(shape).astype(np.float32)


@dataclass(frozen=True)
class Row:
    """An operator with options and arguments, and what it is in the other libraries."""

    name: str
    operator: Operator
    options: dict[str, Any]
    arguments: tuple[np.ndarray, ...]
    in_jax: Callable[..., Any]
    in_torch: Callable[..., Any] | None = None
    is_asked: bool = False


def convolved(x: Any, w: Any, b: Any) -> Any:
    groups = x.shape[1] // w.shape[1]
    y = jax.lax.conv_general_dilated(x, w, (1, 1), ((1, 1), (1, 1)), feature_group_count=groups)
    return y + b[:, None, None]


def attended(q: Any, k: Any, v: Any) -> Any:
    scores = jnp.einsum("bhid,bhjd->bhij", q, k) / jnp.float32(np.sqrt(q.shape[-1]))
    return jnp.einsum("bhij,bhje->bhie", jax.nn.softmax(scores, axis=-1), v)


def normed(x: Any, w: Any, b: Any) -> Any:
    mean = x.mean(axis=-1, keepdims=True)
    return (x - mean) / jnp.sqrt(((x - mean) ** 2).mean(axis=-1, keepdims=True) + 1e-5) * w + b


def pooled(x: Any) -> Any:
    return jax.lax.reduce_window(x, -jnp.inf, jax.lax.max, (1, 1, 3, 3), (1, 1, 2, 2), ((0, 0), (0, 0), (1, 1), (1, 1)))


def remembered(x: Any, h: Any, c: Any, w: Any, u: Any, b: Any) -> Any:
    def step(carry: Any, x: Any) -> Any:
        h, c = carry
        i, f, g, o = jnp.split(x @ w.T + h @ u.T + b, 4, axis=1)
        c = jax.nn.sigmoid(f) * c + jax.nn.sigmoid(i) * jnp.tanh(g)
        h = jax.nn.sigmoid(o) * jnp.tanh(c)
        return (h, c), h

    return jax.lax.scan(step, (h, c), x)[1]


def entropy(x: Any, labels: Any) -> Any:
    return jax.nn.logsumexp(x, axis=1) - jnp.take_along_axis(x, labels[:, None], axis=1)[:, 0]


def torch_lstm(x: Any, h: Any, c: Any, w: Any, u: Any, b: Any) -> Any:
    import torch

    weights = [w, u, b, torch.zeros_like(b)]
    return torch.lstm(x, (h[None], c[None]), weights, True, 1, 0.0, False, False, False)[0]


def by_layers(widths: tuple[int, ...]) -> Callable[..., Any]:
    def f(x: Any, buffer: Any) -> Any:
        for k, (w, b) in enumerate(networks.unpack(buffer, widths)):
            x = x @ w.T + b
            x = jax.nn.relu(x) if k < len(widths) - 2 else x
        return x

    return f


def torch_layers(widths: tuple[int, ...]) -> Callable[..., Any]:
    def f(x: Any, buffer: Any) -> Any:
        at = 0
        for k, (d, n) in enumerate(pairwise(widths)):
            w, b = buffer[at : at + n * d].view(n, d), buffer[at + n * d : at + n * d + n]
            at += n * d + n
            x = x @ w.T + b
            x = x.relu() if k < len(widths) - 2 else x
        return x

    return f


def torch_hashed(points: Any, tables: Any, cells: Any) -> Any:
    import torch

    T, primes, found = tables.shape[1], (1, 2654435761, 805459861), []
    for table, side in zip(tables, cells.tolist(), strict=True):
        x = points.clamp(0.0, 1.0) * side
        i = x.detach().floor().long().clamp(0, side - 1)
        total: Any = 0.0
        for corner in np.ndindex(2, 2, 2):
            j = i + torch.tensor(corner)
            if (side + 1) ** 3 <= T:
                entry = j[:, 0] + (side + 1) * (j[:, 1] + (side + 1) * j[:, 2])
            else:
                parts = [(j[:, k] * p) & 0xFFFFFFFF for k, p in enumerate(primes)]
                entry = (parts[0] ^ parts[1] ^ parts[2]) % T
            sides = [x[:, k] - i[:, k] if corner[k] else 1.0 - (x[:, k] - i[:, k]) for k in range(3)]
            total = total + (sides[0] * sides[1] * sides[2])[:, None] * table[entry]
        found.append(total)
    return torch.cat(found, dim=1)


def hashed(points: Any, tables: Any, cells: Any) -> Any:
    T, primes = tables.shape[1], np.array([1, 2654435761, 805459861], dtype=np.uint32)

    def level(table: Any, side: Any) -> Any:
        x = jnp.clip(points, 0.0, 1.0) * side
        i = jnp.clip(jnp.floor(jax.lax.stop_gradient(x)).astype(jnp.int32), 0, side - 1)
        total = 0.0
        for corner in np.ndindex(2, 2, 2):
            j = i + np.array(corner, dtype=np.int32)
            mixed = jnp.bitwise_xor.reduce(j.astype(jnp.uint32) * primes, axis=1)
            order = (j[:, 0] + (side + 1) * (j[:, 1] + (side + 1) * j[:, 2])).astype(jnp.uint32)
            entry = jnp.where((side + 1.0) ** 3 <= T, order, mixed) % np.uint32(T)
            total += jnp.where(np.array(corner) == 1, x - i, 1.0 - (x - i)).prod(axis=1)[:, None] * table[entry]
        return total

    # Written out for each level it compiles for two minutes.
    found = jax.lax.map(lambda given: level(*given), (tables, cells.astype(jnp.int32)))
    return jnp.moveaxis(found, 0, 1).reshape(len(points), -1)


def transformed(x: Any, window: Any) -> Any:
    frames = jnp.arange((x.shape[1] - 400) // 160 + 1)[:, None] * 160 + jnp.arange(400)
    return jnp.fft.rfft(x[:, frames] * window, axis=2).real.mT


def newer_rows() -> list[Row]:
    def network(name: str, widths: tuple[int, ...]) -> Row:
        shapes = [(k, d) for d, k in pairwise(widths)]
        buffer = networks.pack(tuple((draw(*s) / np.float32(np.sqrt(s[1])), draw(s[0])) for s in shapes))
        options = {"widths": widths, "activation": nn.relu}
        arguments = draw(65_536, widths[0]), buffer
        return Row(name, networks.packed_mlp, options, arguments, by_layers(widths), torch_layers(widths), True)

    points = rng.uniform(size=(1_000_000, 3)).astype(np.float32)
    cells = np.floor(16 * 1.38 ** np.arange(16)).astype(np.int64)
    return [
        network("mlp 3 x 32, 65,536 samples", (32, 32, 32, 3)),
        network("mlp 3 x 64, 65,536 samples", (64, 64, 64, 3)),
        Row("hash_grid3d, a million points, 16 levels", encodings.hash_grid3d, {},
            (points, draw(16, 2**19, 2), cells), hashed, torch_hashed, True),
        Row("stft (real part) of 16 s, 400 samples each 160", nn.stft, {"hop": 160}, (draw(1, 256_000), draw(400)),
            transformed),
    ]  # fmt: skip


def at_places(x: Any, grid: Any) -> Any:
    """The nearest cells of images at places, those of the edge outside."""
    H, W = x.shape[2:]
    i, j = (jnp.rint(((grid[..., 1 - k] + 1) * n - 1) / 2).astype(int) for k, n in enumerate((H, W)))
    n = jnp.arange(len(x))[:, None, None]
    return jnp.moveaxis(x[n, :, jnp.clip(i, 0, H - 1), jnp.clip(j, 0, W - 1)], 3, 1) + 0 * grid[:, None, :, :, 0]


def rows_of_options() -> list[Row]:
    """What other libraries have as options, or beside operators that were there before."""
    F: Any = importlib.import_module("torch.nn.functional") if HAS_TORCH else None
    images, grid = draw(4, 16, 64, 64), rng.uniform(-1.1, 1.1, (4, 64, 64, 2)).astype(np.float32)
    smaller = {"size": (40, 24), "antialias": True}
    classes, picked = (draw(512, 128), draw(4000, 128)), rng.integers(0, 4000, 512)

    def resized(x: Any) -> Any:
        return jax.image.resize(x, (4, 16, 40, 24), "linear", antialias=True)

    return [
        Row("grid_sample, nearest, border, 4 x 16 x 64 x 64", nn.grid_sample, {"mode": "nearest", "padding": "border"},
            (images, grid), at_places, lambda x, g: F.grid_sample(x, g, "nearest", "border", align_corners=False)),
        Row("resize_linear, antialias, 64 x 64 to 40 x 24", nn.resize_linear, smaller, (images,), resized,
            lambda x: F.interpolate(x, (40, 24), mode="bilinear", antialias=True, align_corners=False)),
        Row("mean_pool2d 3, stride 2, ceil_mode", nn.mean_pool2d, {"window": 3, "stride": 2, "ceil_mode": True,
            "divisor": 9}, (images,), lambda x: jax.lax.reduce_window(
                x, 0.0, jax.lax.add, (1, 1, 3, 3), (1, 1, 2, 2), ((0, 0), (0, 0), (0, 1), (0, 1))) / 9,
            lambda x: F.avg_pool2d(x, 3, 2, ceil_mode=True, divisor_override=9)),
        Row("linear_cross_entropy 512 x 128, 4000 classes", nn.linear_cross_entropy, {}, (*classes, picked),
            lambda x, w, y: entropy(x @ w.T, y), lambda x, w, y: F.cross_entropy(x @ w.T, y, reduction="none")),
    ]  # fmt: skip


def rows() -> list[Row]:
    F: Any = importlib.import_module("torch.nn.functional") if HAS_TORCH else None

    def torch_conv(x: Any, w: Any, b: Any) -> Any:
        return F.conv2d(x, w, b, padding=1, groups=x.shape[1] // w.shape[1])

    def conv(name: str, batch: int, group: int) -> Row:
        options = {"padding": 1, "groups": 64 // group}
        arguments = draw(batch, 64, 56, 56), draw(64, group, 3, 3), draw(64)
        return Row(name, nn.conv2d, options, arguments, convolved, torch_conv, True)

    H = 128
    lstm = (draw(100, 8, H), draw(8, H), draw(8, H), draw(4 * H, H) / 12, draw(4 * H, H) / 12, draw(4 * H))
    heads = tuple(draw(1, 8, 1024, 64) for _ in range(3))
    labels = rng.integers(0, 1000, 4096)
    return [
        conv("conv2d 3x3, 64 channels, 56x56", 1, 64),
        conv("conv2d 3x3, 64 channels, 56x56, batch 16", 16, 64),
        conv("depthwise 3x3, 64 channels, 56x56", 1, 1),
        Row("max_pool2d 3, stride 2", nn.max_pool2d, {"window": 3, "stride": 2, "padding": 1}, (draw(8, 64, 56, 56),),
            pooled, lambda x: F.max_pool2d(x, 3, 2, 1)),
        Row("attention, 8 heads of 1024 x 64", nn.attention, {}, heads, attended,
            lambda q, k, v: F.scaled_dot_product_attention(q, k, v), True),
        Row("layer_norm 4096 x 512", nn.layer_norm, {}, (draw(4096, 512), draw(512), draw(512)), normed,
            lambda x, w, b: F.layer_norm(x, (512,), w, b), True),
        Row("softmax 4096 x 512", nn.softmax, {}, (draw(4096, 512),), jax.nn.softmax, lambda x: F.softmax(x, -1), True),
        Row("cross_entropy 4096 x 1000", nn.cross_entropy, {}, (draw(4096, 1000), labels), entropy,
            lambda x, y: F.cross_entropy(x, y, reduction="none")),
        Row("lstm 128, 100 steps, batch 8", nn.lstm, {}, lstm, remembered, torch_lstm, True),
        Row("gelu, a million", nn.gelu, {}, (draw(1_000_000),), lambda x: jax.nn.gelu(x, approximate=False),
            lambda x: F.gelu(x)),
        *newer_rows(),
        *rows_of_options(),
    ]  # fmt: skip


def first(value: Any) -> Any:
    return value[0] if isinstance(value, tuple) else value


def ours(row: Row, seed: np.ndarray) -> tuple[Callable[[], Any], Callable[[], Any]]:
    f = row.operator.of(**row.options)
    if CORES > 1:
        f = vectorize_grad(parallel=True)(f.plain)

    def gradient() -> Any:
        value, pullback = f.vjp(*row.arguments)
        seeds = (seed, *(np.zeros_like(v) for v in value[1:])) if isinstance(value, tuple) else seed
        return [g for g in pullback(seeds) if g is not None]

    return lambda: f(*row.arguments), gradient


def of_jax(row: Row, seed: np.ndarray) -> tuple[Callable[[], Any], Callable[[], Any]]:
    active = tuple(n for n, a in enumerate(row.arguments) if a.dtype.kind == "f")
    value = jax.jit(row.in_jax)

    def pulled(seed: Any, *arguments: Any) -> Any:
        def of_active(*given: Any) -> Any:
            all_of = list(arguments)
            for n, a in zip(active, given, strict=True):
                all_of[n] = a
            return row.in_jax(*all_of)

        # With the value, as the others: XLA leaves out of a program what it does not return.
        found, pull = jax.vjp(of_active, *(arguments[n] for n in active))
        return found, pull(seed)

    gradient, given = jax.jit(pulled), [jnp.asarray(a) for a in row.arguments]
    return lambda: jax.block_until_ready(value(*given)), lambda: jax.block_until_ready(gradient(seed, *given))[1]


def of_torch(row: Row, seed: np.ndarray) -> tuple[Callable[[], Any], Callable[[], Any]]:
    import torch

    torch.set_num_threads(CORES)
    assert row.in_torch is not None, "asked for by rows that have it alone"
    run = row.in_torch
    given = [torch.from_numpy(a.copy()).requires_grad_(a.dtype.kind == "f") for a in row.arguments]
    active, adjoint = [a for a in given if a.requires_grad], torch.from_numpy(seed)

    def value() -> Any:
        with torch.no_grad():
            return run(*given)

    return value, lambda: torch.autograd.grad(run(*given), active, adjoint)


def measured(row: Row) -> Iterator[str]:
    seed = rng.standard_normal(first(row.operator(*row.arguments, **row.options)).shape).astype(np.float32)
    forms = {"loopdiff": ours(row, seed), "jax": of_jax(row, seed)}
    if HAS_TORCH and row.in_torch is not None:
        forms["torch"] = of_torch(row, seed)
    wanted = [np.asarray(g) for g in forms["jax"][1]()]
    for name, (_, gradient) in forms.items():
        for got, want in zip(gradient(), wanted, strict=True):
            scale = np.abs(want).max() + 1e-30
            error = np.abs(np.asarray(got) - want).max() / scale
            if not error < 2e-4:
                raise SystemExit(f"{row.name}: the gradient of {name} differs by {error:.1e}")
    for kind, which in (("value", 0), ("gradients", 1)):
        found = paired({n: f[which] for n, f in forms.items()}, batch=BATCH, pause=PAUSE)
        times = {name: t.median for name, t in found.items()}
        best = min(t for n, t in times.items() if n != "loopdiff")
        others = [duration(times[n]) if n in times else "-" for n in ("jax", "torch")]
        mine = duration(times["loopdiff"])
        yield f"| {row.name} | {kind} | {mine} | {' | '.join(others)} | {best / times['loopdiff']:.2f} |"


def verdict(lines: list[str]) -> str:
    ratios = [float(line.split("|")[-2]) for line in lines]
    ahead = sum(r > 1.0 for r in ratios)
    slow = [line.split("|")[1].strip() for line, r in zip(lines, ratios, strict=True) if r < 1.0 / 1.3]
    return f"gradients ahead of both: {ahead} of {len(ratios)}; slower than 1.3 times: {', '.join(slow) or 'none'}"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--cores", type=int, default=1)
    parser.add_argument("--asked", action="store_true")
    parser.add_argument("--write", action="store_true")
    parser.add_argument("names", nargs="*")
    options = parser.parse_args()
    lines = [
        "| operator | | loopdiff | JAX | PyTorch | best of these : loopdiff |",
        "| --- | --- | --- | --- | --- | --- |",
    ]
    print("\n".join(lines), flush=True)
    for row in rows():
        if (row.is_asked or not options.asked) and (not options.names or any(n in row.name for n in options.names)):
            for line in measured(row):
                lines.append(line)
                print(line, flush=True)
    print(verdict([line for line in lines if "| gradients |" in line]))
    if options.write:
        found = versions()
        used = ", ".join(f"{name} {found[name]}" for name in ("numba", "jax", "torch") if name in found)
        about = f"{processor()}, {options.cores} core(s), float32, {used}, {found['date']}."
        page = in_section(PAGE.read_text(encoding="utf-8"), f"## On {options.cores} core(s)", [about, "\n".join(lines)])
        PAGE.write_text(page, encoding="utf-8")


if __name__ == "__main__":
    main()
