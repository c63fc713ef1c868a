"""`python -m loopdiff run-dump`: dumps of the pipeline, and text that somebody wrote, run as they stand."""

from __future__ import annotations

import re
from pathlib import Path

import numpy as np
import pytest

from loopdiff import vectorize_grad
from loopdiff.__main__ import main

TEXT = """
loopset f(x, k, a, n, w)
    argument x: float64[:]
    argument k: int32[:]
    tape w: float64[:] extents (n + 1)
    local t: float64[:] extents (n)
    scalar a: float32
    scalar n: int64
allocate t filled with 2.0
for i in range(0, n, 1):
    x[k[i]] += float64(a) * t[i]
    w[i] = x[i]
return t, float64(n) * 0.5
""".strip()


@pytest.fixture
def dump(tmp_path: Path) -> Path:
    path = tmp_path / "dump.txt"
    path.write_text(TEXT, encoding="utf-8")
    return path


def run_dump(*arguments: object) -> int:
    return main(["run-dump", *map(str, arguments)])


def arguments(path: Path, **changed: object) -> Path:
    known = {"x": np.ones(3), "k": np.array([2, 0], np.int32), "a": np.float32(0.5), "n": 2} | changed
    np.savez(path.with_name("args.npz"), **{n: v for n, v in known.items() if v is not None})
    return path.with_name("args.npz")


def test_results_and_written_arrays_are_shown(dump: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run_dump(dump, arguments(dump, y=np.ones(2))) == 0
    assert capsys.readouterr().out.splitlines() == [
        "not an argument: y",
        "not given, undefined at first: w",
        "result 0 t: float64[2]",
        "[2., 2.]",
        "result 1 = 1.0",
        "x: float64[3]",
        "[2., 1., 2.]",
        "w: float64[3]",
        "[ 1.,  1., nan]",
    ]
    assert run_dump(dump, arguments(dump, w=np.zeros(3))) == 0
    assert "[1., 1., 0.]" in capsys.readouterr().out


def test_random_arguments_go_by_seed_and_size(dump: Path, capsys: pytest.CaptureFixture[str]) -> None:
    found = []
    for seed, size in ((0, 5), (0, 5), (1, 5), (0, 3), (0, 0)):
        assert run_dump(dump, "--seed", seed, "--size", size) == 0
        found.append(capsys.readouterr().out)
    assert found[0] == found[1]
    assert len(set(found)) == 4
    assert "w: float64[6]" in found[0]
    assert "w: float64[4]" in found[3]


@pytest.mark.parametrize(
    ("changed", "said"),
    [
        ({"x": None}, "has no `x`, an array float64[:]; it has k, a, n"),
        ({"n": None}, "has no `n`, a scalar; it has x, k, a"),
        ({"x": np.ones(3, np.float32)}, "`x` has to be float64 with 1 axes, and is float32 with 1 axes"),
        ({"x": np.ones((3, 1))}, "`x` has to be float64 with 1 axes, and is float64 with 2 axes"),
        ({"w": np.ones(3, int)}, "`w` has to be float64 with 1 axes, and is int64 with 1 axes"),
        ({"n": 2.0}, "`n` has to be a int64 without axes, and is float64 with 0 axes"),
        ({"a": np.ones(1)}, "`a` has to be a float32 without axes, and is float64 with 1 axes"),
        ({"n": -2}, "the extent n + 1 would be -1"),
        ({"k": np.array([3, 0], np.int32)}, "index 3 is out of bounds for axis 0 with size 3 in `a_x[(not_negative"),
    ],
)
def test_arguments_that_do_not_fit(
    changed: dict[str, object], said: str, dump: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run_dump(dump, arguments(dump, **changed)) == 1
    assert re.fullmatch(rf"loopdiff: .*{re.escape(said.split('(not')[0])}.*\n", capsys.readouterr().err)


@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        ("w[i] = x[i]", "w[i] == x[i]", r"line 11: 'w[i] == x[i]': "),
        ("tape w: float64[:]", "tape w: float64", r"line 4: 'tape w: float64 extents (n + 1)': no line of a LoopSet"),
        ("w[i] = x[i]", "w[i] = y[i]", "invariant V1 broken after stage 'reading': undeclared array y\n"),
        ("allocate t", "let v = y[0]\nallocate t", "no types fit: KeyError('y')"),
        ("w[i] = x[i]", "w[i] = x[k[i], 0]", "invariant V2 broken after stage 'reading': x[k[i], 0]"),
        ("extents (n + 1)", "extents (x.shape[1])", "invariant V11 broken after stage 'reading': x.shape[1]"),
        ("x: float64[:]", "x: ?", "types are not known yet; dumps from `bound` on can be run"),
        ("w[i] = x[i]", "w[i] = float64(i // 0)", "division"),
    ],
)
def test_text_that_cannot_be_run(old: str, new: str, said: str, dump: Path, capsys: pytest.CaptureFixture[str]) -> None:
    dump.write_text(TEXT.replace(old, new), encoding="utf-8")
    assert run_dump(dump) == 1
    error = capsys.readouterr().err
    assert error.startswith(f"loopdiff: {dump}: ")
    assert said in error


def test_files_that_are_not_there_or_something_else(dump: Path, capsys: pytest.CaptureFixture[str]) -> None:
    np.save(dump.with_name("one.npy"), np.ones(2))
    for files in ((dump.with_name("no.txt"),), (dump, dump.with_name("no.npz")), (dump, dump), (dump, "one.npy")):
        given = [dump.with_name(f) if isinstance(f, str) else f for f in files]
        assert run_dump(*given) == 1
        assert str(given[-1]) in capsys.readouterr().err
    assert run_dump(dump, "--size", -1) == 1


def squares(x: np.ndarray, y: np.ndarray) -> float:
    t = 0.0
    for i in range(x.shape[0]):
        if x[i] > 0.0:
            t += np.sin(x[i]) * y[i] ** 2
    return t


def test_dumps_of_the_pipeline_run(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """All of one kind compute the same from the same arguments."""
    monkeypatch.setenv("LOOPDIFF_DUMP", str(tmp_path / "dumps"))
    x, y = np.linspace(-1.0, 1.0, 5), np.linspace(1.0, 2.0, 5)
    gradients = vectorize_grad(cache=False)(squares).grad(x, y)
    monkeypatch.delenv("LOOPDIFF_DUMP")
    np.savez(tmp_path / "args.npz", x=x, y=y)
    values: set[str] = set()
    shown = 0
    for path in sorted((tmp_path / "dumps").iterdir()):
        text = path.read_text(encoding="utf-8")
        if not text.startswith("loopset squares") or ": ?" in text or "result_adj" in text:
            continue
        assert run_dump(path, tmp_path / "args.npz") == 0, capsys.readouterr().err
        out = capsys.readouterr().out
        values.update(re.findall(r"^result 0 = (.*)$", out, re.M))
        if "x_adj: " in out:
            shown += 1
            assert np.array2string(gradients.x, max_line_width=100, separator=", ") in out
    assert len(values) == 1
    assert shown
    assert float(values.pop()) == pytest.approx(squares(x, y), rel=1e-14)
