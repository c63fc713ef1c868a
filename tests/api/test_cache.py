"""What is kept on disk is never taken for something else, and its absence is no error."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

import loopdiff
from loopdiff import UnsupportedLoopError, vectorize_grad

pytestmark = pytest.mark.part(3)
PROGRAM = """
import sys
import numpy as np
import settings
from loopdiff import vectorize_grad
K = float(sys.argv[1])
settings.SCALE = float(sys.argv[2])

@vectorize_grad
def weighted(x):
    total = 0.0
    for i in range(x.shape[0]):
        total += K * settings.SCALE * x[i]
    return total

K = settings.SCALE = 1e6
print(weighted(np.ones(4, sys.argv[3])))
"""


@pytest.fixture
def program(tmp_path: Path) -> Path:
    """A program in a file of its own, with a module of settings beside it."""
    (tmp_path / "settings.py").write_text("SCALE = 1.0\n")
    path = tmp_path / "program.py"
    path.write_text(PROGRAM)
    return path


def run(program: Path, *args: object, **environment: str) -> float:
    """What a new process prints."""
    paths = os.pathsep.join([str(program.parent), str(Path(loopdiff.__file__).parents[1])])
    settings = {"LOOPDIFF_CACHE_DIR": str(program.parent / "cache"), "PYTHONPATH": paths} | environment
    command = [sys.executable, str(program), *map(str, args)]
    done = subprocess.run(command, env={**os.environ, **settings}, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return float(done.stdout)


def test_values_from_outside_are_those_at_decoration(program: Path) -> None:
    """Whatever is on disk: other constants, or the same constants with other types."""
    assert run(program, 2, 3, "f8") == 24.0
    assert run(program, 5, 3, "f8") == 60.0
    assert run(program, 2, 7, "f8") == 56.0
    assert run(program, 2, 3, "f4") == 24.0
    assert run(program, 2, 3, "f8") == 24.0


def test_a_directory_that_cannot_be_written_is_no_error(program: Path) -> None:
    blocked = program.parent / "blocked"
    blocked.write_text("a file, not a directory")
    assert run(program, 2, 3, "f8", LOOPDIFF_CACHE_DIR=str(blocked / "cache")) == 24.0


class Node:
    """A value that leads back to itself."""

    def __init__(self) -> None:
        self.owner, self.scale = self, 3.0


NODE = Node()


def scaled(x):
    return NODE.scale * x


def test_attributes_of_an_object_that_leads_back_to_itself_are_constants() -> None:
    assert vectorize_grad(scaled)(2.0) == 6.0


def test_functions_without_text_are_refused_like_others() -> None:
    space = {}
    exec("def helper(t):\n    return t", space)
    helper = space["helper"]
    helper.__module__ = None

    def calling(x):
        return helper(x)

    with pytest.raises(UnsupportedLoopError, match="LD100: the source of `helper` is not available"):
        vectorize_grad(calling)


CALLING = """
import sys
import numpy as np
from loopdiff import vectorize_grad
from settings import outer

@vectorize_grad
def total(x):
    s = 0.0
    for i in range(x.shape[0]):
        s += outer(x[i])
    return s

print(total(np.ones(4)))
"""


def test_functions_that_are_called_belong_to_the_key(program: Path) -> None:
    """Their text, their defaults and the values they use count, through several calls."""
    program.write_text(CALLING)
    helpers = "K = {}\n\ndef inner(t, by={}):\n    return t {} by + K\n\ndef outer(t):\n    return inner(t)\n"
    for values, expected in (((1, 2.0, "*"), 12.0), ((1, 2.0, "-"), 0.0), ((1, 3.0, "*"), 16.0), ((2, 2.0, "*"), 16.0)):
        (program.parent / "settings.py").write_text(helpers.format(*values))
        assert run(program, PYTHONDONTWRITEBYTECODE="1") == expected
    assert run(program, PYTHONDONTWRITEBYTECODE="1") == 16.0


RECORD = """
import dataclasses
import numpy as np
from loopdiff import vectorize_grad

@dataclasses.dataclass
class Spring:
    x: float
    STIFFNESS = {}
    def energy(self):
        return self.STIFFNESS * self.x

@vectorize_grad
def energy(spring):
    return spring.energy()

print(energy(Spring(2.0)))
"""


def test_numbers_of_classes_belong_to_the_key(program: Path) -> None:
    """Those that methods of records read."""
    for stiffness in (3.0, 5.0):
        program.write_text(RECORD.format(stiffness))
        assert run(program, PYTHONDONTWRITEBYTECODE="1") == 2.0 * stiffness


MADE = """
import numpy as np
from loopdiff import vectorize_grad

class Spring:
    STIFFNESS = {}
    def __init__(self, x):
        self.x = x
    def energy(self):
        return self.STIFFNESS * self.x {}

@vectorize_grad
def energy(x):
    return Spring(x).energy()

print(energy(2.0))
"""


def test_classes_whose_objects_a_program_makes_belong_to_the_key(program: Path) -> None:
    for stiffness, rest, expected in ((3.0, "", 6.0), (5.0, "", 10.0), (5.0, "+ 1.0", 11.0)):
        program.write_text(MADE.format(stiffness, rest))
        assert run(program, PYTHONDONTWRITEBYTECODE="1") == expected
