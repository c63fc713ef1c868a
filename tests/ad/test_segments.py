"""Loops run again in segments, and segments in segments: the same gradients as with everything stored, whatever the
number of iterations, in as little memory, and with as many repetitions, as promised."""

from __future__ import annotations

import inspect
from typing import Any

import numpy as np
import pytest
from numpy.testing import assert_allclose

from loopdiff import vectorize_grad
from loopdiff.ad import reverse
from loopdiff.ad.reverse import build_sweeps
from loopdiff.analysis.activity import differentiable_arguments
from loopdiff.analysis.decisions import total
from loopdiff.analysis.repeatable import repeatable
from loopdiff.ir import nodes as ir
from loopdiff.ir.interpret import run
from loopdiff.ir.walk import all_statements, stmt_exprs, subexprs
from loopdiff.settings.options import SEGMENT_LEVELS, PlanPolicy
from tests.ad.interpreted import lower, pull, verified_sweeps, vjp
from tests.corpus.ruled import looked_up
from tests.gradients.interpreted import allocated

TRIPS = (0, 1, 2, 3, 15, 16, 17, 40, 100)


def map_of_elements(u, r, T):
    for _ in range(T):
        for i in range(u.shape[0]):
            u[i] += r[i] * u[i] * (1.0 - u[i])


def counting_down(u, T):
    s = 1.0
    for t in range(3 * T, -1, -3):
        s = np.sin(s + 0.1 * t) * s
        for i in range(1, u.shape[0]):
            u[i] = u[i] * u[i - 1] + s
    return s * s


def stepping(u, T, step):
    for t in range(2, T, step):
        u[t % 3] = np.exp(-u[(t + 1) % 3] * u[t % 3])


def generator_of_positions(u, T):
    k = 1
    s = 0.0
    for _ in range(T):
        k = (5 * k + 3) % u.shape[0]
        u[k] = u[k] * u[(k + 1) % u.shape[0]] + 0.1
        s = s * 0.5 + u[k] * s + 1.0
    return s


def scratch_and_branches(u, T):
    n = u.shape[0]
    flux = np.zeros(n)
    total = np.zeros(n)
    for t in range(T):
        half = np.ones(n)
        for i in range(1, n):
            half[i] = 0.5 * (u[i] + u[i - 1]) * half[i - 1]
        top = half[0]
        for i in range(n):
            top = max(top, half[i] * u[i])
        for i in range(n):
            if (t + i) % 3 == 0:
                flux[i] = half[i] * top
            u[i] = np.sin(u[i]) + 0.1 * flux[i]
        for i in range(n):
            total[i] += u[i] * u[i]
    return total


def runs_in_a_row(A, T):
    out = np.zeros(A.shape[0])
    for b in range(A.shape[0]):
        s = 1.0
        for _ in range(T + b):
            for j in range(A.shape[1]):
                s = np.cos(s * A[b, j])
        out[b] = s
    return out


def triangle(u, T):
    for t in range(T):
        for i in range(t % 2, u.shape[0]):
            for j in range(i):
                u[i] = u[i] * 0.9 + 0.1 * u[j] * u[i]


def read_afterwards(u, v, T):
    for t in range(T):
        v[t] = u[0] * u[1]
        u[0] = np.sin(u[0] * v[t])
        u[1] = v[t] * v[t]
    s = 0.0
    for t in range(T):
        s += v[t] * v[t]
        v[t] = 0.0
    u[0] = 2.0
    return s


def three_buffers_in_turn(u, v, p, T):
    before = np.zeros(u.shape[0])
    after = np.zeros(u.shape[0])
    for _ in range(T):
        for i in range(1, u.shape[0] - 1):
            bent = u[i - 1] - 2.0 * u[i] + u[i + 1]
            after[i] = 2.0 * u[i] - before[i] + v[i] * bent - 0.1 * u[i] * u[i] * u[i]
        before, u, after = u, after, before
    s = 0.0
    for i in range(u.shape[0]):
        s += p[i] * u[i]
    return s


def steps_of_steps(u, w, T):
    for t in range(T // 4):
        for k in range(16 + t % 5):
            for i in range(1, u.shape[0]):
                u[i] = np.sin(u[i] + 0.1 * u[i - 1])
            w[0] = np.cos(w[0] * u[k % 3])
        w[1] = np.sin(w[1] * w[0] + u[0])


def constants_overwritten_later(u, r, T):
    for _ in range(T):
        for i in range(u.shape[0]):
            u[i] = np.sin(u[i] * r[i])
    for i in range(u.shape[0]):
        r[i] = u[i] * r[i]


def until_small(u, T):
    error = 1.0
    drop = 0.0
    while error > 0.5**T:
        for i in range(1, u.shape[0]):
            u[i] = np.sin(u[i] + 0.1 * u[i - 1] * drop)
        drop = 0.9 * drop + u[1] * u[2]
        error *= 0.5
    return drop


def left_in_the_middle(u, v, T):
    k = 0
    s = 1.0
    while True:
        u[k % 3] = np.sin(u[k % 3] * s)
        if k >= v.shape[0]:
            break
        s = s * v[k] + u[(k + 1) % 3]
        if v[k] < 0.0:
            break
        u[4] = u[4] * s * 0.5
        k += 1
    return s * s


def as_long_as_data_say(u, n, T):
    for t in range(n[0], n[1]):
        for i in range(1, u.shape[0]):
            u[i] = np.sin(u[i] + 0.1 * u[i - 1])
        if t % 3 == 0:
            u[0] = u[0] * u[1]


def fields_in_turn(u, v, T):
    w = np.zeros(u.shape[0])
    rest = 1.0 * T
    while rest > 0.0:
        for i in range(1, u.shape[0] - 1):
            w[i] = 2.0 * u[i] - v[i] + 0.2 * (u[i - 1] - 2.0 * u[i] + u[i + 1]) - 0.1 * u[i] * u[i] * u[i]
        v, u, w = u, w, v
        rest -= 1.0
    return u[1] * u[2]


def implicit_steps(u, r, T):
    n = u.shape[0]
    w = np.zeros(n)
    c = 0.1
    for t in range(T):
        for i in range(n):
            w[i] = u[i]
        rest = 1.0
        while rest > 1e-6:
            rest = 0.0
            for i in range(n):
                g = w[i] - u[i] + 0.1 * r[i] * w[i] ** 3
                w[i] -= g / (1.0 + 0.3 * r[i] * w[i] * w[i])
                rest += g * g
        for i in range(1, n):
            u[i] = w[i] + 0.1 * np.sin(u[i - 1] + c)
        c = 0.5 * c + w[t % n]


def decided_within_what_is_decided(u, r, T):
    n = u.shape[0]
    k = 1
    rest = 1.0 * T
    while rest > 0.0:
        s = 0.0
        for i in range(n):
            s += u[i] * r[i]
        for h in range(4):
            for i in range(1, n):
                v = u[i]
                for _ in range(3):
                    v = np.sin(v + r[i] * s)
                    if v > 0.6:
                        break
                    v = v * u[i - 1]
                u[i] = v if v * s > 0.2 else np.cos(v)
            part = s
            while part > 0.4:
                part = 0.0
                for i in range(n):
                    u[i] *= 0.9
                    part += u[i] * r[i]
            if u[h] * u[k] > 0.3:
                break
            u[0] = np.cos(u[0] * u[2])
        k = int(9.0 * s * u[1]) % n
        u[k] = np.sin(u[k] + 0.3)
        for i in range(int(3.0 * u[k]) + 1):
            u[i] = u[i] * 0.8 + 0.2 * u[k]
        if s < 0.01:
            break
        rest -= 1.0
    return u[1] * u[k]


def cases(T: int) -> dict[str, tuple[Any, dict[str, Any]]]:
    rng = np.random.default_rng(T)
    u = rng.uniform(0.2, 0.9, 5)
    return {
        "map": (map_of_elements, dict(u=u, r=rng.random(5), T=T)),
        "down": (counting_down, dict(u=u, T=T)),
        "step": (stepping, dict(u=u, T=T, step=2)),
        "positions": (generator_of_positions, dict(u=u, T=T)),
        "scratch": (scratch_and_branches, dict(u=u, T=T)),
        "rows": (runs_in_a_row, dict(A=rng.random((3, 2)), T=T)),
        "triangle": (triangle, dict(u=u, T=T)),
        "afterwards": (read_afterwards, dict(u=u, v=np.zeros(T), T=T)),
        "later": (constants_overwritten_later, dict(u=u, r=rng.random(5), T=T)),
        "turns": (three_buffers_in_turn, dict(u=u, v=rng.random(5), p=rng.random(5), T=T)),
        "steps": (steps_of_steps, dict(u=u, w=rng.random(2), T=T)),
        "small": (until_small, dict(u=u, T=T)),
        "middle": (left_in_the_middle, dict(u=u, v=rng.uniform(0.1, 0.9, T), T=T)),
        "negative": (left_in_the_middle, dict(u=u, v=np.append(rng.uniform(0.1, 0.9, T), [-1.0, 1.0]), T=T)),
        "data": (as_long_as_data_say, dict(u=u, n=np.array([2, T + 2]), T=T)),
        "implicit": (implicit_steps, dict(u=u, r=rng.random(5), T=T)),
        "within": (decided_within_what_is_decided, dict(u=u, r=rng.uniform(0.2, 0.9, 5), T=T)),
        "fields": (fields_in_turn, dict(u=u, v=rng.random(5), T=T)),
    }


def seeds_of(name: str) -> dict[str, Any]:
    """Weights for results and written arrays."""
    match name:
        case "scratch":
            return {"seeds": (np.linspace(1.0, 2.0, 5),), "cotangents": {"u": np.linspace(-1.0, 1.0, 5)}}
        case "rows":
            return {"seeds": (np.linspace(1.0, 2.0, 3),)}
        case "steps":
            return {"seeds": (), "cotangents": {"u": np.linspace(1.0, 2.0, 5), "w": np.ones(2)}}
        case "later":
            return {"seeds": (), "cotangents": {"u": np.linspace(1.0, 2.0, 5), "r": np.ones(5)}}
        case "map" | "step" | "triangle" | "data" | "implicit":
            return {"seeds": (), "cotangents": {"u": np.linspace(1.0, 2.0, 5)}}
        case _:
            return {"cotangents": {"u": np.linspace(1.0, 2.0, 5)}}


@pytest.mark.part(11)
@pytest.mark.parametrize("name", cases(1))
@pytest.mark.parametrize("policy", SEGMENT_LEVELS)
def test_segments_give_the_gradients_of_a_full_tape(
    name: str, policy: PlanPolicy, monkeypatch: pytest.MonkeyPatch
) -> None:
    ls = lower(*cases(1)[name])
    wrt = differentiable_arguments(ls)
    whole = verified_sweeps(ls, wrt, "store")
    monkeypatch.setattr(reverse, "lighter", lambda one, other, _=1.0: one if one.sweeps.has_segments else other)
    in_segments = verified_sweeps(ls, wrt, policy)
    assert in_segments.has_segments
    for trips in TRIPS:
        _, args = cases(trips)[name]
        stored, again = (pull(ls, wrt, sweeps, args, **seeds_of(name)) for sweeps in (whole, in_segments))
        for argument, expected in stored.gradients.items():
            assert np.all(np.isfinite(expected))
            assert_allclose(again.gradients[argument], expected, rtol=1e-12, atol=1e-300)
            assert_allclose(again.final[argument], stored.final[argument])


@pytest.mark.parametrize("policy", SEGMENT_LEVELS)
@pytest.mark.parametrize("trips", [2000, 20_000])
def test_each_level_of_segments_keeps_a_root_of_the_number_of_iterations(policy: PlanPolicy, trips: int) -> None:
    args = dict(u=np.ones(3), r=np.ones(3), T=trips)
    sweeps = build_sweeps(lower(map_of_elements, args), ("u", "r"), policy)
    held = allocated(sweeps, args)
    rows = sum(held[t.name].nbytes for t in sweeps.temporaries) / args["u"].nbytes
    arrays = SEGMENT_LEVELS[policy] + 1
    assert rows <= arrays * (trips ** (1.0 / arrays) + 1.0) + 1.0


def test_states_that_stay_are_kept_once() -> None:
    args = cases(40)["later"][1]
    sweeps = build_sweeps(lower(constants_overwritten_later, args), ("u", "r"), "recompute-3")
    kept = [t.name[0] for t in sweeps.temporaries if "start of each segment" in t.reason]
    assert sorted(kept) == ["r", "u", "u", "u"]


class Watched(np.ndarray):
    """Counts the elements that are read."""

    reads = 0

    def __getitem__(self, place):
        Watched.reads += 1
        return super().__getitem__(place)


@pytest.mark.parametrize("trips", [1, 17, 100, 256])
def test_each_level_of_segments_runs_every_iteration_once_more(trips: int) -> None:
    found = []
    for policy in SEGMENT_LEVELS:
        Watched.reads = 0
        vjp(map_of_elements, dict(u=np.full(1, 0.5), r=np.full(1, 0.1).view(Watched), T=trips), seeds=(), policy=policy)
        found.append(Watched.reads)
    for levels, reads in zip(SEGMENT_LEVELS.values(), found, strict=True):
        more = (levels - 1) * trips
        assert more / 2 <= reads - found[0] <= more or trips == 1


def complex_map(u, c, T):
    for _ in range(T):
        for i in range(u.shape[0]):
            u[i] = c * u[i] * (1.0 - u[i])


def test_complex_states_run_in_segments() -> None:
    f, g = (vectorize_grad(wrt=("u",), tape=policy)(complex_map) for policy in ("store", "recompute"))
    u, seed = np.array([0.1 + 0.2j, 0.3 - 0.1j, 0.2 + 0j]), np.array([1.0, 1j, 1.0 - 2j])
    assert any("start of each segment" in t.reason for t in g.compile(u, 0.9 + 0.1j, 20).temporaries)
    stored, again = (h.vjp(u.copy(), 0.9 + 0.1j, 20)[1](u=seed).u for h in (f, g))
    assert_allclose(again, stored, rtol=1e-12)


def largest_of_all(u, T):
    m = 0.0
    for _ in range(T):
        u[0] = np.sin(u[0] + u[1])
        m = max(m, u[0] * u[1])
    return m


def solver_in_each_of_few_steps(u, T):
    for k in range(3):
        while u[0] * u[1] > 0.5**T:
            u[0] = np.sin(u[0] * u[k % 2])


def call_in_each_step(u, T):
    for _ in range(T):
        u[0] = looked_up(u, u[0]) * u[1]


def quietly_in_each_step(u, T):
    for t in range(T):
        u[0] = np.sin(u[0] * u[1])
        if t < 0:
            print(t)


HINDRANCES = {
    largest_of_all: "a maximum or minimum goes on over its iterations",
    solver_in_each_of_few_steps: "data decide how often it runs, and it is inside of another loop",
    call_in_each_step: "it calls a function with a rule",
}


@pytest.mark.parametrize("function", HINDRANCES)
def test_what_does_not_run_again_is_told(function) -> None:
    out = vjp(function, {"u": np.array([0.4, 0.7]), "T": 20}, policy="recompute", cotangents={"u": np.ones(2)})
    assert not out.sweeps.has_segments
    (where, reason), *_ = out.sweeps.hindered
    assert (where.line, reason) == (loop_of(function), HINDRANCES[function])


def loop_of(function: Any) -> int:
    """The line of the first loop of many iterations."""
    lines, first = inspect.getsourcelines(function)
    return first + next(k for k, line in enumerate(lines) if "for _" in line or "while" in line)


def test_what_runs_again_is_not_hindered() -> None:
    for function in (quietly_in_each_step, until_small):
        out = vjp(function, {"u": np.linspace(0.4, 0.7, 5), "T": 20}, policy="recompute", cotangents={"u": np.ones(5)})
        assert out.sweeps.has_segments
        assert out.sweeps.hindered == ()


DECIDED = ("implicit", "within")


def decided_by_rounding(ls: ir.LoopSet) -> list[ir.Expr]:
    """Conditions, bounds and subscripts of `ls` that arithmetic on floating numbers reaches, by whatever names."""
    repeats, sites = repeatable(ls), list(all_statements(ls.body))
    made = [(s.name, s.value) for s in sites if isinstance(s, ir.Let)]
    made += [(s.target.array, s.value) for s in sites if isinstance(s, ir.Assign)]
    made += [(s.target.array, total(s)) for s in sites if isinstance(s, ir.Accumulate)]
    rounded: set[str] = set()

    def is_rounded(expr: ir.Expr) -> bool:
        parts = list(subexprs(expr))
        names = {e.access.array if isinstance(e, ir.Load) else e.name for e in parts if isinstance(e, ir.Load | ir.Var)}
        return not names.isdisjoint(rounded) or not all(map(repeats.is_operation, parts))

    while more := {name for name, value in made if name not in rounded and is_rounded(value)}:
        rounded |= more
    deciding = [e for s in sites if isinstance(s, ir.Loop | ir.If | ir.Exit) for e in stmt_exprs(s)]
    deciding += [e for s in sites if isinstance(s, ir.Assign | ir.Accumulate) for e in s.target.subscripts]
    for part in (part for s in sites for expr in stmt_exprs(s) for part in subexprs(expr)):
        deciding += part.access.subscripts if isinstance(part, ir.Load) else ()
        deciding += (part.cond,) if isinstance(part, ir.Select) else ()
    return [e for e in deciding if is_rounded(e)]


@pytest.mark.parametrize("name", DECIDED)
@pytest.mark.parametrize("policy", ["recompute", "recompute-2"])
def test_nothing_is_decided_again_by_rounding(name: str, policy: PlanPolicy) -> None:
    ls = lower(*cases(1)[name])
    sweeps = build_sweeps(ls, differentiable_arguments(ls), policy)
    assert sweeps.has_segments
    assert decided_by_rounding(sweeps.forward)
    assert decided_by_rounding(sweeps.reverse) == []


def close_to_a_threshold(u, v, c, T):
    for _ in range(T):
        for i in range(v.shape[0]):
            v[i] = np.sin(v[i] * u[1])
        s = 0.0
        for i in range(u.shape[0]):
            s += u[i]
        if s > 1.0:
            u[0] = u[0] * (0.5 + 0.1 * c[0])
        if s <= 1.0:
            u[0] = u[0] * (2.0 + 3.0 * c[0])


def test_segments_that_round_differently_go_the_same_way() -> None:
    args = dict(u=np.array([0.75, 0.25]), v=np.ones(2), c=np.zeros(1), T=40)
    sweeps = build_sweeps(lower(close_to_a_threshold, args), ("u", "v", "c"), "recompute")
    state = allocated(sweeps, args)
    run(sweeps.forward, state)
    found = []
    for error in (0.0, 1e-9):  # at the start of each segment: `s` is 1 there, or above
        again = {k: v.copy() if isinstance(v, np.ndarray) else v for k, v in state.items()}
        again[next(n for n in sweeps.forward.params if n.startswith("u_start"))] += error
        buffers = dict(u_adj=np.array([1.0, 0.0]), v_adj=np.zeros(2), c_adj=np.zeros(1))
        run(sweeps.reverse, again | buffers)
        found.append(buffers)
    assert found[0]["u_adj"][0] == 1.0  # twenty times 0.5 * 2
    assert_allclose(found[0]["c_adj"], 20 * 0.75 * (0.1 / 0.5 + 3.0 / 2.0), rtol=1e-12)
    for name, value in found[0].items():
        assert_allclose(found[1][name], value, rtol=1e-7)
