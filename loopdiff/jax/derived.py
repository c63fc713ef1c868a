"""The linear maps of a program as programs of their own: what they are given, and what is found among their outputs.

All that is said of values holds of their tangents, and of their marks.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from loopdiff.jax.program import JaxProgram
from loopdiff.jax.reverse import widened_slope

Values = Sequence[Any]


def tangent_inputs(program: JaxProgram, traced: Values, slopes: Values) -> tuple[Any, ...]:
    """The inputs of `pushforward`, where derivatives by halves are float32."""
    given = dict(zip(program.traced, traced, strict=True))
    given |= {program.tangents[n]: widened_slope(v) for n, v in zip(program.slopes, slopes, strict=True)}
    return tuple(given[n] for n in program.pushforward().traced)


def tangents_among(program: JaxProgram, outputs: Values, given: Values) -> list[Any]:
    """The tangents of the floating outputs, among the outputs of `pushforward` and what it was `given`: some stay as
    they are, those of pure outputs zero, which None stands for."""
    whole = program.pushforward()
    final = dict(zip(whole.traced, given, strict=True))
    final |= zip((n for n, _ in whole.outputs), outputs, strict=True)
    out = list(outputs[: len(whole.ls.results)])
    names = (program.outputs[k][0] for k in program.with_slopes[len(out) :])
    return [*out, *(final.get(program.tangents[name]) for name in names)]


def gradient_inputs(program: JaxProgram, traced: Values, cotangents: Values) -> tuple[Any, ...]:
    """The inputs of `pullback`, where derivatives by halves are float32."""
    seeds = program.reverse_plan.arriving([*map(widened_slope, cotangents)])
    given = dict(zip(program.traced, traced, strict=True)) | seeds
    return tuple(given[n] for n in program.pullback().traced)


def gradients_among(program: JaxProgram, outputs: Values, given: Values) -> list[Any]:
    """The gradients by `slopes`, among the outputs of `pullback` and what it was `given`: cotangents of arrays that are
    only added to stay as they are."""
    whole = program.pullback()
    buffers = program.sweeps.buffers
    results = [n for n in program.spec.wrt if buffers.get(n) not in whole.ls.params]
    found = dict(zip(results, outputs, strict=False))
    final = dict(zip(whole.traced, given, strict=True))
    final |= zip(whole.written, outputs[len(results) :], strict=True)
    return [found[n] if n in found else final[buffers[n]] for n in program.slopes]
