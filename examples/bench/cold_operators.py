"""What the first value with gradients of each operator takes: all that is compiled, with nothing in the cache.

    python examples/bench/cold_operators.py [--over SECONDS] [NAME ...]

CPU seconds, of all threads, of a process for each: one that has imported loopdiff, and compiled nothing. Then those
until there is the value alone, too, which is a function of its own. Operators have the options and arguments that the
tests of `tests/kernels` give them; of several, what takes longest counts. It takes seven minutes of a core. `--over`
leaves out what takes less.
"""

from __future__ import annotations

import argparse
import importlib
import multiprocessing
import os
import pkgutil
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parents[2]))

import numpy as np

import tests.kernels
from loopdiff.kernels import Operator, encodings, networks, nn, probability, science
from tests.kernels.against_jax import Case

ROOMS = (nn, networks, encodings, probability, science)
Call = tuple[Operator, dict[str, Any], tuple[Any, ...]]
MASKS = (nn.dropout, nn.dropout_channels, nn.alpha_dropout, nn.alpha_dropout_channels)
PLACES = (nn.max_places1d, nn.max_places2d, nn.max_places3d)
ADAPTIVE = (nn.adaptive_max_places1d, nn.adaptive_max_places2d, nn.adaptive_max_places3d)
WITHOUT = {science.neighbour_list, *PLACES, *ADAPTIVE, nn.fractional_max_places2d, nn.fractional_max_places3d}
rng = np.random.default_rng(0)
draw = rng.standard_normal


def spread(size: int) -> np.ndarray:
    return np.linalg.cholesky(np.cov(draw((size, 4 * size))))


def linear(t: Any, y: Any, p: Any) -> Any:
    return p @ y


def of_tests() -> Iterator[Call]:
    """What the tests give operators in tables."""
    for found in pkgutil.iter_modules(tests.kernels.__path__):
        module = importlib.import_module(f"tests.kernels.{found.name}")
        for case in getattr(module, "CASES", ()):
            if isinstance(case, Case):
                yield case.operator, case.options, case.arguments
        for operator, _, arguments, options in getattr(module, "STACKS", ()):
            yield operator, options, arguments
        for name, (_, _, rows) in getattr(module, "DENSITIES", {}).items():
            yield getattr(probability, name), {}, tuple(np.array(rows, dtype=float).T.copy())
        for name, (_, _, _, rows) in getattr(module, "PROBABILITIES", {}).items():
            yield getattr(probability, name), {}, tuple(module.columns(name, rows))
        for name, (options, bounds, _, _) in getattr(module, "MAPS", {}).items():
            yield getattr(probability, name), options, (module.X, *bounds)


def of_networks() -> list[Call]:
    layers = tuple((draw((k, d)), draw(k)) for d, k in ((5, 8), (8, 7), (7, 2)))
    directions = draw((6, 3))
    directions /= np.linalg.norm(directions, axis=1, keepdims=True)
    packed = networks.pack(layers)
    return [
        (networks.mlp, {"activation": nn.softplus, "last": np.tanh}, (draw((9, 5)), layers)),
        (networks.packed_mlp, {"activation": nn.tanh, "widths": (5, 8, 7, 2)}, (draw((9, 5)), packed)),
        (networks.pack, {}, (layers,)),
        (networks.spherical_harmonics, {"degree": 4}, (directions,)),
        (encodings.permutohedral_grid, {}, (draw((20, 3)), draw((2, 64, 3)), np.array([1.3, 4.1]))),
    ]


def of_nn() -> list[Call]:
    image, window = draw((2, 3, 9, 9)), np.hamming(13)[:12]
    signal, parts, volume = draw((2, 41)), draw((2, 2, 7, 5)), draw((2, 2, 8, 9, 7))
    heads = draw((2, 4, 5, 3)), draw((2, 2, 7, 3)), draw((2, 2, 7, 6))
    return [
        (nn.unfold, {"window": 3, "padding": 1}, (image,)),
        (nn.fold, {"size": (9, 9), "window": 3, "padding": 1}, (nn.unfold(image, window=3, padding=1),)),
        (nn.sparsemax, {}, (draw((4, 7)),)),
        (nn.scatter_max, {"size": 4}, (draw((6, 2)), np.array([0, 3, 1, 1, 3, 0]))),
        (nn.scatter_prod, {"size": 4}, (draw((6, 2)), np.array([0, 3, 1, 1, 3, 0]))),
        (nn.ctc, {}, (draw((2, 5, 4)), np.array([[1, 2], [1, 1]]), np.array([5, 4]), np.array([2, 2]))),
        (nn.adaptive_max_pool2d, {"size": 3}, (image,)),
        (nn.adaptive_mean_pool2d, {"size": 3}, (image,)),
        *((masked, {"rate": 0.3}, (image, 7)) for masked in MASKS),
        (nn.rrelu, {}, (image, 7)),
        (nn.gumbel_softmax, {"hard": True}, (draw((4, 7)), 7)),
        (nn.attention, {"shared": 2, "rate": 0.3}, (*heads, None, None, 7)),
        (nn.attention_online, {"shared": 2, "rate": 0.3}, (*heads, None, None, 7)),
        (nn.fractional_max_pool2d, {"window": 2, "size": 4}, (image, 7)),
        (nn.fractional_max_pool3d, {"window": 2, "size": 4}, (volume, 7)),
        (nn.max_unpool, {"size": (9, 9)}, (image[:, :, :2, :2], np.arange(24).reshape(2, 3, 2, 2))),
        *((places, {"window": 3}, (x,)) for places, x in zip(PLACES, (signal[None], image, volume), strict=True)),
        *((places, {"size": 3}, (x,)) for places, x in zip(ADAPTIVE, (signal[None], image, volume), strict=True)),
        (nn.fractional_max_places2d, {"window": 2, "size": 4}, (image, 7)),
        (nn.fractional_max_places3d, {"window": 2, "size": 4}, (volume, 7)),
        (nn.stft, {"hop": 4}, (signal, window)),
        (nn.istft, {"hop": 4}, (*parts, window)),
        (nn.mel_filters, {"bands": 5, "rate": 8000.0}, (draw((2, 129, 3)),)),
    ]


def of_probability() -> list[Call]:
    chain = draw(3), draw((3, 3)), draw((5, 3))
    path = np.array([0, 2, 2, 1, 0])
    correlation = np.linalg.cholesky(np.corrcoef(draw((4, 9))))
    states = draw((3, 2)), 0.5 * draw((3, 3)), draw((2, 3)), np.eye(3), np.eye(2), draw(3), np.eye(3)
    return [
        (probability.hidden_markov, {}, chain),
        (probability.chain_log_partition, {}, (chain[2], chain[1])),
        (probability.linear_chain_crf, {}, (chain[2], chain[1], path)),
        (probability.kalman, {}, states),
        (probability.categorical, {}, (np.array([1, 0, 2]), draw((3, 4)))),
        (probability.dirichlet, {}, (rng.dirichlet(np.ones(4), 3), np.arange(1.0, 5.0))),
        (probability.lkj_cholesky, {}, (correlation, 1.7)),
        (probability.mixture, {}, (draw(3), draw((5, 3)))),
        (probability.multivariate_normal, {}, (draw((3, 4)), draw(4), spread(4))),
        (probability.wishart, {}, (spread(4), 5.5, spread(4))),
        (probability.unit_vector, {}, (draw(6),)),
    ]


def of_science() -> list[Call]:
    side = 2.0 * np.eye(20) + 0.1 * np.ones((20, 20))
    rows, columns = np.nonzero(side)
    starts = np.concatenate([[0], np.cumsum(np.bincount(rows))])
    return [
        (science.conjugate_gradients, {}, (side[rows, columns], columns, starts, draw(20))),
        (science.adaptive_dormand_prince, {"function": linear}, (draw(3), 0.5, -0.7, 0.5 * draw((3, 3)))),
        (science.neighbour_list, {"cutoff": 1.4, "capacity": 40}, (rng.uniform(size=(8, 3)) * 3.0, np.full(3, 3.0))),
    ]


def seed_of(value: Any) -> Any:
    return tuple(map(seed_of, value)) if isinstance(value, tuple) else np.ones_like(value)


def measure(call: Call, place: str) -> tuple[float, float]:
    """CPU seconds until value and gradients are there, and until there is the value by itself. Lists of neighbours and
    places of winners have no derivatives."""
    os.environ["LOOPDIFF_CACHE_DIR"] = place
    operator, options, arguments = call
    start = time.process_time()
    f = operator.of(**options)
    if operator not in WITHOUT:
        value, pullback = f.vjp(*arguments)
        pullback(seed_of(value))
    with_gradients = time.process_time() - start
    f(*arguments)
    return with_gradients, time.process_time() - start


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--over", type=float, default=0.0)
    parser.add_argument("names", nargs="*")
    options = parser.parse_args()
    names = {id(v): f"{room.__name__.split('.')[-1]}.{n}" for room in ROOMS for n, v in vars(room).items()}
    calls = [*of_tests(), *of_networks(), *of_nn(), *of_probability(), *of_science()]
    missing = {n for i, n in names.items() if isinstance(find(n), Operator)} - {names.get(id(c[0])) for c in calls}
    worst: dict[str, tuple[float, float]] = {}
    context = multiprocessing.get_context("fork")
    for call in calls:
        name = names.get(id(call[0]), "")
        if options.names and not any(n in name for n in options.names):
            continue
        with tempfile.TemporaryDirectory() as place, context.Pool(1) as pool:
            try:
                seconds = pool.apply(measure, (call, place))
            except Exception as error:
                print(f"{name}{call[1]}: {error}", file=sys.stderr)
                continue
        if seconds > worst.get(name, (options.over, 0.0)):
            worst[name] = seconds
    print("| operator | value and gradients | and the value alone |\n| --- | --- | --- |")
    for name, (seconds, whole) in sorted(worst.items(), key=lambda item: item[1], reverse=True):
        print(f"| `{name}` | {seconds:.2f} | {whole:.2f} |")
    if missing and not options.names:
        raise SystemExit(f"not measured: {', '.join(sorted(missing))}")


def find(name: str) -> Any:
    room, own = name.split(".")
    return next(getattr(r, own, None) for r in ROOMS if r.__name__.endswith(f".{room}"))


if __name__ == "__main__":
    main()
