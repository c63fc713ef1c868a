"""Scalar replacement in kernels: an element that all iterations of a thread's loop add to stays in a register.

    for k in range(K):                          if 0 < K:
        C[m, n] += A[m, k] * B[k, n]                total = C[m, n]
                                      becomes       for k in range(K):
                                                        total += A[m, k] * B[k, n]
                                                    C[m, n] = total

What starts at zero right before the loop is not read. The additions are the same, in the same order. A compiler does
that itself where it can prove that no two arrays overlap, which for arguments of a kernel it cannot.
"""

from __future__ import annotations

from dataclasses import replace

from loopdiff.ir.names import supply
from loopdiff.mapping.launches import LaunchPlan, map_launches
from loopdiff.passes.loops.sum_registers import SumHolder


def hold_sums(plan: LaunchPlan) -> LaunchPlan:
    """`plan` with the sums of its threads in cells of their own."""
    holder = SumHolder(plan.ls, supply(plan.ls), [])
    steps = map_launches(lambda launch: (holder.launch(launch),), plan.steps)
    if not holder.cells:
        return plan
    return replace(plan, ls=replace(plan.ls, arrays=(*plan.ls.arrays, *holder.cells)), steps=steps)
