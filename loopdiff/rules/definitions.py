"""Rules: what the derivatives of a function are that is called as it is, because nobody can or should look into it.

A rule names its functions by their parameters. Of a function `f(x, y)`, where `y` is overwritten:

    f(x, y)                                         the function itself
    forward(x, y, tape)                             the same, and keeps in `tape` what `reverse` asks for
    tangent(x, x_tan, y, y_tan)                     values and tangents, side by side
    reverse(x, y, y_out, tape, x_adj, y_adj)        adjoints: adds to `x_adj`, turns `y_adj` into that of the old `y`

Each takes the names it needs, in any order. An array's derivative is None where nobody asks for it. A function with a
result, `result`, returns the pair of it and its tangent from `tangent`; its adjoint is `result_adj` of `reverse`, which
returns the adjoints of the active numbers.

Of a function of numbers the rule may name `partials` instead: functions of the same arguments, for which there may be
rules in turn, so that these have derivatives of every order.
"""

from __future__ import annotations

import secrets
from collections.abc import Callable, Collection, Iterable, Mapping
from dataclasses import dataclass, field
from types import FunctionType
from typing import Any, Literal, NamedTuple, TypeVar

from loopdiff.errors import NOWHERE, ArgumentError
from loopdiff.errors.codes import reject

RuleForm = Literal["primal", "forward", "tangent", "reverse"]
ResultType = Literal["float64", "float32", "int64", "bool"]
Returned = ResultType | None | Literal["auto"]
RESULT, TAPE = "result", "tape"
DERIVED: tuple[RuleForm, ...] = ("forward", "tangent", "reverse")
T = TypeVar("T", bound=type)


@dataclass(frozen=True, slots=True, eq=False)
class Rule:
    """How `function` is called and differentiated; `derived` are its derived functions.

    `active` parameters have a derivative, those in `constant` have none by declaration; a derivative by any other is
    refused. The function may read and overwrite the arrays `overwrites`, and fills those in `outputs` without reading
    them. `shape` gives the shape of the tape. `partials` are the derivatives by single parameters, as functions.
    """

    name: str
    function: Callable[..., Any]
    params: tuple[str, ...]
    active: tuple[str, ...]
    constant: frozenset[str]
    overwrites: frozenset[str]
    outputs: frozenset[str]
    result: ResultType | None
    derived: dict[RuleForm, Callable[..., Any]]
    shape: Callable[..., Any] | None = None
    partials: Mapping[str, Callable[..., Any]] = field(default_factory=dict)

    def __reduce__(self) -> Any:
        """By the key of its text, under which another process knows it once it has read the program."""
        return rule_of_key, (rule_key(self),)

    @property
    def changed(self) -> frozenset[str]:
        """Arrays that the function writes."""
        return self.overwrites | self.outputs

    @property
    def has_slope(self) -> bool:
        """Whether the result is a floating number, which may have a derivative."""
        return self.result in ("float64", "float32") and bool(self.active)

    def partial(self, name: str) -> Rule:
        """The rule of the derivative by `name`; one that states no derivatives if it has none."""
        function = self.partials[name]
        found = rule_for(function)
        if found is None:
            found = LEAVES.get(plain(function))
        if found is None:
            params, nothing = parameters_of(function), frozenset[str]()
            found = Rule(name_of(function), function, params, (), nothing, nothing, nothing, "float64", {})
            LEAVES[plain(function)] = found
            add_key(found)
        return found

    def function_of(self, form: RuleForm) -> Callable[..., Any]:
        return self.function if form == "primal" else self.derived[form]

    def names(self, form: RuleForm) -> tuple[str, ...]:
        """The parameters of the function for `form`, in its own order."""
        return self.params if form == "primal" else parameters_of(self.derived[form])

    def written(self, form: RuleForm) -> frozenset[str]:
        """Names of the arrays that the function for `form` writes."""
        match form:
            case "primal":
                return self.changed
            case "forward":
                return self.changed | {TAPE}
            case "tangent":
                return self.changed | {f"{p}_tan" for p in self.changed}
            case "reverse":
                return frozenset(f"{p}_adj" for p in self.active)

    def filled(self, form: RuleForm) -> frozenset[str]:
        """Those of them that it fills without reading them."""
        if form == "reverse":
            return frozenset()
        return self.outputs | {f"{p}_tan" for p in self.outputs}


Rules = Mapping[Callable[..., Any], Rule]
RULES: dict[Callable[..., Any], Rule] = {}
LEAVES: dict[Callable[..., Any], Rule] = {}
KEYS: dict[Rule, str] = {}
KNOWN: dict[str, Rule] = {}
STABLE: set[str] = set()
MAKERS: dict[str, Callable[[str], Rule]] = {}


# -- finding rules -------------------------------------------------------------------------------------------
def plain(function: Any) -> Any:
    """The Python function inside a Numba dispatcher: a rule of one is a rule of the other."""
    return getattr(function, "py_func", function)


def known_rules() -> Rules:
    """The rules that there are now: what a program calls is fixed when it is decorated."""
    return dict(RULES)


def rule_for(value: Any, rules: Rules = RULES) -> Rule | None:
    """The rule of the function that `value` is, if it has one among `rules`."""
    try:
        return rules.get(plain(value))
    except TypeError:  # unhashable: not a function
        return None


def rule_key(rule: Rule) -> str:
    """A name of `rule` that means nothing else: in every process, once its text is known (`name_rule`)."""
    return KEYS[rule]


def add_key(rule: Rule) -> None:
    """Give `rule` a key of this process."""
    KEYS[rule] = key = f"{rule.name}-{secrets.token_hex(8)}"
    KNOWN[key] = rule


def name_rule(rule: Rule, digest: str) -> None:
    """Call `rule` by the digest of its text from now on."""
    KEYS[rule] = key = f"{rule.name}-{digest}"
    KNOWN[key] = rule
    STABLE.add(key)


def has_text(rule: Rule) -> bool:
    """Whether the key of `rule` stands for its text, so that what is compiled from it may be kept."""
    return KEYS[rule] in STABLE


def rule_of_key(key: str) -> Rule:
    """The rule that `key` names. Where the key says all there is to it, it is made here."""
    maker = None if key in KNOWN else next((m for mark, m in MAKERS.items() if key.startswith(mark)), None)
    return KNOWN[key] if maker is None else maker(key)


def add_made(rule: Rule, key: str) -> None:
    """Know `rule`, which is made of its `key` alone, in every process."""
    KEYS[rule], KNOWN[key] = key, rule
    STABLE.add(key)


def is_made(rule: Rule) -> bool:
    """Whether the key of `rule` says all there is to it."""
    return KEYS.get(rule, "").startswith(tuple(MAKERS))


# -- making rules --------------------------------------------------------------------------------------------
def rule(
    function: Callable[..., Any],
    *,
    active: Iterable[str] = (),
    partials: Mapping[str, Callable[..., Any]] | None = None,
    overwrites: Iterable[str] = (),
    outputs: Iterable[str] = (),
    nondifferentiable: Iterable[str] = (),
    result: ResultType | Literal["auto"] | None = "auto",
) -> Callable[[T], T]:
    """Give `function`, which loopdiff then calls and never looks into, the derivatives that the class below states.

    Args:
        function: A function that Numba can compile or has compiled. A C function is ruled through one that calls it.
        active: Parameters that it has derivatives by.
        partials: Of a function of numbers, its derivative by each active parameter, a function of the same arguments.
            There is no class then.
        overwrites: Array parameters that it changes in place.
        outputs: Array parameters that it fills, whatever was in them.
        nondifferentiable: Parameters that its derivative by is declared zero.
        result: Type of the number it returns, None for none. By default a float64 if it writes no array.

    Returns:
        A decorator for a class with some of the functions `tangent`, `reverse`, and `forward` with `tape`, the shape of
        what `forward` keeps for `reverse`.

    Raises:
        ArgumentError: The rule contradicts itself (LD353).
    """

    groups = Groups(frozenset(overwrites), frozenset(outputs), frozenset(nondifferentiable))
    names = tuple(active) or tuple(partials or ())

    def decorate(cls: T) -> T:
        functions = {n: getattr(v, "__func__", v) for n, v in vars(cls).items() if callable(getattr(v, "__func__", v))}
        declare(function, names, groups, result, functions, partials or {})
        return cls

    if partials is not None:
        declare(function, names, groups, result, {}, partials)
    return decorate


def nondifferentiable(
    function: Any = None, /, *, overwrites: Iterable[str] = (), outputs: Iterable[str] = (), result: Returned = "auto"
) -> Any:
    """Declare that the derivatives of `function`, which is called as it is, are zero.

    Used as a decorator or as a call. `overwrites`, `outputs` and `result` are those of `rule`.
    """

    def decorate(marked: Any) -> Any:
        declare(marked, (), Groups(frozenset(overwrites), frozenset(outputs), None), result, {}, {})
        return marked

    return decorate if function is None else decorate(function)


class Groups(NamedTuple):
    """Parameters that are overwritten, filled, and declared constant; None for all."""

    overwrites: frozenset[str]
    outputs: frozenset[str]
    constant: frozenset[str] | None


def declare(
    function: Callable[..., Any],
    active: tuple[str, ...],
    groups: Groups,
    result: Returned,
    functions: Mapping[str, Callable[..., Any]],
    partials: Mapping[str, Callable[..., Any]],
) -> None:
    """Register the rule of `function`. Raises ArgumentError (LD353) if it contradicts itself."""
    name = name_of(function)
    if not isinstance(plain(function), FunctionType):
        hint = "give the rule to a Python function that calls it"
        raise ArgumentError(reject("LD353", f"`{name}` is not a Python function", NOWHERE, hint))
    params = parameters_of(function)
    if result == "auto":
        result = None if groups.overwrites | groups.outputs else "float64"
    derived: dict[RuleForm, Callable[..., Any]] = {f: functions[f] for f in DERIVED if f in functions}
    order = tuple(p for p in params if p in active)
    constant = frozenset(params) if groups.constant is None else groups.constant
    found = Rule(
        name, function, params, order, constant, groups.overwrites, groups.outputs, result, derived,
        functions.get(TAPE), dict(partials),
    )  # fmt: skip
    problem = next(iter(contradictions(found, frozenset(active))), None)
    if problem is not None:
        raise ArgumentError(reject("LD353", f"the rule of `{name}`: {problem}", NOWHERE))
    RULES[plain(function)] = found
    add_key(found)


def name_of(function: Callable[..., Any]) -> str:
    name = getattr(function, "__name__", "")
    return name if name.isidentifier() else "function"


def parameters_of(function: Callable[..., Any]) -> tuple[str, ...]:
    code = plain(function).__code__
    return code.co_varnames[: code.co_argcount + code.co_kwonlyargcount]


def contradictions(found: Rule, active: Collection[str]) -> Iterable[str]:
    """What is wrong with a rule by its declaration alone, in words."""
    params = set(found.params)
    named = (("active", active), ("overwrites", found.overwrites), ("outputs", found.outputs))
    for what, names in (*named, ("nondifferentiable", found.constant)):
        yield from (f"`{what}` names {n!r}, which is no parameter" for n in sorted(set(names) - params))
    for a, b, names in (
        ("overwrites", "outputs", found.overwrites & found.outputs),
        ("active", "nondifferentiable", found.constant & set(active)),
    ):
        yield from (f"{n!r} is in `{a}` and in `{b}`" for n in sorted(names))
    yield from (f"the name {n!r} has a meaning of its own" for n in found.params if n in known_names(found, "reverse"))
    if (found.shape is None) != ("forward" not in found.derived):
        yield "`forward` and `tape` go together"
    if found.result not in (None, "float64", "float32", "int64", "bool"):
        yield f"`result` is {found.result!r}, not a type of numbers"
    yield from misplaced_partials(found)
    for form in found.derived:
        allowed = params | known_names(found, form)
        yield from (f"`{form}` takes {n!r}, which stands for nothing" for n in found.names(form) if n not in allowed)
        required = required_names(found, form)
        yield from (f"`{form}` does not take {n!r}" for n in sorted(required - set(found.names(form))))
    if found.shape is not None:
        yield from (f"`tape` takes {n!r}, no parameter" for n in parameters_of(found.shape) if n not in params)


def misplaced_partials(found: Rule) -> Iterable[str]:
    """What is wrong with `partials`."""
    if not found.partials:
        return
    if found.derived or found.changed or not found.has_slope:
        yield "`partials` are for functions that return a floating number, and write nothing, instead of a class"
    yield from (f"`partials` has none for {n!r}" for n in found.active if n not in found.partials)
    for name, function in found.partials.items():
        if name not in found.active:
            yield f"`partials` names {name!r}, which is not active"
        elif not isinstance(plain(function), FunctionType) or parameters_of(function) != found.params:
            yield f"the partial by {name!r} is no function of the same parameters"


def known_names(found: Rule, form: RuleForm) -> frozenset[str]:
    """What the function for `form` may take beside the parameters of the function itself."""
    match form:
        case "primal":
            return frozenset()
        case "forward":
            return frozenset((TAPE,))
        case "tangent":
            return frozenset(f"{p}_tan" for p in found.active)
        case "reverse":
            own = {f"{p}_adj" for p in found.active} | {f"{p}_out" for p in found.changed}
            kept = {TAPE} if found.shape is not None else set()
            return frozenset(own | kept | ({RESULT, f"{RESULT}_adj"} if found.result is not None else set()))


def required_names(found: Rule, form: RuleForm) -> frozenset[str]:
    """What it must take: else a derivative that comes in, or is asked for, would be lost."""
    match form:
        case "primal" | "forward":
            return frozenset(found.params) | known_names(found, form)
        case "tangent":
            return known_names(found, form) | found.changed
        case "reverse":
            is_lost = {f"{p}_adj" for p in found.active if p in found.changed}
            return frozenset(is_lost | ({f"{RESULT}_adj"} if found.has_slope else set()))
