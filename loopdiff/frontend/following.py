"""One mistake, one message: what is said of a function without its structures, less what follows from the rejection of
one of these, in the words of the program."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence

from loopdiff.errors import Diagnostic, Span
from loopdiff.immutable import replace
from loopdiff.source.functions import SourceFunction
from loopdiff.source.nodes import syntax_children, syntax_nodes

WORD = re.compile(r"[A-Za-z_]\w*")
GIVEN = re.compile(r"\bgiven_(\w+?)(_\d+)?\b")
Line = tuple[str, int]


def of_their_own(
    findings: Sequence[Diagnostic],
    others: Iterable[Diagnostic],
    sources: Iterable[SourceFunction],
    spoken: Mapping[str, str],
) -> list[Diagnostic]:
    """Those of `others` that say something new beside `findings`: they are of no line that was rejected, nor of what is
    called there, nor of a line that reads what such a line computes. `spoken` are texts of the program for names."""
    known = list(sources)
    unknown = {(d.span.file, d.span.line) for d in findings}
    unknown |= {line for source in known for line in lines_behind(source, unknown)}
    words = {word for source in known for word in WORD.findall(source.text)}
    found = (d for d in others if not any((s.file, s.line) in unknown for s in places_of_calls(d.span)))
    own = {name: text for name, text in spoken.items() if name not in words}
    return [in_words_of(d, words, own) for d in found]


def places_of_calls(span: Span | None) -> Iterator[Span]:
    """A place, and those from which it is called."""
    while span is not None:
        yield span
        span = span.called_from


def lines_behind(source: SourceFunction, rejected: set[Line]) -> set[Line]:
    """Lines of a function that read what is computed in lines that were `rejected`, and so on."""
    file, names, found = source.home.file, set[str](), set[Line]()
    if not any(of == file for of, _ in rejected):
        return found
    parts = [(lines_of(n), n) for n in syntax_nodes(source.node) if isinstance(n, ast.stmt) and n is not source.node]
    before = -1
    while before < len(names) + len(found):
        before = len(names) + len(found)
        for lines, node in parts:
            here = {(file, line) for line in lines}
            inside = [n for part in own_parts(node) for n in syntax_nodes(part) if isinstance(n, ast.Name)]
            if any(n.id in names and isinstance(n.ctx, ast.Load) for n in inside):
                found |= here
            if here & (rejected | found):
                names |= {n.id for n in inside if isinstance(n.ctx, ast.Store)}
    return found


def lines_of(node: ast.stmt) -> range:
    """Lines of a statement, without those of the statements in it."""
    inner = getattr(node, "body", None)
    end = inner[0].lineno - 1 if inner else (node.end_lineno or node.lineno)
    return range(node.lineno, max(end, node.lineno) + 1)


def own_parts(node: ast.stmt) -> Iterator[ast.AST]:
    """What a statement computes and stores itself."""
    return (part for part in syntax_children(node) if not isinstance(part, ast.stmt))


def in_words_of(found: Diagnostic, words: set[str], spoken: Mapping[str, str]) -> Diagnostic:
    """A diagnostic that calls what got names, as classes, functions and parts of structures, as the program does."""

    def own(match: re.Match[str]) -> str:
        return match[0] if match[0] in words else match[1]

    message = WORD.sub(lambda match: spoken.get(match[0], match[0]), found.message)
    return replace(found, message=GIVEN.sub(own, message))
