"""Source text of a function as an `ast` node whose positions are those of the user's file.

An indented function (a method, a function in a function) is parsed under an `if` line put above it, so that
columns need no correction and strings over several lines keep their text. Functions typed in a REPL, in a
notebook cell, or made by `exec` work when their text is registered in `linecache`, as these tools do; at prompts
that do not, the history of the prompt is searched.
"""

from __future__ import annotations

import ast
import builtins
import inspect
import linecache
import sys
import tokenize
from collections import ChainMap
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from types import CodeType, FunctionType, ModuleType
from typing import Any, Final

from loopdiff.codes import reject
from loopdiff.errors import NOWHERE, Span, UnsupportedLoopError

MISSING: Final[Any] = object()
INNER_FUNCTION = ("__func__", "py_func", "__wrapped__")
LAMBDA = "<lambda>"
ANONYMOUS = "<string>"
NAME_OF_LAMBDAS = "anonymous"
LIBRARIES = ("numpy", "scipy", "numba", "jax", "torch")
SPECIAL_KINDS: tuple[tuple[Callable[[Any], bool], str], ...] = (
    (inspect.isgeneratorfunction, "a generator"),
    (inspect.isasyncgenfunction, "an asynchronous generator"),
    (inspect.iscoroutinefunction, "a coroutine"),
)


@dataclass(frozen=True, slots=True)
class SourceFunction:
    """A function and what its names mean.

    `node` is its definition, `text` the lines it came from, `namespace` closure over globals over builtins.
    `outer` are the values of names and dotted names from outside, as they were when the function was read.
    `called_from`: the call that the function is written out for.
    """

    name: str
    node: ast.FunctionDef
    text: str
    file: str
    first_line: int
    namespace: Mapping[str, Any]
    outer: Mapping[str, Any]
    signature: inspect.Signature
    code: CodeType
    called_from: Span | None = None

    def span(self, node: ast.AST) -> Span:
        """The region of `node`; columns in characters (`ast` counts bytes)."""
        line, column = getattr(node, "lineno", 0), getattr(node, "col_offset", 0)
        end_line = getattr(node, "end_lineno", None) or line
        end_column = getattr(node, "end_col_offset", None) or column
        if not self.text.isascii():
            column = characters(linecache.getline(self.file, line), column)
            end_column = characters(linecache.getline(self.file, end_line), end_column)
        return Span(self.file, line, column, end_line, end_column, self.called_from)


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
    """The Python function that a call of `value` runs; None for functions of libraries, and other objects."""
    if not callable(value) or isinstance(value, type):
        return None
    found = value if isinstance(value, FunctionType) else getattr(value, "py_func", None)
    is_own = isinstance(found, FunctionType) and str(found.__module__).split(".")[0] not in LIBRARIES
    return found if is_own else None


def source_of(func: Callable[..., Any]) -> SourceFunction:
    """The source of `func`; a lambda is a `def` with one `return`.

    Raises UnsupportedLoopError: LD100 when its text cannot be found, LD117 for generators and coroutines.
    """
    function = plain_function(func)
    code = function.__code__
    refuse_special(function)
    file, lines = source_lines(function, code)
    is_lambda = code.co_name == LAMBDA
    try:
        node, text = lambda_definition(lines, code) if is_lambda else block_definition(lines, code)
    except (SyntaxError, tokenize.TokenError):
        node, text = None, ""
    if node is None:
        span = Span(file, code.co_firstlineno, 0, code.co_firstlineno, 0)
        message = f"no `def` of `{code.co_name}` stands at {file}:{code.co_firstlineno}"
        if is_lambda:
            message = f"several lambdas stand at {file}:{code.co_firstlineno}, or none"
        raise UnsupportedLoopError(reject("LD100", message, span))
    namespace = namespace_of(function)
    return SourceFunction(
        NAME_OF_LAMBDAS if is_lambda else function.__name__, node, text, file, code.co_firstlineno,
        namespace, outer_values(node, namespace), inspect.signature(function), code,
    )  # fmt: skip


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
    message = f"the source of `{function.__name__}` is not available ({code.co_filename})"
    if lines and file == ANONYMOUS and not stands_in(lines, code):
        raise UnsupportedLoopError(reject("LD100", message, NOWHERE))
    if lines:
        return file, lines
    try:
        lines, _ = inspect.findsource(code)
    except (OSError, TypeError) as error:
        file, lines = typed_lines(code)
        if not lines:
            raise UnsupportedLoopError(reject("LD100", message, NOWHERE)) from error
    linecache.cache[file] = (sum(map(len, lines)), None, lines, file)
    return file, lines


def stands_in(lines: list[str], code: CodeType) -> bool:
    """Whether `code` is part of what `lines` compile to: Python 3.13 keeps the text of `python -c` under the name that
    all other text without a name has too.
    """
    try:
        inside = [compile("".join(lines), ANONYMOUS, "exec", dont_inherit=True)]
    except SyntaxError:
        return False
    for found in inside:
        inside += [c for c in found.co_consts if isinstance(c, CodeType)]
    return code in inside


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


def block_definition(lines: list[str], code: CodeType) -> tuple[ast.FunctionDef | None, str]:
    """The `def` that `code` comes from, and its text."""
    text = "".join(inspect.getblock(lines[code.co_firstlineno - 1 :]))
    return definition(text, code.co_name, code.co_firstlineno), text


def lambda_definition(lines: list[str], code: CodeType) -> tuple[ast.FunctionDef | None, str]:
    """The lambda that `code` comes from as a `def`, and the lines it stands in; None if that could be several."""
    tree = ast.parse("".join(lines))
    found = [n for n in ast.walk(tree) if isinstance(n, ast.Lambda) and n.lineno == code.co_firstlineno]
    if len(found) > 1:
        places = set(code.co_positions())
        ends = ((n, n.body) for n in found)
        found = [n for n, b in ends if (b.lineno, b.end_lineno, b.col_offset, b.end_col_offset) in places]
    if len(found) != 1:
        return None, ""
    return as_definition(found[0]), "".join(lines[found[0].lineno - 1 : found[0].end_lineno])


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


def namespace_of(function: FunctionType) -> Mapping[str, Any]:
    """What names mean inside `function`: closure variables, then globals, then builtins.

    Its own name means itself, as it will once the decorator that may be reading it has returned.
    """
    closure: dict[str, Any] = {}
    for name, cell in zip(function.__code__.co_freevars, function.__closure__ or (), strict=True):
        try:
            closure[name] = cell.cell_contents
        except ValueError:  # not assigned yet, as in a function that refers to itself
            continue
    name = function.__name__
    is_own = function.__qualname__ == name or (name in function.__code__.co_freevars and name not in closure)
    return ChainMap({name: function} if is_own else {}, closure, function.__globals__, dict(vars(builtins)))


def outer_values(function: ast.FunctionDef, namespace: Mapping[str, Any]) -> dict[str, Any]:
    """The values of all names and dotted names in `function` that have one outside it."""
    found: dict[str, Any] = {}
    for node in (n for statement in function.body for n in ast.walk(statement)):
        text = dotted_name(node)
        if text is not None and (value := outer_value(node, namespace)) is not MISSING:
            found[text] = value
    return found


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
    """The attribute of a module, class or plain record; MISSING if that would run code, or there is none."""
    if owner is MISSING or not (isinstance(owner, ModuleType) or is_plain_record(owner, attr)):
        return MISSING
    return getattr(owner, attr, MISSING)


def is_plain_record(owner: Any, attr: str) -> bool:
    """Whether reading `attr` runs no code of the owner: a class attribute or an instance field."""
    if isinstance(owner, type):
        return not isinstance(vars(owner).get(attr), property)
    fields = (*getattr(owner, "__dict__", ()), *getattr(type(owner), "__slots__", ()))
    return attr in fields or isinstance(owner, tuple)
