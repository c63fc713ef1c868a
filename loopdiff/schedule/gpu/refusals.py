"""What was asked of loops on a GPU and is not in the launch plan, in the words of the user's program."""

from __future__ import annotations

from loopdiff.analysis.legality import AnyOrder, violation
from loopdiff.analysis.ownership import owned_cells
from loopdiff.analysis.polyhedral.model import Model
from loopdiff.errors import ScheduleError, Span
from loopdiff.ir import nodes as ir
from loopdiff.ir.walk import Site, all_statements, statements
from loopdiff.mapping.launches import Launch, LaunchPlan, all_steps
from loopdiff.schedule.gpu.grid_mapper import GridMapper, Independence
from loopdiff.schedule.refusals import refuse_dependence, refuse_form, refuse_unblocked, refuse_unknown
from loopdiff.settings.requests import Requests, Wish

Key = tuple[str, Span]


def refuse_ungranted(model: Model, plan: LaunchPlan, dead: frozenset[str], requests: Requests) -> None:
    """Raise ScheduleError for `requests` for loops of the LoopSet of `model` that are not granted in `plan`: LD501 if a
    dependence forbids it, LD502 if there is no such loop, LD503 if a loop has no such form."""
    if not requests.items:
        return
    refuse_unknown(model.ls, requests)
    refuse_unblocked(model.ls, requests)
    launches = [s for s in all_steps(plan.steps) if isinstance(s, Launch)]
    granted = {
        "threads": {key(a.loop) for k in launches if k.grid is not None for a in k.grid.axes},
        "warp": {key(w.loop) for k in launches for w in k.warp_loops},
    }
    mapper = GridMapper(model, dead, True, requests)
    for site in statements(model.ls.body):
        loop = site.stmt
        if isinstance(loop, ir.Loop) and not any(isinstance(s, ir.Require) for s in all_statements(loop.body)):
            wish = mapper.wish(loop)
            if wish in granted and key(loop) not in granted[wish]:
                raise refusal(mapper, site, loop, wish)


def key(loop: ir.Loop) -> Key:
    return loop.index, loop.loc


def refusal(mapper: GridMapper, site: Site, loop: ir.Loop, wish: Wish) -> ScheduleError:
    """Why a loop is not what was asked for."""
    form = "threads" if wish == "threads" else "shared by the lanes of a warp"
    own = mapper.independence(loop, site.path)
    conflict = violation(mapper.model, AnyOrder(site.path, owned_cells(mapper.model, site.path)))
    if isinstance(own, str) and conflict is not None:
        return refuse_dependence(mapper.model, loop, conflict, mapper.requests, form)
    return refuse_form(loop, form, own if isinstance(own, str) else obstacle(own, site, wish), mapper.requests)


def obstacle(own: Independence, site: Site, wish: Wish) -> str:
    """What keeps a loop whose iterations are independent from being what was asked for."""
    if own.copies:
        return f"its iterations add to the same elements of {', '.join(f'`{n}`' for n in sorted(own.copies))}"
    if not site.loops:
        return "it is not inside of threads"
    outer = site.loops[-1].index
    if wish == "threads":
        return f"it is inside of `{outer}`, whose threads do something else, too, unless that is 'sequential'"
    return f"threads of `{outer}` list updates, check something, or have arrays of their own"
