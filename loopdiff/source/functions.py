"""Source text of a function as an `ast` node whose positions are those of the user's file.

An indented function (a method, a function in a function) is parsed under an `if` line put above it, so that
columns need no correction and strings over several lines keep their text. Functions typed in a REPL, in a
notebook cell, or made by `exec` work when their text is registered in `linecache`, as these tools do; at prompts
that do not, the history of the prompt is searched, and texts that were handed over. Text that is not what Python
runs is refused.
"""

from __future__ import annotations

import ast
import builtins
import inspect
import linecache
import re
import sys
import tokenize
from collections import ChainMap
from collections.abc import Callable, Mapping, Sequence
from enum import Enum
from types import CodeType, FunctionType, ModuleType
from typing import Any

import numpy as np

from loopdiff.errors import NOWHERE, Diagnostic, Home, Span, UnsupportedLoopError
from loopdiff.errors.codes import reject
from loopdiff.immutable import immutable
from loopdiff.source.bytecode import is_run
from loopdiff.source.nodes import syntax_nodes
from loopdiff.source.parameters import is_method
from loopdiff.source.records import with_fields
from loopdiff.source.scopes import LIBRARIES, MISSING, bound_within, outer_uses, root_of

INNER_FUNCTION = ("__func__", "py_func", "__wrapped__")
# Words without which a text has none.
SHORT_FORMS = re.compile(
    r"\b(map|filter|eigh|svd|qr|slogdet|with|ndindex|ndenumerate|product|combinations|linspace|nan_to_num|fromkeys)\b"
    r"|\.append\(|\]\s*\*|\*\s*\[|\b(slice|where|nonzero|shape|size|list|tuple|sorted|deque|popleft|bincount)\s*\(|shape\s*[!=]=|:=|\)\s*[!=]=\s*\(|[=(,\[]\s*range\s*\(|\)\s*if\b|\bs_\["
)
LAMBDA = "<lambda>"
ANONYMOUS = "<string>"
NAME_OF_LAMBDAS = "anonymous"
SPECIAL_KINDS: tuple[tuple[Callable[[Any], bool], str], ...] = (
    (inspect.isgeneratorfunction, "a generator"),
    (inspect.isasyncgenfunction, "an asynchronous generator"),
    (inspect.iscoroutinefunction, "a coroutine"),
)


@immutable
class SourceFunction:
    """A function and what its names mean.

    `node` is its definition, `text` the lines it came from, `home` where they stand. `outer` are the values of names
    and dotted names from outside, as they were when the function was read: nothing else is known of the world. Those
    that are in `owners` only lead to others. `called_from`: the call that the function is written out for. `apart`:
    the structures that were given for parameters, where it was taken apart; those in `hidden` no caller gives. `lists`
    are names of lists that are none of these; `spoken` says for some which name reports have for them, `told` for
    others which variable says whether they have a value. By those in `unasked` nothing is differentiated unless `wrt`
    says so; by those in `if_floating`, although it does, where they are integers.
    """

    name: str
    node: ast.FunctionDef
    text: str
    home: Home
    outer: Mapping[str, Any]
    owners: frozenset[str]
    signature: inspect.Signature
    code: CodeType
    called_from: Span | None = None
    apart: tuple[tuple[str, Any], ...] | None = None
    hidden: frozenset[str] = frozenset()
    function: FunctionType | None = None
    lists: frozenset[str] = frozenset()
    spoken: tuple[tuple[str, str], ...] = ()
    told: tuple[tuple[str, str], ...] = ()
    unasked: frozenset[str] = frozenset()
    if_floating: frozenset[str] = frozenset()

    @property
    def used(self) -> dict[str, Any]:
        """Values from outside that the function may depend on, by name."""
        return {name: value for name, value in self.outer.items() if name not in self.owners}

    @property
    def values(self) -> list[Any]:
        """Values that the function may call or pass on: from outside, and those of its defaults."""
        defaults = [p.default for p in self.signature.parameters.values() if p.default is not p.empty]
        return [*self.used.values(), *defaults]

    def lines(self, first: int, last: int) -> list[str]:
        """Lines of the text by their numbers in the file."""
        return self.text.split("\n")[first - self.home.first_line : last + 1 - self.home.first_line]

    def span(self, node: ast.AST) -> Span:
        """The region of `node`; columns in characters (`ast` counts bytes)."""
        line, column = getattr(node, "lineno", 0), getattr(node, "col_offset", 0)
        end_line = getattr(node, "end_lineno", None) or line
        end_column = getattr(node, "end_col_offset", None) or column
        if not self.text.isascii() and line:
            lines = self.lines(line, end_line)
            column, end_column = characters(lines[0], column), characters(lines[-1], end_column)
        return Span(self.home.file, line, column, end_line, end_column, self.called_from, self.home)


def characters(line: str, byte_offset: int) -> int:
    return len(line.encode()[:byte_offset].decode(errors="ignore"))


def plain_function(func: Callable[..., Any]) -> FunctionType:
    """The Python function inside `func`: static and class methods, Numba dispatchers and wrappers are opened.

    Raises UnsupportedLoopError (LD100) for anything that is not written in Python.
    """
    seen: Any = func
    while not isinstance(seen, FunctionType):
        inner = next((getattr(seen, a) for a in INNER_FUNCTION if hasattr(seen, a)), None)
        if inner is None:
            name = getattr(func, "__name__", type(func).__name__)
            message = f"`{name}` is not a function written in Python"
            raise UnsupportedLoopError(reject("LD100", message, NOWHERE))
        seen = inner
    return seen


def python_function(value: Any) -> FunctionType | None:
    """The Python function that a call of `value` runs, or that says what it computes; None for other objects, functions
    of libraries among them."""
    module = str(getattr(value, "__module__", "")).split(".")[0]
    if isinstance(value, np.ufunc) or value is divmod or module in ("numpy", "scipy", "math"):
        from loopdiff.numpy_functions import written

        return written(value)
    if not callable(value) or isinstance(value, type):
        return None
    found = value if isinstance(value, FunctionType) else getattr(value, "py_func", None)
    is_own = isinstance(found, FunctionType) and str(found.__module__).split(".")[0] not in LIBRARIES
    return found if is_own else None


def is_of_library(function: FunctionType) -> bool:
    """Whether `function` comes with Python, or with a library whose functions are known by name."""
    return str(function.__module__).split(".")[0] in (*LIBRARIES, *sys.stdlib_module_names)


def source_of(func: Callable[..., Any]) -> SourceFunction:
    """The source of `func`; a lambda is a `def` with one `return`.

    Raises UnsupportedLoopError: LD100 when its text cannot be found, LD101 when Python runs something else, LD117 for
    generators and coroutines.
    """
    function = plain_function(func)
    code = function.__code__
    refuse_special(function)
    file, lines = source_lines(function, code)
    node, text = read_definition(lines, function)
    if node is None:
        raise UnsupportedLoopError(other_text(function, file))
    namespace, written = namespace_of(function), node
    node = in_long_form(node, namespace) if SHORT_FORMS.search(text) else node
    outer, owners = outer_values((written, node) if node is not written else (node,), namespace)
    name = NAME_OF_LAMBDAS if code.co_name == LAMBDA else function.__name__
    home = Home(file, code.co_firstlineno, node.name)
    signature = signature_of(function)
    unasked = frozenset(("self",)) if is_method(signature) else frozenset[str]()
    return SourceFunction(
        name, with_fields(node, outer), text, home, outer, owners, signature, code, function=function, unasked=unasked
    )


def in_long_form(function: ast.FunctionDef, namespace: ChainMap[str, Any]) -> ast.FunctionDef:
    """`function` without spellings that stand for others."""
    from loopdiff.source.comprehensions import with_comprehensions
    from loopdiff.source.error_states import without_error_states
    from loopdiff.source.lists.appended import with_appends_last
    from loopdiff.source.named.ranges import with_ranges
    from loopdiff.source.named.results import with_places
    from loopdiff.source.named.slices import with_slices
    from loopdiff.source.nested_loops import with_nests
    from loopdiff.source.other_names import with_own_names
    from loopdiff.source.walruses import without_walruses

    bound = bound_within(function)

    def value_of(called: ast.expr) -> Any:
        return MISSING if root_of(called) in bound else outer_value(called, namespace)

    long = without_error_states(without_walruses(with_comprehensions(function, namespace, bound), value_of), value_of)
    long = with_appends_last(with_slices(with_nests(with_ranges(long, value_of), value_of), value_of))
    return with_own_names(with_places(long, value_of), value_of)


def other_text(function: FunctionType, file: str) -> Diagnostic:
    """What is wrong where the text that stands in the place of `function` is not what Python runs."""
    code = function.__code__
    if file == ANONYMOUS:  # one name for all text without one
        return unavailable(function)
    span = Span(file, code.co_firstlineno, 0, code.co_firstlineno, 0)
    message = f"the text at {file}:{code.co_firstlineno} is not the `{function.__name__}` that Python runs"
    return reject("LD101", message, span)


def unavailable(function: FunctionType) -> Diagnostic:
    file = function.__code__.co_filename
    return reject("LD100", f"the source of `{function.__name__}` is not available ({file})", NOWHERE)


def signature_of(function: FunctionType) -> inspect.Signature:
    """The signature of `function` itself, whatever it says that it wraps."""
    bare = FunctionType(
        function.__code__, function.__globals__, function.__name__, function.__defaults__, function.__closure__
    )
    bare.__kwdefaults__ = function.__kwdefaults__
    return inspect.signature(bare)


def refuse_special(function: FunctionType) -> None:
    """Generators and coroutines have no single result."""
    line = function.__code__.co_firstlineno
    span = Span(function.__code__.co_filename, line, 0, line, 0)
    for test, kind in SPECIAL_KINDS:
        if test(function):
            hint = "store the values in an array" if kind == "a generator" else "write a plain `def`"
            raise UnsupportedLoopError(reject("LD117", f"`{function.__name__}` is {kind}", span, hint))


def source_lines(function: FunctionType, code: CodeType) -> tuple[str, list[str]]:
    """The file (or cell) that `code` comes from, and all its lines, registered so that reports can quote them."""
    file = code.co_filename
    linecache.checkcache(file)
    lines = linecache.getlines(file, function.__globals__)
    if lines:
        return file, lines
    try:
        lines, _ = inspect.findsource(code)
    except (OSError, TypeError) as error:
        file, lines = typed_lines(code)
        if not lines:
            from loopdiff.source.texts import texts_of

            given = (t for t in texts_of(code) if read_definition(t[1], function)[0] is not None)
            file, lines = next(given, (file, []))
        if not lines:
            raise UnsupportedLoopError(unavailable(function)) from error
    linecache.cache[file] = (sum(map(len, lines)), None, lines, file)
    return file, lines


def typed_lines(code: CodeType) -> tuple[str, list[str]]:
    """A name for them, and the lines in the history of the prompt that compile to `code`; no lines if none do.

    Python keeps the text of interactive statements only from 3.13 on.
    """
    readline: Any = sys.modules.get("readline")
    count = readline.get_current_history_length() if readline and code.co_filename == "<stdin>" else 0
    history = [f"{readline.get_history_item(k + 1) or ''}\n" for k in range(count)]
    for start in reversed(range(count)):
        if history[start].split("(")[0].split() != ["def", code.co_name]:
            continue
        first = start
        while first and history[first - 1].startswith("@"):
            first -= 1
        lines = inspect.getblock(history[first:])
        if compiles_to("".join(lines), code):
            return f"<stdin-{first + 1}>", lines
    return code.co_filename, []


def compiles_to(text: str, code: CodeType) -> bool:
    """Whether `text` is the definition of the function with `code`: the same instructions at the same places."""
    try:
        module = compile(text, code.co_filename, "exec", dont_inherit=True)
    except SyntaxError:
        return False
    return any(isinstance(c, CodeType) and c == code for c in module.co_consts)


def read_definition(lines: list[str], function: FunctionType) -> tuple[ast.FunctionDef | None, str]:
    """The definition of `function` in `lines` and its text; None if Python made it of something else."""
    is_lambda = function.__code__.co_name == LAMBDA
    try:
        return lambda_definition(lines, function) if is_lambda else block_definition(lines, function)
    except (SyntaxError, tokenize.TokenError):
        return None, ""


def block_definition(lines: list[str], function: FunctionType) -> tuple[ast.FunctionDef | None, str]:
    """The `def` of `function` and its text; None if another text stands there."""
    code = function.__code__
    text = "".join(inspect.getblock(lines[code.co_firstlineno - 1 :]))
    node = definition(text, code.co_name, code.co_firstlineno)
    if node is None:
        return None, text
    mangle(node, code.co_qualname)
    return (node if is_run(node, function) else None), text


def lambda_definition(lines: list[str], function: FunctionType) -> tuple[ast.FunctionDef | None, str]:
    """The lambda that `function` is as a `def`, and the lines it stands in; None if another text stands there."""
    code = function.__code__
    tree = ast.parse("".join(lines))
    found = [n for n in syntax_nodes(tree) if isinstance(n, ast.Lambda) and n.lineno == code.co_firstlineno]
    for node in found:
        mangle(node, code.co_qualname)
    found = [node for node in found if is_run(node, function)]
    if len(found) > 1:  # of lambdas that do the same, the one itself, for the sake of reports
        places = set(code.co_positions())
        ends = ((n, n.body) for n in found)
        exact = [n for n, b in ends if (b.lineno, b.end_lineno, b.col_offset, b.end_col_offset) in places]
        found = exact or found
    if not found:
        return None, ""
    return as_definition(found[0]), "".join(lines[found[0].lineno - 1 : found[0].end_lineno])


def mangle(node: ast.AST, qualname: str) -> None:
    """Give private names in `node` the class that they belong to, as Python does inside classes, which leaves functions
    their names."""
    owner = class_around(qualname).lstrip("_")
    for inner in syntax_nodes(node) if owner else ():
        for field in ("id", "attr", "arg", *(() if inner is node else ("name",))):
            name = getattr(inner, field, None)
            if isinstance(name, str) and name.startswith("__") and not name.endswith("__"):
                setattr(inner, field, f"_{owner}{name}")


def class_around(qualname: str) -> str:
    """The innermost class around the function of that qualified name; empty if there is none."""
    *parts, _ = qualname.split(".")
    while parts:
        if parts.pop() != "<locals>":
            return qualname.split(".")[len(parts)]
        parts.pop()
    return ""


def as_definition(node: ast.Lambda) -> ast.FunctionDef:
    """A lambda as a `def`."""
    body = ast.copy_location(ast.Return(node.body), node.body)
    empty = ast.parse(f"def {NAME_OF_LAMBDAS}(): pass").body[0]
    assert isinstance(empty, ast.FunctionDef)
    empty.args, empty.body = node.args, [body]
    return ast.copy_location(empty, node)


def definition(text: str, name: str, first_line: int) -> ast.FunctionDef | None:
    """The `def` of `name` that starts `text`, with line numbers counted from `first_line`."""
    is_indented = text[:1].isspace()
    tree = ast.parse(f"if 1:\n{text}" if is_indented else text)
    ast.increment_lineno(tree, first_line - (2 if is_indented else 1))
    body = tree.body[0].body if is_indented and isinstance(tree.body[0], ast.If) else tree.body
    found = body[0] if body else None
    return found if isinstance(found, ast.FunctionDef) and found.name == name else None


def namespace_of(function: FunctionType) -> ChainMap[str, Any]:
    """What names mean inside `function`: closure variables, then globals, then builtins.

    Its own name means itself, as it will once the decorator that may be reading it has returned. A closure variable
    that has no value yet means nothing (MISSING), whatever is called so elsewhere.
    """
    closure: dict[str, Any] = {}
    for name, cell in zip(function.__code__.co_freevars, function.__closure__ or (), strict=True):
        try:
            closure[name] = cell.cell_contents
        except ValueError:  # not assigned yet, as in a function that refers to itself
            closure[name] = MISSING
    name = function.__code__.co_name
    is_own = function.__code__.co_qualname == name or closure.get(name) is MISSING
    return ChainMap({name: function} if is_own else {}, closure, function.__globals__, dict(vars(builtins)))


def outer_values(
    texts: Sequence[ast.FunctionDef], namespace: ChainMap[str, Any]
) -> tuple[dict[str, Any], frozenset[str]]:
    """The values of all names and dotted names that come from outside a function, in any of the `texts` of it: what it
    is in its long form depends on names that stand in the short one only. And the names that only lead to others: of
    `settings.SCALE`, where it has a value, that is `settings`. What is `global`, whatever a function around calls so,
    is told apart."""
    found: dict[str, Any] = {}
    used: set[str] = set()
    for node, is_global in (use for text in texts for use in outer_uses(text)):
        mark, known = ("global ", ChainMap(*namespace.maps[2:])) if is_global else ("", namespace)
        names = ((f"{mark}{ast.unparse(n)}", outer_value(n, known)) for n in dotted_names(node))
        values = {name: value for name, value in names if value is not MISSING}
        found |= {name: value.copy() if type(value) is list else value for name, value in values.items()}
        used |= set(list(values)[:1])
    return found, frozenset(found.keys() - used)


def dotted_names(node: ast.expr) -> list[ast.expr]:
    """`node` and what it is an attribute of, the longest first."""
    return [node, *dotted_names(node.value)] if isinstance(node, ast.Attribute) else [node]


def dotted_name(node: ast.AST) -> str | None:
    """The text of a name or a dotted name; None for anything else."""
    match node:
        case ast.Name(id=name):
            return name
        case ast.Attribute(value=base, attr=attr):
            owner = dotted_name(base)
            return None if owner is None else f"{owner}.{attr}"
        case _:
            return None


def outer_value(node: ast.AST, namespace: Mapping[str, Any]) -> Any:
    """What a name or dotted name stands for; MISSING if that would run code of its owner, or there is nothing."""
    match node:
        case ast.Name(id=name):
            return namespace.get(name, MISSING)
        case ast.Attribute(value=base, attr=attr):
            return attribute_of(outer_value(base, namespace), attr)
        case _:
            return MISSING


def attribute_of(owner: Any, attr: str) -> Any:
    """The attribute of a module, class, plain record or member of an enumeration; MISSING if that would run code, or
    there is none."""
    is_plain = isinstance(owner, ModuleType) or is_of_member(owner, attr) or is_plain_record(owner, attr)
    if owner is MISSING or not is_plain:
        return MISSING
    return getattr(owner, attr, MISSING)


def is_of_member(owner: Any, attr: str) -> bool:
    """Whether `attr` is the value or the name of a member of an enumeration, whose class has no other use for it."""
    kinds = type(owner).__mro__ if isinstance(owner, Enum) else ()
    return attr in ("value", "name") and next((k for k in kinds if attr in vars(k)), None) is Enum


def is_plain_record(owner: Any, attr: str) -> bool:
    """Whether reading `attr` runs no code of the owner: a class attribute or an instance field."""
    if isinstance(owner, type):
        return not isinstance(vars(owner).get(attr), property)
    fields = (*getattr(owner, "__dict__", ()), *getattr(type(owner), "__slots__", ()))
    return attr in fields or isinstance(owner, tuple)
