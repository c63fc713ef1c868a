"""Initialisation of adjoints by the reverse sweep itself, for callers who have nothing to add to.

    sums                               pullback
                                       x_adj = zeros
    for i:                             for i:                             for i:
        x_adj[i] += 2.0 * z_adj[i]         x_adj[i] += 2.0 * z_adj[i]         x_adj[i] = 2.0 * z_adj[i]
        z_adj[i] = 0.0                     z_adj[i] = 0.0

What follows of it is left to `passes.storage.first_writes`, as in the third column: where every element is given its
value by one sum, the zeros are never written, and a cotangent that nobody asks back for is only read.
"""

from __future__ import annotations

from loopdiff.ad.tape.sweeps import SweepForm, Sweeps
from loopdiff.immutable import replace
from loopdiff.ir import nodes as ir
from loopdiff.ir.build import zero
from loopdiff.ir.walk import written_arrays


def start_adjoints(
    normal: ir.LoopSet, sweeps: Sweeps, wrt: tuple[str, ...], form: SweepForm
) -> tuple[ir.LoopSet, frozenset[str]]:
    """The reverse sweep in one of its forms, which are told apart by their names, and the buffers that nobody looks at
    after it."""
    reverse, buffers = sweeps.reverse, sweeps.buffers
    if form == "sums":
        return reverse, frozenset()
    is_given = written_arrays(normal.body) if form == "pullback" else frozenset()
    started = {b: p for p, b in buffers.items() if p not in is_given}
    arrays = tuple(
        with_shape(a, started[a.name], started[a.name] in wrt) if a.name in started else a for a in reverse.arrays
    )
    fills = tuple(ir.Allocate(d.name, zero(d.type.element)) for d in arrays if d.name in started and d.type is not None)
    seeds = (s for s in sweeps.seeds if reverse.has_array(s))
    forgotten = frozenset((*seeds, *(b for p, b in buffers.items() if p not in wrt)))
    name = f"{reverse.name}_{form}"
    return replace(reverse, name=name, arrays=arrays, body=(*fills, *reverse.body)), forgotten


def with_shape(buffer: ir.ArrayDecl, argument: str, is_gradient: bool) -> ir.ArrayDecl:
    """The declaration of a buffer that is filled here: its shape is known to be that of the argument."""
    assert buffer.type is not None
    extents = tuple(ir.Dim(argument, k) for k in range(buffer.type.rank))
    return replace(buffer, role="gradient" if is_gradient else "adjoint", extents=extents)
