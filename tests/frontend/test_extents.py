"""What calls answer about extents: one program serves all that answer alike, and only those."""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np
import pytest

import loopdiff
from loopdiff.frontend.capture import argument_types
from loopdiff.frontend.extents import Question, agree, decisive_types, is_so, questions_about, small_axes
from loopdiff.ir.types import ArrayType

pytestmark = pytest.mark.part(2)
SHAPES = {"a": (3, 40), "b": (40,), "c": (3, 1), "d": (50, 50)}
TYPES = argument_types({n: np.zeros(s) for n, s in SHAPES.items()} | {"k": 3})
QUESTIONS: list[Question] = [
    *((n, k, other) for n, s in SHAPES.items() for k in range(len(s)) for other in (1, 3, 4)),
    *(
        (n, k, (m, j))
        for (n, s), (m, t) in itertools.product(SHAPES.items(), repeat=2)
        for k in range(len(s))
        for j in range(len(t))
    ),
]


@pytest.mark.parametrize("question", QUESTIONS)
def test_answers_are_those_of_the_shapes(question: Question) -> None:
    name, axis, other = question
    wanted = other if isinstance(other, int) else SHAPES[other[0]][other[1]]
    assert is_so(question, TYPES) == (SHAPES[name][axis] == wanted)


@pytest.mark.parametrize("seed", range(20))
def test_what_was_not_asked_makes_no_difference(seed: int) -> None:
    """Types of other calls that answer alike are the same, without what was not asked."""
    r = np.random.default_rng(seed)
    asked = [QUESTIONS[k] for k in r.choice(len(QUESTIONS), 6, replace=False)]
    kept = decisive_types(TYPES, asked)
    assert agree(kept, TYPES, asked)
    assert decisive_types(kept, asked) == kept
    for _ in range(20):
        sizes = {n: tuple(int(r.choice([1, 3, 4, 40, 50])) for _ in s) for n, s in SHAPES.items()}
        others = argument_types({n: np.zeros(s) for n, s in sizes.items()} | {"k": 3})
        assert (decisive_types(others, asked) == kept) == agree(others, TYPES, asked)


def test_nothing_is_known_of_extents_that_are_no_numbers_or_none() -> None:
    assert small_axes((0, 1, 16, 17, "n")) == (0, 1, 16, 0, 0)
    assert not any(is_so(q, dict.fromkeys(SHAPES, ArrayType("float64", 2))) for q in QUESTIONS)


def test_questions_about_other_arguments_are_left_out() -> None:
    asked: set[Question] = {("a", 0, 3), ("b", 0, ("a", 1)), ("d", 0, ("b", 0))}
    assert questions_about(asked, ["x", "b", "a"]) == [(2, 0, 3), (1, 0, (2, 1))]


def steps(A, x, n):
    p = np.zeros(3)
    for _ in range(n):
        p = np.tanh(A @ x) + 0.5 * x
        x = A.T @ p + 0.1
    return p @ p


@pytest.mark.parametrize("n", [0, 2])
def test_calls_that_answer_otherwise_have_a_program_of_their_own(n: int) -> None:
    f, r = loopdiff.vectorize_grad(cache=False)(steps), np.random.default_rng(0)
    for size, programs in ((3, 1), (4, 2), (5, 2), (30, 2), (3, 2)):
        args: tuple[Any, ...] = (r.random((size, size)), r.random(size), n)
        assert f(*args) == pytest.approx(steps(*args), rel=1e-13)
        value, gradient = f.value_and_grad(*args)
        assert value == pytest.approx(steps(*args), rel=1e-13)
        ways = (r.random((size, size)), r.random(size))
        up, down = (steps(*(a + h * w for a, w in zip(args, ways, strict=False)), n) for h in (1e-6, -1e-6))
        slope = sum(np.vdot(g, w) for g, w in zip(gradient, ways, strict=True))
        assert slope == pytest.approx((up - down) / 2e-6, rel=1e-6, abs=1e-8)
        assert len({id(s) for s in f.specializations.values()}) == programs


def halves(A, n):
    B = A
    for _ in range(n):
        k = min(B.shape[0], B.shape[1])
        B = 0.5 * B[:k, :k] @ np.sin(A[:k, :k]) + 0.1
    return B.sum()


@pytest.mark.parametrize("shape", [(3, 3), (20, 20)])
def test_the_least_of_equal_extents_is_either(shape: tuple[int, int]) -> None:
    """Without that, `B` stands for one of several arrays, whose extents are numbers that the loop changes."""
    f = loopdiff.vectorize_grad(cache=False)(halves)
    A = np.random.default_rng(0).random(shape) / shape[0]
    assert f(A, 3) == pytest.approx(halves(A, 3), rel=1e-13)
    along = np.random.default_rng(1).random(shape)
    up, down = (halves(A + h * along, 3) for h in (1e-6, -1e-6))
    assert np.vdot(f.grad(A, 3), along) == pytest.approx((up - down) / 2e-6, rel=1e-7)
    assert "length" not in f.compile(A, 3).source("primal")
    assert f(A[1:], 3) == pytest.approx(halves(A[1:], 3), rel=1e-13)


def test_compiled_code_for_a_shape_refuses_another() -> None:
    f = loopdiff.vectorize_grad(cache=False)(steps)
    compiled = f.compile(np.eye(3), np.ones(3), 2)
    with pytest.raises(loopdiff.ArgumentError, match=r"LD349: `A` is .*takes float64 of shape"):
        compiled.primal(np.eye(4), np.ones(4), 2)
