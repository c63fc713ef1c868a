"""Tuning constants: from where on a transformation is worth it. Whether it may be done is a matter of dependences.

They were chosen on the kernels of `examples/bench`. Where a figure is given, it is what the transformation as a whole
gained when it came. Constants that depend on a machine (registers, caches, instructions) are in `model.machine`.
"""

from __future__ import annotations

# -- Vectors and register tiles of processors -------------------------------------------------------------------
LANES_GAIN = 2.5  # times as fast as in order that lanes around nests have to be: their code takes longer to compile
# Innermost loops of a long function, and times as fast as in order that vectors along an edge have to be in one: what
# they add to it takes longer to compile than they save.
LONG_PROGRAM, EDGE_GAIN = 24, 2.2
ROW_REGISTERS = 4  # registers for the elements of a row that iterations hand on
JAMMED_ROWS = (4, 2)  # rows that go together, the largest number first that has registers (stencils of 3 to 5 points)
JAM_SHARES = 0.25  # of what rows read and add to, that several of them have in common at least
STREAMED_ROWS, STREAMED_ROWS_ALONE = 4, 8  # of a matrix at once: 4000 x 4000, A @ p and r @ A: 15.4 to 5.7 ms
STREAMED_OPERATIONS = 6  # for an element of a matrix, at most, where memory takes the time
STREAMS_LOOK_AHEAD = 12  # statements among which another nest over the same matrix is looked for
TRIANGLE_ROWS = 32  # rows of a triangle that are products of matrices together, but for a small triangle
JAM_RESERVED = 4  # registers for constants and what is used at once

# -- Rows in blocks, fused rows, and where arrays lie -----------------------------------------------------------
ROLLED_ROWS = 16  # rows of a rolling buffer at most, which a first-level cache holds
TAPE_TRIPS = 32  # iterations of a loop, where tapes weigh which axis vectors run along
TAPE_ADVANTAGE = 2  # times as many accesses along another axis than the last, to be worth moving it
BLOCK_ROWS = 64  # rows of a block, where caches do not ask for fewer
REPEATED_OPERATIONS = 2  # sums and products that are computed again rather than kept for a block
FUSION_LAG = 2  # iterations that a fused loop is behind the one before: fdtd_2d 2.96 to 2.40 ms, hdiff 1.67 to 1.27 ms
FUSION_STREAMS = 12  # arrays of a fused loop: streams that a processor follows at once
ELEMENTWISE_NODES = 400  # of the expressions in a fused loop over elements
TERM_NODES = 200  # of an expression that is put where it is used, in terms of sums in gather form
EDGE_COLUMNS = 4  # columns at each end of a row that are written out
EDGE_ROWS = 4  # rows that begin at zero beyond those that something is added to
OPEN_AXES = 2  # axes that loops may leave a part of: each needs a nest of zeros

# -- Threads of processors --------------------------------------------------------------------------------------
THREAD_DISTANCE = 64  # iterations, in chunks that may wait for each other
WAITING_CHUNKS = 4  # times as many iterations as chunks need at least, where some of them wait
OVERLAP = 16  # iterations that a chunk begins earlier

# -- Schedules that are measured --------------------------------------------------------------------------------
PREDICTED_SCHEDULES = 8  # schedules that are predicted
PREDICTION_DOUBT = 3.0  # what is predicted to take longer by more than this factor is not worth a measurement
NEST_SHARE = 0.1  # of the predicted time that a nest takes, to be worth one

# -- Kernels ----------------------------------------------------------------------------------------------------
LAUNCH_ITERATIONS = 8  # iterations that are not worth a launch
WARP_ITERATIONS = 16  # iterations that a loop has at least that is worth the lanes of a warp
LONG_ROWS = 128  # the same where there are enough threads without: a cache has shorter rows for each of them
SUM_PARTS = 256  # parts of a sum
PART_TERMS = 64  # terms that a part has at least
ENOUGH_THREADS = 1 << 16  # threads that are enough, so that sums stay whole
FUSED_KERNELS_GAP = 4  # statements between nests that become one kernel
# Iterations of a thread along two axes, fewer along that of neighbours: elements that these read differ.
THREAD_TILES = ((4, 2), (2, 2))
THREAD_SUMS = 16  # sums that a thread keeps in registers at most
TILED_READS = 0.5  # of the reads that are left at most, for a tile to be worth it
FEW, FEW_SUMMED = 8, 4  # elements of rows at computed places that take less time one by one than in a masked vector

# -- What the sweeps keep ---------------------------------------------------------------------------------------
REPEATED_MEMORY = 0.9  # of the memory, for which `tape="auto"` runs iterations again
# Cycles of a recurrence that is run again: a tape takes fewer for an element, and nothing waits for it.
REPLAY_LATENCY = 20.0
# Strict sums and products in what is computed again: each takes an instruction more, of which a tape takes a few.
STRICT_OPERATIONS = 3
KEPT_CYCLES = 44.0  # cycles of an element in vector code that are as good as a number on the tape
RECORDED_VALUE = 1.1  # what a value that is recorded weighs: others may want what it is made of
HANDED_ON = 0.6  # and a local array that the reverse sweep reads: it is there, unless nests run row by row
AXIS_LENGTH = 100  # elements along an axis of a tape, where nothing is known of it
SHORT_AXES = 0.9  # how much an axis of a few elements counts: one array with it is filled faster than several without
SHORT_LENGTH = 3  # and along one of which programs mean only the first few elements
LIGHTER_BY = 0.01  # the share of a tape that copies of versions have to save
COPIED_WITH = 1.02  # what a copy that a loop makes with its reads weighs, for each element that it would record
COPIED_APART = 1.2  # and one that is a pass of its own
GATHERED_AGAIN = 0.4  # the share of a tape of gathered elements that a copy spares from which they are gathered again
COPIED_EDGES = 8  # elements at the ends of an axis that a whole copy has and loops do not read
COPIED_SURPLUS = 8  # elements of a whole copy for each that one of its readers reads
SEGMENTED_TRIPS = 16  # iterations of a loop that is run again in segments
