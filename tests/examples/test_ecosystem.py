"""The examples with other libraries run, where those are installed, and say what they should."""

from __future__ import annotations

import runpy
from pathlib import Path

import pytest

FOLDER = Path(__file__).parents[2] / "examples" / "ecosystem"
MOST_LINES = 70
EXPECTED = {
    "blackjax_level": "by quadrature [-1.  -0.3]",
    "diffrax_reaction": "at the far end 1.939807 and 1.939807",
    "equinox_filter": "b [0.5 0.3], a [-0.9  0.4]",
    "optax_volatility": "loss 0.5045 -> 0.4693",
    "scipy_solvers": "growth, crowding and first count [1.2  0.05 3.  ]",
}
SLOW = {"blackjax_level", "diffrax_reaction"}  # to compile, by JAX


def test_every_example_is_listed_and_short() -> None:
    paths = sorted(FOLDER.glob("*.py"))
    assert [p.stem for p in paths] == list(EXPECTED)
    assert all(len(p.read_text(encoding="utf-8").splitlines()) <= MOST_LINES for p in paths)


@pytest.mark.parametrize("name", [pytest.param(n, marks=pytest.mark.slow if n in SLOW else ()) for n in EXPECTED])
def test_example(name: str, capsys: pytest.CaptureFixture[str]) -> None:
    library = name.partition("_")[0]
    if library != "scipy":
        pytest.importorskip("jax")
    pytest.importorskip(library)
    runpy.run_path(str(FOLDER / f"{name}.py"), run_name="__main__")
    assert EXPECTED[name] in capsys.readouterr().out
