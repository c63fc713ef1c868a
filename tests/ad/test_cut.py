"""The minimum cut is the least of all choices."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import chain, combinations
from math import inf
from random import Random

import numpy as np

from loopdiff import vectorize_grad
from loopdiff.ad.facts import gather_facts
from loopdiff.ad.tape.cut import Graph, minimum_cut
from loopdiff.ad.tape.plan import Tape
from loopdiff.ad.tape.versions import ArrayVersion, Seen, is_seen_in
from loopdiff.ir import nodes as ir
from loopdiff.ir.build import extents_of, integer
from loopdiff.ir.names import supply
from loopdiff.ir.types import ArrayType
from loopdiff.ir.walk import loads_of
from loopdiff.testing import check_grads
from tests.ad.interpreted import lower
from tests.gradients.interpreted import interpreting


def graph_of(worth: Mapping[int, float], wants: Mapping[int, frozenset[int]], cost: Sequence[float]) -> Graph:
    """Values, each of which is kept or wants some copies, as a graph: 0 is the sink, copies come before values."""
    copies = {k + 1: {0: weight} for k, weight in enumerate(cost)}
    first = len(cost) + 1
    asked = {first + 2 * v: {first + 2 * v + 1: weight} for v, weight in worth.items()}
    made = {first + 2 * v + 1: dict.fromkeys((k + 1 for k in wants[v]), inf) for v in worth}
    return {0: {}} | copies | asked | made


def test_no_other_choice_weighs_less() -> None:
    for seed in range(400):
        rng = Random(seed)
        cost = [rng.choice((0.5, 1.0, 2.0, 5.0, 10.0)) for _ in range(rng.randint(1, 5))]
        worth = {value: rng.choice((0.25, 1.0, 2.0, 3.0, 8.0)) for value in range(rng.randint(0, 6))}
        wants = {v: frozenset(rng.sample(range(len(cost)), rng.randint(1, len(cost)))) for v in worth}

        def weight(copies: frozenset[int]) -> float:
            kept = sum(w for v, w in worth.items() if not wants[v] <= copies)  # noqa: B023 - it is called at once
            return kept + sum(cost[k] for k in copies)  # noqa: B023

        choices = chain.from_iterable(combinations(range(len(cost)), k) for k in range(len(cost) + 1))
        least = min(weight(frozenset(c)) for c in choices)
        first = len(cost) + 1
        cut = minimum_cut(graph_of(worth, wants, cost), [first + 2 * v for v in worth], 0)
        chosen = frozenset(k for k in range(len(cost)) if k + 1 not in cut.beyond)
        assert cut.weight == least, seed
        assert weight(chosen) == least, seed


def test_of_equal_cuts_it_is_the_one_nearest_to_what_is_there() -> None:
    chain_of_two = {0: {}, 1: {2: 1.0}, 2: {3: inf}, 3: {0: 1.0}}
    assert minimum_cut(chain_of_two, [1], 0).beyond == {0}
    assert minimum_cut(chain_of_two | {3: {0: 1.5}}, [1], 0).beyond == {0, 2, 3}
    assert minimum_cut(chain_of_two, [], 0).weight == 0.0


def test_bytes_weigh() -> None:
    ls = lower(lambda x: x.sum(), {"x": np.ones(3)})
    tape = Tape(gather_facts(ls, ("x",)), supply(ls))
    extents = (ls.array("x").extents or (integer(100),))[:1]
    known = {d: tape.weights()(extents, ArrayType(d, 1)) for d in ("bool", "int8", "float32", "float64", "complex128")}
    assert [known[d] / known["float64"] for d in known] == [0.125, 0.125, 0.5, 1.0, 2.0]


def branches(x, y, c):
    """The reads in either branch see the state of the step; a copy made in one of them is none for the other."""
    for t in range(c.shape[0]):
        if c[t] > 0.5:
            for i in range(1, x.shape[0]):
                y[i] += x[i] * x[i - 1] * x[0]
        else:
            y[0] = y[0] * x[1]
        for i in range(x.shape[0]):
            x[i] = 0.9 * x[i] + 0.1 * y[i]


def test_a_copy_in_a_branch_does_not_serve_the_other_one() -> None:
    rng = np.random.default_rng(0)
    args = {"x": rng.random(5), "y": rng.random(5), "c": rng.random(6)}
    facts = gather_facts(lower(branches, args), ("x", "y"))
    (branch,) = (path for path, site in facts.sites.items() if isinstance(site.stmt, ir.If))
    reads = [(p, e) for p, s in facts.sites.items() for e in loads_of(s.stmt) if e.access.array == "x"]
    inside = [(p, e.access) for p, e in reads if p[: len(branch)] == branch]
    size = extents_of(facts.ls.array("x"))
    whole = (None,)
    copy = ArrayVersion("x", (*branch, 0), size, whole, (), branch)
    found = {p[len(branch)]: is_seen_in(facts, copy, Seen(p, access, branch, size, whole)) for p, access in inside}
    assert found[0]
    assert len(found) == 2
    assert not found[max(found)]
    with interpreting():
        for policy in ("auto", "store", "recompute"):
            check_grads(vectorize_grad(tape=policy)(branches), tuple(args.values()))
