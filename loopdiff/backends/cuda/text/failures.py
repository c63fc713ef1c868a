"""What threads may find wrong, and which kernels have to ask whether something is wrong before they begin."""

from __future__ import annotations

from loopdiff.backends.cuda.text.spelling import BY_ZERO, CHECKED, MODULO_ZERO, NEGATIVE_POWER, NEGATIVE_SHIFT
from loopdiff.immutable import replace
from loopdiff.ir import nodes as ir
from loopdiff.ir.walk import all_statements, nodes_of
from loopdiff.mapping.launches import Launch, Step, all_steps, map_launches
from loopdiff.mapping.update_lists import most_updates

FAILURES = (
    (BY_ZERO, "ZeroDivisionError('integer division by zero')"),
    (MODULO_ZERO, "ZeroDivisionError('integer modulo by zero')"),
    (NEGATIVE_POWER, "ValueError('integers to negative integer powers are not allowed')"),
    (NEGATIVE_SHIFT, "ValueError('negative shift count')"),
)


def with_guards(steps: tuple[Step, ...]) -> tuple[Step, ...]:
    """`steps` with kernels that are guarded, as they may run after one found something wrong."""
    out: list[Step] = []
    is_after = False
    for step in steps:
        finds = any(may_fail(s) for s in all_steps((step,)) if isinstance(s, Launch))
        is_late = is_after or (finds and not isinstance(step, Launch))
        out += map_launches(lambda s, late=is_late: (replace(s, is_guarded=late or is_counted_first(s)),), (step,))
        is_after = is_after or finds
    return tuple(out)


def is_counted_first(launch: Launch) -> bool:
    """Whether another kernel counts the updates of one, and may find what is wrong before it."""
    lists = () if launch.grid is None else launch.grid.lists
    return any(most_updates(launch.body, n) is None for n in lists) and may_fail(launch)


def may_fail(launch: Launch) -> bool:
    return any(
        isinstance(s, ir.Require) or any(isinstance(e, ir.Apply) and e.op in CHECKED for e in nodes_of(s))
        for s in all_statements(launch.body)
    )
