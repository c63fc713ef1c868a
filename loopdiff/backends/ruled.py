"""Functions that rules have, for generated modules to call."""

from __future__ import annotations

from functools import cache
from typing import Any

import numba
from numba.core.dispatcher import Dispatcher

from loopdiff.rules.definitions import RuleForm, plain, rule_of_key
from loopdiff.rules.printing import is_printing


@cache
def called(key: str, form: RuleForm) -> Any:
    """The Numba function that the rule known as `key` has for `form`: the user's own, or made of a plain one."""
    rule = rule_of_key(key)
    if is_printing(rule):
        import loopdiff.backends.printed  # noqa: F401 - what `tell` compiles to
    function: Any = rule.function_of(form)
    if isinstance(function, Dispatcher):
        return function
    return numba.njit(plain(function), nogil=True, error_model="numpy")
