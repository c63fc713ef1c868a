"""What threads may find wrong, and which kernels have to ask whether something is wrong before they begin."""

from __future__ import annotations

from loopdiff.backends.cuda.text.spelling import BY_ZERO, CHECKED, MODULO_ZERO, NEGATIVE_POWER, NEGATIVE_SHIFT
from loopdiff.ir import nodes as ir
from loopdiff.ir.walk import nodes_of, statements
from loopdiff.mapping.launches import Launch, Step, all_steps
from loopdiff.mapping.update_lists import most_updates

FAILURES = (
    (BY_ZERO, "ZeroDivisionError('integer division by zero')"),
    (MODULO_ZERO, "ZeroDivisionError('integer modulo by zero')"),
    (NEGATIVE_POWER, "ValueError('integers to negative integer powers are not allowed')"),
    (NEGATIVE_SHIFT, "ValueError('negative shift count')"),
)


def guarded(steps: tuple[Step, ...]) -> set[int]:
    """Kernels that may run after one found something wrong."""
    found: set[int] = set()
    is_after = False
    for step in steps:
        inside = [s for s in all_steps((step,)) if isinstance(s, Launch)]
        if is_after or (not isinstance(step, Launch) and any(map(may_fail, inside))):
            found |= {id(s) for s in inside}
        found |= {id(s) for s in inside if has_counted(s) and may_fail(s)}
        is_after = is_after or any(map(may_fail, inside))
    return found


def has_counted(launch: Launch) -> bool:
    """Whether another kernel counts the updates of one, which may find what is wrong before it."""
    lists = () if launch.grid is None else launch.grid.lists
    return any(most_updates(launch.body, n) is None for n in lists)


def may_fail(launch: Launch) -> bool:
    return any(
        isinstance(s.stmt, ir.Require) or any(isinstance(e, ir.Apply) and e.op in CHECKED for e in nodes_of(s.stmt))
        for s in statements(launch.body)
    )
