"""Keys of what is compiled: a text of everything that it depends on, and of nothing else.

A key covers loopdiff's own source, the text of the function, the values of the names it uses, argument types,
options, versions and the processor; the text of functions that it calls, and what they use, likewise. Where the text
stands does not count. What a function uses is what it was read with (`SourceFunction.used`, `Sources`): the front end
knows no other values. A function that uses a value whose content has no stable text has no key.
"""

from __future__ import annotations

import dis
import struct
import sys
from collections.abc import Iterator
from dataclasses import dataclass, field
from enum import Enum
from hashlib import blake2b
from types import CodeType, FunctionType, ModuleType
from typing import Any

import numba
import numpy as np

from loopdiff.errors import Home, UnsupportedLoopError
from loopdiff.frontend.callees import Sources
from loopdiff.frontend.derivatives import as_derivable
from loopdiff.immutable import immutable
from loopdiff.ir import nodes as ir
from loopdiff.ir.walk import all_statements
from loopdiff.rules.definitions import Rule, add_key, has_text, is_made, name_rule, rule_key
from loopdiff.settings.installation import installation
from loopdiff.source.functions import LIBRARIES, SourceFunction, plain_function, python_function
from loopdiff.source.positions import Homes
from loopdiff.source.scopes import outer_uses, root_of

KNOWN_MODULES = ("builtins", "math", "cmath", "operator", "_operator", *LIBRARIES)
LOADS = ("LOAD_GLOBAL", "LOAD_NAME", "LOAD_CLASSDEREF", "LOAD_FROM_DICT_OR_GLOBALS", "LOAD_FROM_DICT_OR_DEREF")

OF_CLASSES = (  # what all classes have, which says nothing of their objects
    "__annotate__", "__annotate_func__", "__annotations__", "__annotations_cache__", "__dict__", "__doc__",
    "__firstlineno__", "__module__", "__qualname__", "__static_attributes__", "__weakref__", "__abstractmethods__",
    "_abc_impl", "__orig_bases__", "__parameters__",
)  # fmt: skip


class UnstableError(Exception):
    """A value without a text that means the same in every process."""


@immutable
class Identity:
    """What a program is: the `key` of its text and of all it refers to, None if that has no stable text; where its
    functions stand, in an order that is the same for the same key; and the keys of the rules it calls."""

    key: str | None = None
    homes: Homes = Homes()
    rules: frozenset[str] = frozenset()

    def has_rules_of(self, ls: ir.LoopSet) -> bool:
        """Whether functions of rules that `ls` calls are what they were when the program was read. Their keys are from
        now on those of what Numba would compile."""
        called = {s.rule: None for s in all_statements(ls.body) if isinstance(s, ir.Call)}
        rules = [rule for rule in called if not is_made(rule)]
        for rule in filter(has_text, rules):
            try:
                Content(Sources()).name(rule)
            except UnstableError:
                return False
        return all(rule_key(rule) in self.rules for rule in rules)


def identity_of(source: SourceFunction, sources: Sources) -> Identity:
    """The identity of a function that was read, with what it may call."""
    content = Content(sources)
    try:
        parts = [installation(), *content.of_function(source)]
    except UnstableError:
        return Identity()
    return Identity(digest_of(parts), Homes(tuple(content.homes)), frozenset(content.rules))


def digest_of(parts: list[str]) -> str:
    return blake2b("\0".join(parts).encode(), digest_size=20).hexdigest()


@dataclass(slots=True)
class Content:
    """Texts that determine functions, and values as far as a loop nest can use them.

    `has_arguments`: arrays from outside are arguments of the functions, whatever they hold. `met` are the functions
    that texts were given for, `homes` where they stand, `rules` the keys of rules. Methods raise UnstableError where
    there is no such text.
    """

    sources: Sources
    met: list[FunctionType] = field(default_factory=list)
    homes: list[Home] = field(default_factory=list)
    rules: list[str] = field(default_factory=list)
    has_arguments: bool = True

    def of_function(self, source: SourceFunction) -> Iterator[str]:
        """Its text, and the names that it uses with their values."""
        if source.home not in self.homes:
            self.homes.append(source.home)
        place = self.homes.index(source.home)
        yield from (source.name, source.home.name, str(place), str(source.node.col_offset), source.text)
        yield f"names {len(source.used)}"
        for name, value in sorted(source.used.items()):
            yield name
            yield from self.of_value(value)
        if source.apart is not None:
            from loopdiff.frontend.structures.methods import constants_of, methods_of
            from loopdiff.frontend.structures.trees import form, statics

            yield "apart"
            for name, tree in source.apart:
                yield from (name, form(tree))
                for value in statics(tree):
                    yield from self.of_value(value)
                for method in dict.fromkeys(methods_of(tree)):
                    if method in self.sources.known:
                        yield from self.of_callee(method)
                for constant, value in constants_of(tree):
                    yield f"constant {constant}"
                    yield from self.of_value(value)

    def of_value(self, value: Any) -> Iterator[str]:
        rule = self.sources.rule_of(value)
        if rule is not None:
            yield from self.of_rule(rule)
            return
        derivable = as_derivable(value)
        if derivable is not None:  # its derivatives are those of the function as it was when it was decorated
            if derivable.identity is None:
                raise UnstableError(derivable.innermost.__qualname__)
            yield derivable.identity
        function = self.written_out(value) if derivable is None else derivable.innermost
        if function is not None:
            yield from self.of_callee(function)
            return
        from loopdiff.frontend.structures.signs import is_data, is_plain_class

        if isinstance(value, type) and is_plain_class(value):
            yield from self.of_class(value)
            return
        if self.has_arguments and is_data(value):  # what is known of it stands with what was taken apart
            yield "data"
            return
        if type(value) is tuple:
            yield f"tuple {len(value)}"
            for item in value:
                yield from self.of_value(item)
            return
        yield plain_text(value)

    def of_class(self, kind: type[Any]) -> Iterator[str]:
        """The methods of a class of the program, and the numbers and texts that it has."""
        yield f"class {kind.__qualname__}"
        for one in kind.__mro__[:-1]:
            for name, value in sorted(vars(one).items()):
                inner = (getattr(value, word, None) for word in ("__func__", "fget", "fset", "func"))
                methods = [f for f in (value, *inner) if isinstance(f, FunctionType)]
                yield f"has {name} {len(methods)}"
                for method in methods:
                    yield from self.of_callee(method)
                if not methods and name not in OF_CLASSES:
                    yield from self.of_value(value)

    def written_out(self, value: Any) -> FunctionType | None:
        """The function whose text a call of `value` runs; Numba has its own of NumPy's."""
        is_numbas = not self.has_arguments and callable(value) and known_name(value)
        return None if is_numbas else python_function(value)

    def of_callee(self, function: FunctionType) -> Iterator[str]:
        """What `of_function` gives for a function that may be called, and its defaults."""
        if function in self.met:
            yield f"again {self.met.index(function)}"
            return
        self.met.append(function)
        try:
            source = self.sources.of(function)
        except UnsupportedLoopError as error:
            raise UnstableError(function.__qualname__) from error
        yield from self.of_function(source)
        defaults = {n: p.default for n, p in source.signature.parameters.items() if p.default is not p.empty}
        yield f"defaults {len(defaults)}"
        for name, value in defaults.items():
            yield name
            yield from self.of_value(value)

    def of_rule(self, rule: Rule) -> Iterator[str]:
        """The key of `rule`, which from now on stands for the text of all its functions, and of their rules."""
        group: list[Rule] = []
        collect(rule, group)
        for one in group:
            self.name(one)
            self.rules.append(rule_key(one))
        yield rule_key(rule)
        for one in group:
            if one.shape is not None:
                yield from self.of_callee(plain_function(one.shape))

    def name(self, rule: Rule) -> None:
        """Name `rule` by the text of its functions, and of its rules', with what they use now."""
        reached: list[Rule] = []
        collect(rule, reached)
        try:
            name_rule(rule, digest_of([part for one in reached for part in self.of_one_rule(one)]))
        except UnstableError:
            if has_text(rule):
                add_key(rule)
            raise

    def of_one_rule(self, rule: Rule) -> Iterator[str]:
        functions = (rule.function, *rule.derived.values(), *(() if rule.shape is None else (rule.shape,)))
        groups = map(sorted, (rule.constant, rule.overwrites, rule.outputs, rule.derived, rule.partials))
        yield repr((rule.params, rule.active, *groups, rule.result))
        content = Content(self.sources, has_arguments=False)
        for function in functions:
            yield repr(sorted(getattr(function, "targetoptions", {}).items()))
            yield from content.of_callee(plain_function(function))
        for function in content.met:  # Numba compiles them as they are, not the front end
            source = self.sources.of(function)
            if not loaded_names(function.__code__) <= {root_of(use) for use, _ in outer_uses(source.node)}:
                raise UnstableError(function.__qualname__)


def collect(rule: Rule, met: list[Rule]) -> None:
    """`rule` and those of its partials."""
    if rule not in met:
        met.append(rule)
        for name in sorted(rule.partials):
            collect(rule.partial(name), met)


def loaded_names(code: CodeType) -> frozenset[str]:
    """Names from outside that a function looks up, and functions in it, as Python compiled it."""
    found = {i.argval for i in dis.get_instructions(code) if i.opname in LOADS} | set(code.co_freevars)
    inner = [loaded_names(c) - set(code.co_cellvars) for c in code.co_consts if isinstance(c, CodeType)]
    return frozenset(found).union(*inner)


def plain_text(value: Any) -> str:
    """A text that determines `value`, which is no function written in Python. Raises UnstableError if there is none."""
    match value:
        case np.generic():
            return f"{value.dtype.str} {value.tobytes().hex()}"
        case None | bool() | int() | str():
            return f"{type(value).__name__} {int.__repr__(value) if isinstance(value, int) else repr(value)}"
        case float() | complex():  # NaN has a sign
            return f"{type(value).__name__} {struct.pack('<2d', value.real, value.imag).hex()}"
        case Enum():
            return f"{type(value).__module__}.{type(value).__qualname__} {value.name} {plain_text(value.value)}"
        case np.dtype():
            return f"dtype {value!r}"
        case numba.types.Type():
            return f"type {value!r}"
        case ModuleType() if value.__name__.split(".")[0] in KNOWN_MODULES:
            return f"module {value.__name__}"
        case np.ufunc() if value is getattr(np, value.__name__, None):
            return f"numpy {value.__name__}"
        case np.ufunc() if value is getattr(sys.modules.get("scipy.special"), value.__name__, None):
            return f"scipy.special {value.__name__}"
        case _ if value is np.mgrid or value is np.ogrid:
            return f"numpy {type(value).__name__}"
        case _ if callable(value) and (name := known_name(value)):
            return name
        case _:
            raise UnstableError(type(value).__name__)


def known_name(value: Any) -> str:
    """The name of a function or class of Python or a library under which it is found there; empty for others."""
    module, name = getattr(value, "__module__", None) or "", getattr(value, "__qualname__", None) or ""
    found: Any = sys.modules.get(module)
    for part in name.split("."):
        found = getattr(found, part, None)
    return f"{module}.{name}" if found is value and module.split(".")[0] in KNOWN_MODULES else ""
