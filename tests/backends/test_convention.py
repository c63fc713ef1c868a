"""Functions of very many arguments, whose words are in memory: called from Python, from compiled code, in parts."""

from __future__ import annotations

import os
import subprocess
import sys
import textwrap
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numba import njit

from loopdiff import vectorize_grad
from loopdiff.backends.cpu.direct import Direct, convention
from loopdiff.backends.cpu.direct.convention import MOST_WORDS, InMemory
from loopdiff.backends.cpu.threads import pool
from loopdiff.backends.load import import_module, load_function, write_module

pytestmark = pytest.mark.part(3)

direct = njit(pipeline_class=Direct, error_model="numpy")
ROOT = Path(__file__).parents[2]
MANY = 150  # arrays, of more words than functions get one by one
NAMES = [f"a{k}" for k in range(MANY)]


def made(stem: str, lines: list[str]) -> Callable[..., Any]:
    """The function `stem` of a generated module."""
    text = "\n".join(lines) + "\n"
    return load_function(stem, write_module(stem, text, is_cached=False), text).dispatcher


def is_in_memory(compiled: Any) -> bool:
    return all(isinstance(found.fndesc.argtypes, InMemory) for found in compiled.overloads.values())


MIXED = [
    f"def mixed({', '.join(NAMES)}, last, n, is_on, narrow, y):",
    "    x = 0.0",
    *(f"    x += a{k}[{k} % 2, a{k}.shape[1] - 1] * {k + 1}" for k in range(MANY)),
    "    if is_on:",
    "        y[n] = last * narrow",
    "    if n > 7:",
    "        raise ValueError('too far')",
    "    return x, y, a7",
]


def arrays(count: int = MANY) -> list[np.ndarray]:
    """Matrices of three layouts and two kinds, in turns of several."""
    found = [np.arange(6.0).reshape(2, 3) + k for k in range(count)]
    found[40:50] = [np.asfortranarray(a) for a in found[40:50]]
    found[50:53] = [a.astype(np.float32) for a in found[50:53]]
    found[60] = np.repeat(found[60], 2, axis=1)[:, ::2]
    return found


def test_python_enters_them_with_arrays_and_numbers_of_all_kinds() -> None:
    plain = made("mixed", MIXED)
    compiled = direct(plain)
    args, y = arrays(), np.zeros(9)
    given = (*args, 1.5, 2, True, np.float32(0.25), y)
    before = [sys.getrefcount(a) for a in args]
    value, same, seventh = compiled(*given)
    assert is_in_memory(compiled)
    assert value == plain(*given)[0]
    assert (y[2], same.ctypes.data) == (0.375, y.ctypes.data)
    np.testing.assert_array_equal(seventh, args[7])
    with pytest.raises(ValueError, match="too far"):
        compiled(*args, 1.5, 8, False, np.float32(0.25), y)
    del same, seventh
    assert [sys.getrefcount(a) for a in args] == before


def sums(count: int) -> list[str]:
    """A function of so many arrays that adds up their first elements, in the last of them, too."""
    names = NAMES[:count]
    adding = (f"    x += {n}[0]" for n in names)
    return [f"def sums({', '.join(names)}):", "    x = 0.0", *adding, f"    {names[-1]}[0] = x", "    return x"]


def test_compiled_code_calls_them() -> None:
    count = MOST_WORDS // 7 + 1
    compiled = direct(made("sums", sums(count)))
    given = tuple(np.full(2, 1.0 + k) for k in range(count))
    total = sum(range(count + 1))

    @njit
    def twice(given: Any) -> Any:
        return compiled(*given) + compiled(*given)

    assert twice(given) == total + total - count + total
    assert is_in_memory(compiled)


def test_few_arguments_are_passed_one_by_one() -> None:
    compiled = direct(made("few", ["def few(a, b):", "    return a[0] + b[0]"]))
    assert compiled(np.ones(3), np.ones(3)) == 2.0
    assert not is_in_memory(compiled)
    (found,) = compiled.overloads.values()
    assert len(found.fndesc.argtypes) * 7 < MOST_WORDS


def test_another_process_loads_their_machine_code(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("LOOPDIFF_CACHE_DIR", str(tmp_path))
    lines = [
        "import numba", "from loopdiff.backends.cpu.direct import Direct",
        "from loopdiff.backends.machine_code import kept",
        "@kept", "@numba.njit(pipeline_class=Direct)",
        *sums(150),
    ]  # fmt: skip
    text = "\n".join(lines) + "\n"
    path = write_module("sums", text)
    load_function("sums", path, text).dispatcher(*(np.full(2, 1.0 + k) for k in range(150)))
    fresh = """
        import sys, numba, numpy as np
        from pathlib import Path
        from loopdiff.backends.load import load_function
        path = Path(sys.argv[1])
        sums = load_function("sums", path, path.read_text(), "").dispatcher
        print(sums(*(np.full(2, 1.0 + k) for k in range(150))), sum(sums.stats.cache_hits.values()))
        call = numba.njit(lambda given: sums(*given))
        print(call(tuple(np.full(2, 2.0 + k) for k in range(150))))
    """
    env = {**os.environ, "LOOPDIFF_CACHE_DIR": str(tmp_path), "PYTHONPATH": str(ROOT)}
    command = [sys.executable, "-c", textwrap.dedent(fresh), str(path)]
    out = subprocess.run(command, env=env, capture_output=True, text=True, check=True)
    assert out.stdout.split() == ["11325.0", "1", "11475.0"]


@pytest.mark.parametrize(("count", "is_parallel"), [(40, False), (4, True)])
def test_gradients_of_many_arrays(count: int, is_parallel: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    """On several threads, chunks are parts of such a function, which get words one by one. Fewer words than usual are
    many: two thousand take half a minute."""
    monkeypatch.setattr(pool.word(pool.EAGER), "value", int(is_parallel))
    monkeypatch.setattr(convention, "MOST_WORDS", 7 if is_parallel else 250)
    names, size = NAMES[:count], 37
    terms = (f"        total += w[i] * {n}[i] * {n}[i]" for n in names)
    lines = [f"def squares({', '.join(names)}, w):", "    total = 0.0", "    for i in range(w.shape[0]):", *terms]
    path = write_module("squares", "\n".join([*lines, "    return total"]) + "\n", is_cached=False)
    f = vectorize_grad(parallel=is_parallel, cache=False)(import_module(path).squares)
    w = np.linspace(0.5, 1.5, size)
    args = [np.cos(np.arange(size) + k) for k in range(count)]
    value, found = f.value_and_grad(*args, w)
    assert value == pytest.approx(sum(np.sum(w * a * a) for a in args), rel=1e-12)
    for a, gradient in zip(args, found, strict=False):
        np.testing.assert_allclose(gradient, 2.0 * w * a, rtol=1e-12)
    np.testing.assert_allclose(found[-1], sum(a * a for a in args), rtol=1e-12)
    assert is_in_memory(f.compile(*args, w).unit("primal").dispatcher)
