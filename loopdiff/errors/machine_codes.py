"""Codes of errors that no program is at fault for: of requested schedules, compilers, machines, and loopdiff."""

from __future__ import annotations

from typing import NamedTuple


class Code(NamedTuple):
    """One entry of the error index; `rewrite` is the hint a report gives unless it has a more precise one."""

    title: str
    explanation: str
    rewrite: str


MACHINE_CODES: dict[str, Code] = {
    # -- LD5xx: requested schedules ------------------------------------------------------------------------
    "LD501": Code(
        "iterations side by side that a dependence forbids",
        "`schedule` asks for lanes of vectors, or for threads, and one of them reads or overwrites what another one "
        "leaves. The report shows both places. Sums are no such dependence, unless `fastmath=False` keeps their order.",
        "ask for another loop; `explain` without `schedule` says which ones can be vectors, or threads",
    ),
    "LD502": Code(
        "requested loop that is not there",
        "`schedule` names a loop by an index, or by a line, that the sweep does not have.",
        "look up the loops of each sweep with `explain`",
    ),
    "LD503": Code(
        "loop that cannot be mapped as requested",
        "`schedule` asks for a vector of what has no vector form, for a register tile of what is no sum of "
        "products, for blocks of rows that nothing would be gained by, or for threads inside of others.",
        "leave the loop to the compiler",
    ),
    # -- LD6xx: back ends ----------------------------------------------------------------------------------
    "LD601": Code(
        "generated source that Numba cannot compile",
        "The report names the generated file and says what Numba made of it. The function itself is not at fault.",
        "please report it with the generated file",
    ),
    "LD602": Code(
        "CUDA toolchain not installed",
        "Kernels are compiled by numba-cuda, with NVIDIA's libraries from wheels. No GPU is needed for that.",
        "`pip install loopdiff[cuda]`",
    ),
    "LD603": Code(
        "construct that has no CUDA kernel",
        "Functions with rules are the caller's own, compiled for the CPU, and elements of float16 and bfloat16 are "
        "converted there only. Everything else that the CPU takes becomes kernels.",
        "write the body of the function in place of the call, or keep `target='cpu'`",
    ),
    "LD604": Code(
        "no GPU",
        "Kernels run where NVIDIA's driver finds a GPU. Elsewhere they can be compiled, read, and run on the CPU.",
        "`target='cuda-emulated'` runs the same kernels on the CPU",
    ),
    "LD605": Code(
        "function of the CUDA driver that failed",
        "The report names the function and the driver's number for the error. An error of an earlier kernel may show "
        "only then, and the process cannot use the GPU any more.",
        "start a new process; please report it if it happens again",
    ),
    "LD606": Code(
        "no memory left on the GPU",
        "Arrays of the call, those kept between the sweeps and those of single kernels do not fit together.",
        "`f.explain(...)` lists what is kept between the sweeps; `tape='recompute'` keeps less",
    ),
    "LD607": Code(
        "array too large for sums at places that the data choose",
        "Kernels sort what goes to such an array by the number of the element, in 32 bits: up to 2,147,483,646 "
        "elements, and as many updates by one nest.",
        "split the array, or keep `target='cpu'`",
    ),
    "LD608": Code(
        "arrays of the device that cannot be taken",
        "Calls, `grad`, `value_and_grad`, `vjp` and `jvp` take arrays that are all on the device, of real numbers, "
        "without copies, or all on the host.",
        "`loopdiff.cuda.to_device(x)` sends an array, `copy_to_host()` fetches it",
    ),
    "LD609": Code(
        "array of the device in another dtype or order",
        "Seeds, cotangents and directions on the device are copied as they are, and the memory that they go to has the "
        "dtype of the argument and its order.",
        "convert it with the library that it comes from",
    ),
    "LD610": Code(
        "not enough memory",
        "The system gives no memory for arrays between the sweeps, for gradients or for local arrays of the function.",
        "`tape='recompute'` keeps less between the sweeps, `memory_limit=` says how much that may be at most; "
        "`f.explain(...)` lists it",
    ),
    "LD611": Code(
        "nothing to draw with",
        "`f.plot_memory(...)` draws with matplotlib, which loopdiff does not need for anything else.",
        "`pip install matplotlib`",
    ),
    "LD612": Code(
        "no room for files",
        "Arrays between the sweeps are kept in files of the folder that `spill` names, and there they cannot be.",
        "give a folder with more room; `tape='recompute'` and `memory_limit=` keep less",
    ),
    # -- LD9xx: broken invariants inside loopdiff ----------------------------------------------------------
    "LD900": Code(
        "LoopSet that is not well formed",
        "A stage of the compiler left a LoopSet that breaks one of the rules every later stage relies on.",
        "please report it with the dump",
    ),
    "LD901": Code(
        "name used before its definition",
        "A stage of the compiler moved the use of a value in front of its definition.",
        "please report it with the dump",
    ),
    "LD902": Code(
        "reduction outside every region",
        "A `max` or `min` reduction has no loop in which its ties can be counted.",
        "please report it with the dump",
    ),
    "LD904": Code(
        "interpreter refused a LoopSet",
        "A subscript left its array, or arguments do not fit the declarations of the LoopSet.",
        "please report it with the dump",
    ),
    "LD905": Code(
        "operation without a scalar spelling",
        "The CPU backend does not know how to write an operation for operands of this type.",
        "please report it with the dump",
    ),
    "LD906": Code(
        "formula outside the affine view",
        "An analysis was given a formula that should have been an opaque dimension.",
        "please report it with the dump",
    ),
}
