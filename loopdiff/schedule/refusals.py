"""Requested mappings that cannot be granted, in the words of the user's program."""

from __future__ import annotations

from loopdiff.analysis.legality import Conflict
from loopdiff.analysis.polyhedral.events import Event
from loopdiff.analysis.polyhedral.model import Model
from loopdiff.errors import NOWHERE, Diagnostic, ScheduleError, Span
from loopdiff.errors.codes import reject
from loopdiff.ir import nodes as ir
from loopdiff.ir.printer import print_access
from loopdiff.ir.walk import loops_in
from loopdiff.mapping.lane_blocks import is_block_loop
from loopdiff.settings.requests import Requests
from loopdiff.source.words import in_user_words


def refuse_dependence(
    model: Model, loop: ir.Loop, conflict: Conflict, requests: Requests, form: str = "a vector"
) -> ScheduleError:  # fmt: skip
    """LD501: iterations of `loop` are wanted side by side, and depend on each other."""

    def place(event: Event, where: str) -> tuple[str, Span]:
        text = f"{'writes' if event.is_write else 'reads'} {print_access(event.access)}{where}"
        stmt = model.sites[event.path].stmt
        return in_user_words(text, requests.words), stmt.loc

    name, array = (in_user_words(n, requests.words) for n in (loop.index, conflict.array))
    message = f"`{name}` cannot be {form}: its iterations depend on each other through `{array}`"
    related = (place(conflict.first, ""), place(conflict.second, " in another iteration"))
    shown = tuple((text, loc) for text, loc in related if loc.line)
    return ScheduleError(reject("LD501", message, loop.loc, related=shown))


def refuse_form(loop: ir.Loop, wish: str, reason: str, requests: Requests) -> ScheduleError:
    """LD503: `loop` cannot become what is wished, for `reason`."""
    name, why = (in_user_words(text, requests.words) for text in (loop.index, reason))
    message = f"`{name}` cannot be {wish}: {why}"
    return ScheduleError(reject("LD503", message, loop.loc))


def refuse_unknown(ls: ir.LoopSet, requests: Requests) -> None:
    """Raise ScheduleError (LD502) for requests that name no loop of `ls`; blocks of rows are made of some."""
    loops = list(loops_in(ls.body))
    known = {r for p in loops for r in requests.matching(p.index, p.loc.line)}
    shown = dict.fromkeys(f"`{in_user_words(p.index, requests.words)}@{p.loc.line}`" for p in loops if p.loc.line)
    found: list[Diagnostic] = []
    for request in requests.items:
        if request not in known:
            message = f"the {request.sweep} sweep has no loop `{request.loop}`"
            hint = f"its loops are {', '.join(shown)}" if shown else "it has no loops"
            found.append(reject("LD502", message, NOWHERE, hint))
    if found:
        raise ScheduleError(*found)


def refuse_unblocked(ls: ir.LoopSet, requests: Requests) -> None:
    """Raise ScheduleError (LD503) for a loop that is wanted in blocks of rows and was not brought into such."""
    loops = list(loops_in(ls.body))
    blocked = {p.loc for p in loops if is_block_loop(p)}
    for loop in loops:
        if requests.rows(loop.index, loop.loc.line, 0) and loop.loc not in blocked:
            name = in_user_words(loop.index, requests.words)
            message = f"`{name}` cannot run in blocks of rows: they would make no matrix products of sums in any order"
            raise ScheduleError(reject("LD503", message, loop.loc))
