"""Generated functions for callers with their own buffers, what is told about them, and what stays on disk."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import numba
import numpy as np
import pytest
from numba import njit
from numpy.testing import assert_allclose

import loopdiff
from loopdiff import GradientCheckError, check_grads, vectorize_grad
from loopdiff.frontend.binding.bind import bind
from loopdiff.model.trip_counts import windows_of
from tests.api.programs import grow, plain_sum, running, total, weighted_square

pytestmark = pytest.mark.part(2)


def test_forward_and_reverse_with_the_callers_buffers():
    y = np.array([1.1, 0.9])
    k = grow.compile(y, 3)
    assert k.signature("primal") == ("y", "steps")
    assert k.signature("forward")[:2] == ("y", "steps")
    assert k.signature("reverse")[-1] == "y_adj"
    workspace = k.workspace(y, 3)
    assert k.signature("reverse") == (*k.signature("forward"), "y_adj")
    assert all(w.ctypes.data % 64 == 0 for w in workspace)
    k.forward(y, 3, *workspace)
    y_adj = np.ones(2)
    k.reverse(y, 3, *workspace, y_adj)
    assert_allclose(y_adj, 8 * np.array([1.1, 0.9]) ** 7, rtol=1e-13)


def test_adjoints_of_inputs_are_added_to():
    x = np.array([1.0, 2.0])
    k = total.compile(x)
    x_adj = np.array([10.0, 20.0])
    k.forward(x, *k.workspace(x))
    k.reverse(x, *k.workspace(x), 1.0, x_adj)
    assert x_adj.tolist() == [12.0, 24.0]


def test_callable_from_compiled_code():
    x = np.array([1.0, 2.0])
    k = total.compile(x)
    forward, reverse = k.forward, k.reverse

    @njit
    def descend(x, x_adj, steps):
        for _ in range(steps):
            forward(x)
            x_adj[:] = 0.0
            reverse(x, 1.0, x_adj)
            for i in range(x.shape[0]):
                x[i] -= 0.25 * x_adj[i]

    descend(x, np.zeros(2), 2)
    assert x.tolist() == [0.25, 0.5]


def test_types_instead_of_arguments():
    k = weighted_square.compile(numba.float64[::1], numba.float64[::1], numba.float64[::1], float)
    assert k.wrt == ("x", "w", "scale")
    assert k.signature("reverse")[-3:] == ("x_adj", "w_adj", "y_adj")
    assert all(t.bytes is None for t in k.temporaries)


def test_temporaries_say_what_they_cost():
    y = np.ones(5)
    k = vectorize_grad(tape="store")(grow.__wrapped__).compile(y, 3)
    (kept,) = k.temporaries
    assert kept.bytes == 3 * 5 * 8
    assert kept.dtype == "float64"
    assert kept.decision == "store"
    assert kept.line == grow.__wrapped__.__code__.co_firstlineno + 4
    assert kept.name in k.signature("forward")
    assert "120 bytes" in str(kept)
    assert total.compile(y).temporaries == ()


def test_everything_can_be_read():
    x = np.ones(3)
    k = running.compile(x, 3)
    for name in ("primal", "forward", "reverse", "tangent"):
        assert "def " in k.source(name)
        assert k.path(name).exists()
        assert f"loopset {k.unit(name).ls.name}(" in k.ir(name)
        assert len(k.asm(name)) > 100
    for stage in ("surface", "bound", "normal"):
        assert k.ir(stage).startswith("loopset running(x, n)")
    assert "running(x: float64[:], n: int64)" in k.explain()
    assert running.compile(x, 3).explain(measure=False) == k.explain(measure=False)
    assert sum(k.timings.values()) > 0
    with pytest.raises(ValueError, match="backward"):
        k.source("backward")


def test_stages_are_dumped(tmp_path, monkeypatch, capsys):
    monkeypatch.setenv("LOOPDIFF_DUMP", str(tmp_path))
    monkeypatch.setenv("LOOPDIFF_DEBUG", "2")
    vectorize_grad(cache=False)(plain_sum).grad(np.ones(2))
    names = [p.name for p in sorted(tmp_path.iterdir())]
    assert names[0] == "001-plain_sum-surface.txt"
    assert {n[4:] for n in names} >= {f"plain_sum-{s}.txt" for s in ("bound", "normal", "forward", "reverse")}
    printed = capsys.readouterr().err
    assert "loopdiff: plain_sum: sweeps" in printed
    assert "loopset plain_sum_reverse" in printed


def test_the_primal_does_not_build_the_gradient():
    f = vectorize_grad(cache=False)(plain_sum)
    assert f(np.ones(2)) == 2.0
    (spec,) = f.specializations.values()
    assert not {"sweeps", "flow", "tangent"} & set(spec.stages.seconds)


def carried(x, n):
    u = x * 1.0
    for _ in range(n):
        for i in range(1, x.shape[0]):
            u[i] = 0.5 * u[i] * u[i - 1] + np.sin(u[i])
    return u[0] * u[1]


def test_sweeps_of_what_writes_no_array_have_one_form():
    """The gradient is the pullback there: sweeps that turn out to run one after the other are not arranged again."""
    f = vectorize_grad(cache=False)(carried)
    f.grad(np.array([0.3, 0.7, 0.2]), 2)
    (spec,) = f.specializations.values()
    arranged = [stage for stage in spec.stages.seconds if stage.startswith("first-writes")]
    assert arranged == ["first-writes carried_reverse_pullback"]


def test_types_are_bound_once(monkeypatch):
    """For what the caller passes and gets, and for all that is derived."""
    asked = []

    def counted(*args):
        asked.append(args)
        return bind(*args)

    monkeypatch.setattr("loopdiff.frontend.binding.bind.bind", counted)
    vectorize_grad(cache=False)(carried).grad(np.array([0.3, 0.7]), 2)
    assert len(asked) == 1


def first_and_second(A, B, x):
    return (A @ x) @ (B @ x)


def test_windows_are_found_once_for_all_contractions(monkeypatch):
    looked_at = []

    def counted(ls):
        looked_at.append(ls)
        return windows_of(ls)

    monkeypatch.setattr("loopdiff.model.register_tiles.windows_of", counted)
    vectorize_grad(cache=False)(first_and_second).grad(np.eye(3), np.ones((3, 3)), np.ones(3))
    assert looked_at
    assert len({id(ls) for ls in looked_at}) == len(looked_at)


PROGRAM = """
import sys
import numpy as np
from tests.api.programs import weighted_square
x = np.array([1.0, -2.0, 3.0])
value, g = weighted_square.value_and_grad(x, np.ones(3), np.zeros(3), 1.0)
assert value == 14.0, value
assert g.x.tolist() == [2.0, -4.0, 6.0]
names = ("islpy", "astor", "jax", "scipy.linalg", "numba.np.linalg", "loopdiff.frontend.parse", "loopdiff.ad.reverse")
heavy = [m for m in names if m in sys.modules]
print(",".join(heavy))
"""


def test_a_warm_process_neither_parses_nor_analyses(tmp_path):
    environment = {**os.environ, "LOOPDIFF_CACHE_DIR": str(tmp_path), "LOOPDIFF_DEBUG": "0"}
    root = Path(loopdiff.__file__).parents[1]

    def heavy() -> str:
        command = [sys.executable, "-c", PROGRAM]
        done = subprocess.run(command, env=environment, cwd=root, capture_output=True, text=True, check=True)
        return done.stdout.strip()

    assert "loopdiff.ad.reverse" in heavy()
    assert heavy() == ""


def test_check_grads_reports_every_pair():
    report = check_grads(weighted_square, (np.array([1.0, 2.0]), np.ones(2), np.zeros(2), 0.5))
    assert report.is_good
    pairs = [(p.output, p.input) for p in report.pairs]
    assert pairs == [(o, i) for o in ("result", "y") for i in ("x", "w", "scale")]
    assert "ok" in str(report)


def test_check_grads_refuses_a_kink():
    @vectorize_grad
    def kink(x):
        return abs(x[0])

    with pytest.raises(GradientCheckError, match="WRONG") as caught:
        check_grads(kink, (np.array([1e-7]),), rtol=1e-9)
    assert not caught.value.report.is_good


def row_sums(x, rows):
    total = 0.0
    for i in range(rows.shape[0] - 1):
        s = 1.0
        for j in range(rows[i], rows[i + 1]):
            s = np.sin(s * x[j]) + s
        total += s * s
    return total


def test_workspace_for_arrays_of_other_layouts_and_types():
    """Tapes are as long as the arguments ask, however these lie in memory."""
    f = vectorize_grad(wrt=("x",))(row_sums)
    rows, x = np.arange(0, 201, 4), np.linspace(0.1, 1.0, 200)
    k = f.compile(x, rows)
    expected = [w.shape for w in k.workspace(x, rows)]
    doubled = np.repeat(rows, 2)
    assert [w.shape for w in k.workspace(x, doubled[::2])] == expected
    assert [w.shape for w in k.workspace(np.repeat(x, 2)[::2], rows.astype(np.int32))] == expected
    workspace, x_adj = k.workspace(x, doubled[::2]), np.zeros(200)
    k.forward(x, rows, *workspace)
    k.reverse(x, rows, *workspace, 1.0, x_adj)
    np.testing.assert_allclose(x_adj, f.grad(x, rows).x, rtol=1e-12)
