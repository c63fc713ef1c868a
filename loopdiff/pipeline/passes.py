"""The passes of the compiler, in the order in which they run: the file to open first.

A pass gives loops anew: of a function, of both sweeps together, or of a plan of launches. The interpreter finds the
same results before and after it, up to the order of sums where the pass is not `exact`. `runner.py` runs passes,
`derive.py`, `cpu.py` and `cuda.py` say of what.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Literal

from loopdiff.backends.cpu.reserved import avoid_reserved_names
from loopdiff.canonical.compaction import without_compactions
from loopdiff.canonical.copied_reads import read_copies
from loopdiff.canonical.equal_extents import with_equal_extents
from loopdiff.canonical.forward_substitution import with_substitutions
from loopdiff.canonical.index_set_splitting import split_ranges
from loopdiff.canonical.induction_variables import without_counters
from loopdiff.canonical.invariant_motion import hoist
from loopdiff.canonical.like_terms import with_like_terms
from loopdiff.canonical.python_rounding import keep_decisions
from loopdiff.canonical.selection import merge_choices
from loopdiff.canonical.short_loops import with_short_written_out
from loopdiff.canonical.simplify import simplify
from loopdiff.canonical.single_assignment import normalize
from loopdiff.canonical.strong_products import choose_strong_products
from loopdiff.canonical.unused import drop_unused
from loopdiff.frontend.binding.complex_parts import split_complex
from loopdiff.immutable import immutable
from loopdiff.ir import nodes as ir
from loopdiff.model.machine import Machine
from loopdiff.passes.checks.bounds_checks import add_checks
from loopdiff.passes.checks.screening import screen
from loopdiff.passes.loops.coalesced import without_coalescing
from loopdiff.passes.loops.confined_dependences import split_at_dependences
from loopdiff.passes.loops.distribution import ascend, restructure, restructure_for_threads
from loopdiff.passes.loops.elementwise_fusion import fuse_elements
from loopdiff.passes.loops.factored_sums import factor_sums
from loopdiff.passes.loops.fill_fusion import fuse_with_fills
from loopdiff.passes.loops.fusion import fuse
from loopdiff.passes.loops.invariant_nests import hoist_nests
from loopdiff.passes.loops.matrix_streams import stream_matrices
from loopdiff.passes.loops.merged_updates import merge_updates
from loopdiff.passes.loops.owner_computes import gather_sums, gather_with_zeros
from loopdiff.passes.loops.separate_sums import separate_sums
from loopdiff.passes.loops.skewed_sums import skew_sums, skew_windows
from loopdiff.passes.loops.sum_registers import hold_sums
from loopdiff.passes.loops.sum_shapes import tidy_sums
from loopdiff.passes.loops.triangle_blocks import block_triangles
from loopdiff.passes.storage.copy_propagation import without_copies, without_whole_copies
from loopdiff.passes.storage.element_contraction import hold_elements
from loopdiff.passes.storage.first_writes import drop_zeros
from loopdiff.passes.storage.sum_initialisation import start_sums
from loopdiff.passes.storage.workspace import in_workspace, with_given_results
from loopdiff.passes.sweeps.zero_adjoints import leave_out_idle
from loopdiff.pipeline.both import with_last_kept, with_rows_in_blocks, with_sums_factored, with_tapes_aligned
from loopdiff.schedule.blocks.array_contraction import roll_rows
from loopdiff.schedule.blocks.row_blocks import block_for_threads
from loopdiff.schedule.blocks.sweeps import block_primal
from loopdiff.schedule.gpu.apart_sums import part_sums
from loopdiff.schedule.gpu.grid_fusion import fuse_grids
from loopdiff.schedule.gpu.list_initialisation import start_lists
from loopdiff.schedule.gpu.split_sums import split_sums
from loopdiff.schedule.gpu.thread_tiles import tile_launches
from loopdiff.schedule.gpu.update_isolation import isolate_updates
from loopdiff.schedule.gpu.warps import spread_over_warps
from loopdiff.settings.requests import NOTHING, Requests

Fusion = Literal["deep", "rows", "none"]


@immutable
class Context:
    """What passes ask about besides the loops.

    `fastmath`: sums may be reordered. `from_end`: negative subscripts count from there. `machine`: the processor; None
    for a GPU. `words`: the names in the user's text.
    `requests`: what is asked of loops, `asked` of those of both sweeps. `reader` goes on with the arrays that the
    function leaves; `dead` are arrays that nobody looks at before or after it, nor at the `forgotten` ones after it.
    `reserved`: names of what generated code calls, besides those of the CPU. `fusion`: nests, with the loops inside of
    them or not, or nothing. `may_start`: register tiles may start sums. `is_alone`: one thread
    runs all iterations, in whatever arrangement is best.
    """

    fastmath: bool = True
    from_end: bool = False
    machine: Machine | None = None
    words: frozenset[str] = frozenset()
    requests: Requests = NOTHING
    asked: tuple[Requests, Requests] = (NOTHING, NOTHING)
    reader: ir.LoopSet | None = None
    dead: frozenset[str] = frozenset()
    forgotten: frozenset[str] = frozenset()
    reserved: frozenset[str] = frozenset()
    fusion: Fusion = "deep"
    may_start: bool = True
    is_alone: bool = False


def always(_: Context) -> bool:
    return True


def of_nothing(_: Context) -> dict[str, Any]:
    return {}


@immutable
class Pass:
    """`run(loops, **asks(context))` gives the loops anew, or as they are where there is nothing to do.

    `exact`: the same bits come out; passes that are not run only where sums may be reordered. `when`: in which
    contexts it runs. `needed`: what follows relies on it, so that it cannot be left out.
    """

    name: str
    run: Callable[..., Any]
    asks: Callable[[Context], dict[str, Any]] = of_nothing
    exact: bool = True
    when: Callable[[Context], bool] = always
    needed: bool = False

    def runs(self, context: Context) -> bool:
        return (self.exact or context.fastmath) and self.when(context)

    @property
    def summary(self) -> str:
        """The first sentence of what the pass says of itself."""
        text = " ".join((self.run.__doc__ or "").split())
        return text.split(". ")[0].rstrip(".")


Passes = tuple[Pass, ...]

# From a bound LoopSet, which has the types of a call, to the normal one, which is differentiated.
LOWERING: Passes = (
    Pass("complex", split_complex, needed=True),
    Pass("normalize", normalize, lambda _: {"keeps_reads": True}, needed=True),
    Pass("extents", with_equal_extents),
    Pass("uncoalesce", without_coalescing),
    Pass("induction", without_counters),
    Pass("compactions", without_compactions),
    Pass("short-loops", with_short_written_out),
    Pass("decisions", keep_decisions, lambda c: {"is_strict": not c.fastmath}, needed=True),
    Pass("fold", simplify),
    Pass("checks", add_checks, lambda c: {"words": c.words, "from_end": c.from_end}, needed=True),
    Pass("substitute", with_substitutions),
    # What nothing uses goes only now: that it is read may be what a check is for.
    Pass("unused", drop_unused),
    Pass("split-ranges", split_ranges),
    Pass("simplify", simplify),
    Pass("hoist", hoist),
    Pass("hoist-nests", hoist_nests),
)

# Of a function whose sweeps are to be derived.
DIFFERENTIATED: Passes = (Pass("read-copies", read_copies),)

# Of a reverse sweep, as soon as it is known where its adjoints start.
REVERSE: Passes = (Pass("first-writes", drop_zeros, lambda c: {"dead": c.dead, "forgotten": c.forgotten}),)

# Of the function itself, where sums may be reordered.
PRIMAL: Passes = (
    Pass("row-blocks", block_primal, lambda c: {"requests": c.requests}, exact=False),
    Pass("factor", factor_sums, exact=False),
)

# Of both sweeps together, where sums may be reordered.
LAST: Passes = (Pass("last-taken", with_last_kept),)
BOTH_SWEEPS: Passes = (
    *LAST,
    Pass("row-blocks", with_rows_in_blocks, lambda c: {"asked": c.asked}, exact=False),
    Pass("factor", with_sums_factored, exact=False),
    Pass("layout", with_tapes_aligned),
)

# Of the value with its gradient as one function, while one sweep comes after the other.
GRADIENT: Passes = (Pass("whole-copies", without_whole_copies),)

# Of the same once loops of both sweeps run together.
ONE_PASS: Passes = (
    *PRIMAL,
    Pass("copies", without_copies),
    Pass("workspace", in_workspace, needed=True),
    Pass("given-results", with_given_results, needed=True),
)

# Of any function, for every target. Threads have strong products as they are, but for choices among what is there:
# those of a warp would wait for each other at a branch, and each for memory behind it.
TIDYING: Passes = (
    Pass("copies", without_copies),
    Pass("strong-products", choose_strong_products, lambda c: {"with_choices_only": c.machine is None}, needed=True),
    Pass("choices", merge_choices),
    Pass("screening", screen),
    Pass("names", avoid_reserved_names, lambda c: {"others": c.reserved}, needed=True),
)

# For processors: loops that become vectors and register tiles.
CPU_LOOPS: Passes = (
    *TIDYING,
    Pass("like-terms", with_like_terms, exact=False),
    Pass("sums", tidy_sums, exact=False),
    Pass("gather", gather_with_zeros, lambda c: {"machine": c.machine}, exact=False),
    Pass("split-dependences", split_at_dependences, lambda c: {"is_strict": not c.fastmath}),
    Pass("restructure", restructure, exact=False),
    Pass("skew-windows", skew_windows, exact=False),
    Pass("triangles", block_triangles, exact=False),
    Pass("ascend", ascend, lambda _: {"is_strict": True}, when=lambda c: not c.fastmath),
    Pass("stream-matrices", stream_matrices, exact=False, when=lambda c: c.is_alone),
)
CPU_FUSION: Passes = (
    Pass("fuse", fuse_with_fills, lambda c: {"is_strict": not c.fastmath}, when=lambda c: c.fusion == "deep"),
    Pass(
        "fuse-rows", fuse, lambda c: {"is_strict": not c.fastmath, "is_deep": False}, when=lambda c: c.fusion == "rows"
    ),
    Pass("fuse-elements", fuse_elements, lambda c: {"is_strict": not c.fastmath}, when=lambda c: c.fusion != "none"),
    Pass("starts", start_sums, exact=False, when=lambda c: c.may_start),
    Pass("idle", leave_out_idle, exact=False),
)
CPU_ELEMENTS: Passes = (
    Pass("held-elements", hold_elements, lambda c: {"reader": c.reader}),
    Pass("merge-updates", merge_updates, exact=False),
)
CPU_STORAGE: Passes = (Pass("rolling", roll_rows, lambda c: {"reader": c.reader}),)

# For GPUs: independent loops that become threads.
CUDA_BLOCKS: Passes = (
    Pass("row-blocks", block_for_threads, lambda c: {"dead": c.dead, "requests": c.requests}, exact=False),
)
CUDA_LOOPS: Passes = (
    *TIDYING,
    Pass("sums", tidy_sums, exact=False),
    Pass("gather", gather_sums, lambda _: {"machine": None}, exact=False),
    Pass("restructure", restructure_for_threads, exact=False),
    Pass("separate-sums", separate_sums, exact=False),
    Pass("skew-sums", skew_sums, exact=False),
    Pass("starts", start_sums, lambda _: {"in_tiles_only": False}, exact=False),
    Pass("ascend", ascend, lambda _: {"is_strict": True}, when=lambda c: not c.fastmath),
    Pass(
        "fuse-grids", fuse_grids,
        lambda c: {"dead": c.dead, "requests": c.requests, "may_reassociate": c.fastmath},
    ),
)  # fmt: skip
CUDA_MODEL: Passes = (
    Pass("part-sums", part_sums, lambda c: {"dead": c.dead, "requests": c.requests}, exact=False),
    Pass("isolate-updates", isolate_updates, lambda c: {"dead": c.dead, "requests": c.requests}, exact=False),
)
CUDA_LAUNCHES: Passes = (
    Pass("split-sums", split_sums, lambda c: {"requests": c.requests}, exact=False),
    Pass("held-sums", hold_sums),
    Pass("warps", spread_over_warps, lambda c: {"requests": c.requests, "may_reassociate": c.fastmath}),
    Pass("thread-tiles", tile_launches, lambda c: {"requests": c.requests}),
    Pass("started-lists", start_lists),
)
