"""Settings of the suite: one compile cache for all workers, double precision in JAX, hypothesis profiles."""

from __future__ import annotations

import gc
import os
import sys
from collections.abc import Generator
from contextlib import nullcontext
from itertools import count
from typing import Any

import pytest
from hypothesis import HealthCheck, settings

from tests.lengths import IS_LONG, is_optimised, left_out, optimising_little

os.environ.setdefault("JAX_ENABLE_X64", "1")
os.environ.setdefault("JAX_PLATFORMS", "cpu")
# XLA's compiler is a fifth of the time of what is compared with JAX, which is asked for numbers: this saves a third.
os.environ.setdefault("XLA_FLAGS", "--xla_backend_optimization_level=0 --xla_llvm_disable_expensive_passes=true")
os.environ.setdefault("LOOPDIFF_STRICT", "1")  # defects of the compiler are seen, not made up for by Numba's own

# Tests start two hundred processes: a third of the time of each goes into bytecode where Python may not keep it.
os.environ.pop("PYTHONDONTWRITEBYTECODE", None)
sys.dont_write_bytecode = False

# Numba makes objects by the million: looking for cycles every 700 of them is a tenth of the time of the suite.
gc.set_threshold(400_000, 20, 100)
FINISHED = count(1)
KEPT_FOR_GOOD = 500  # tests, after which what is there is not looked at any more: caches, of gigabytes in the end

COMMON = {"deadline": None, "suppress_health_check": [HealthCheck.too_slow, HealthCheck.data_too_large]}
settings.register_profile("fixed", derandomize=True, database=None, **COMMON)
settings.register_profile("long", max_examples=2000, print_blob=True, **COMMON)
settings.load_profile("long" if IS_LONG else "fixed")


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--update-golden", action="store_true", help="write golden files instead of comparing")


def pytest_configure(config: pytest.Config) -> None:
    # xdist workers inherit the variable, so that every worker finds what another has compiled.
    cache = getattr(config, "cache", None)
    if "LOOPDIFF_CACHE_DIR" not in os.environ and cache is not None:
        os.environ["LOOPDIFF_CACHE_DIR"] = str(cache.mkdir("loopdiff"))
    if "LOOPDIFF_CONFIG_DIR" not in os.environ and cache is not None:
        os.environ["LOOPDIFF_CONFIG_DIR"] = str(cache.mkdir("loopdiff-key"))


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Leave out the cases that are not of this turn; none where some are asked for by name."""
    is_asked = config.getoption("keyword") or config.getoption("update_golden")
    if IS_LONG or is_asked or any("::" in argument for argument in config.args):
        return
    marks = [item.get_closest_marker("part") for item in items]
    names = [item.nodeid.partition("[")[0] for item in items]
    left = left_out((n, 1 if m is None else m.args[0]) for n, m in zip(names, marks, strict=True))
    config.hook.pytest_deselected(items=[item for item, is_left in zip(items, left, strict=True) if is_left])
    items[:] = [item for item, is_left in zip(items, left, strict=True) if not is_left]


@pytest.hookimpl(wrapper=True)
def pytest_runtest_protocol(item: pytest.Item) -> Generator[None, Any, Any]:
    """Have LLVM do little in tests that ask for numbers: see `lengths.py`."""
    from tests.scheduling import entry_of

    is_in_full = is_optimised(item.nodeid.partition("::")[0], entry_of(item.nodeid))
    with nullcontext() if is_in_full else optimising_little():
        return (yield)


def pytest_runtest_logfinish() -> None:
    if next(FINISHED) % KEPT_FOR_GOOD == 0:
        gc.collect()
        gc.freeze()


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config: pytest.Config, log: Any) -> Any:
    from tests.scheduling import ByEntry

    return ByEntry(config, log)


@pytest.fixture
def update_golden(request: pytest.FixtureRequest) -> bool:
    return bool(request.config.getoption("--update-golden"))
