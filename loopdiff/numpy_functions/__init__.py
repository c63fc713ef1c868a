"""Functions of NumPy as loops and formulas in Python, written out where they are called like any helper.

Each is the definition that NumPy's reference gives, for the arguments that it names. What it is called with is known
when it is written out: branches on ranks and on arguments left out are decided then. Parameters have NumPy's names.
"""

from __future__ import annotations

import math
import os
import sys
from collections.abc import Callable
from types import FunctionType
from typing import Any

import numpy as np

from loopdiff.numpy_functions import (
    building,
    counted,
    counting,
    elementwise,
    factors,
    linear_algebra,
    newer,
    placing,
    running,
    searching,
    sets,
    sorting,
    special,
    spectra,
    statistics,
    vectors,
)
from loopdiff.numpy_functions.series import bessel, fourier, polynomials


def of_newer_numpy() -> dict[Any, Any]:
    """Functions that NumPy has since its version 2."""
    found: dict[Any, Any] = {}
    for module, names in (
        (np, {"vecdot": newer.vecdot, "matvec": newer.matvec, "vecmat": newer.vecmat,
              "cumulative_sum": newer.cumulative_sum, "cumulative_prod": newer.cumulative_prod,
              "matrix_transpose": newer.matrix_transpose}),
        (np.linalg, {"vecdot": newer.vecdot, "matrix_transpose": newer.matrix_transpose, "cross": vectors.cross,
                     "outer": newer.outer,
                     "trace": newer.trace, "diagonal": newer.diagonal, "vector_norm": newer.vector_norm,
                     "matrix_norm": newer.matrix_norm, "svdvals": spectra.svdvals}),
    ):  # fmt: skip
        found |= {getattr(module, name): f for name, f in names.items() if hasattr(module, name)}
    return found


FOURIER = (
    "fft", "ifft", "rfft", "irfft", "hfft", "ihfft", "fft2", "ifft2", "fftn", "ifftn", "rfft2", "irfft2", "rfftn",
    "irfftn", "fftfreq", "rfftfreq", "fftshift", "ifftshift",
)  # fmt: skip
# By NumPy's own function.
WRITTEN: dict[Callable[..., Any], FunctionType] = {
    np.tri: building.tri,
    np.diag: building.diag,
    np.diagflat: building.diagflat,
    np.flipud: building.flipud,
    np.fliplr: building.fliplr,
    np.rot90: building.rot90,
    np.roll: building.roll,
    np.repeat: building.repeat,
    np.tile: building.tile,
    np.atleast_1d: building.atleast_1d,
    np.atleast_2d: building.atleast_2d,
    np.atleast_3d: building.atleast_3d,
    np.meshgrid: building.meshgrid,
    np.indices: building.indices,
    np.append: building.append,
    np.select: building.select,
    np.fill_diagonal: building.fill_diagonal,
    np.take: building.take,
    np.put: placing.put,
    np.take_along_axis: placing.take_along_axis,
    np.put_along_axis: placing.put_along_axis,
    np.apply_along_axis: placing.apply_along_axis,
    np.pad: building.pad,
    np.delete: building.delete,
    np.insert: building.insert,
    np.triu_indices: building.triu_indices,
    np.tril_indices: building.tril_indices,
    np.diag_indices: building.diag_indices,
    np.hanning: counted.hanning,
    np.hamming: counted.hamming,
    np.blackman: counted.blackman,
    np.bartlett: counted.bartlett,
    divmod: elementwise.divided,
    np.divmod: elementwise.divided,
    math.factorial: counted.factorial,
    math.comb: counted.comb,
    math.gcd: counted.gcd,
    math.prod: counted.prod,
    np.deg2rad: building.deg2rad,
    np.rad2deg: building.rad2deg,
    np.diff: running.diff,
    np.unwrap: running.unwrap,
    np.ediff1d: running.ediff1d,
    np.cumsum: running.cumsum,
    np.cumprod: running.cumprod,
    np.convolve: running.convolve,
    np.correlate: running.correlate,
    np.gradient: running.gradient,
    np.ptp: statistics.ptp,
    np.average: statistics.average,
    np.nansum: statistics.nansum,
    np.nanprod: statistics.nanprod,
    np.nanmean: statistics.nanmean,
    np.nanmax: statistics.nanmax,
    np.nanmin: statistics.nanmin,
    np.nanvar: statistics.nanvar,
    np.nanstd: statistics.nanstd,
    np.cov: statistics.cov,
    np.corrcoef: statistics.corrcoef,
    np.linalg.norm: vectors.norm,
    np.linalg.solve: linear_algebra.solve,
    np.linalg.inv: linear_algebra.inv,
    np.linalg.det: linear_algebra.det,
    np.linalg.slogdet: linear_algebra.slogdet,
    np.linalg.cholesky: linear_algebra.cholesky,
    np.linalg.matrix_power: linear_algebra.matrix_power,
    np.linalg.qr: factors.qr,
    np.linalg.lstsq: factors.lstsq,
    np.linalg.pinv: factors.pinv,
    np.polyfit: factors.polyfit,
    np.linalg.eigh: spectra.eigh,
    np.linalg.eigvalsh: spectra.eigvalsh,
    np.linalg.svd: spectra.svd,
    np.linalg.cond: spectra.cond,
    np.linalg.matrix_rank: spectra.matrix_rank,
    np.vdot: vectors.vdot,
    np.cross: vectors.cross,
    np.kron: vectors.kron,
    np.polyval: vectors.polyval,
    np.vander: vectors.vander,
    np.interp: searching.interp,
    np.searchsorted: searching.searchsorted,
    np.digitize: counting.digitize,
    np.bincount: counting.bincount,
    np.histogram: counting.histogram,
    np.sort: sorting.sort,
    np.argsort: sorting.argsort,
    np.median: sorting.median,
    np.quantile: sorting.quantile,
    np.percentile: sorting.percentile,
    np.flatnonzero: sets.flatnonzero,
    np.nonzero: sets.nonzero,
    np.argwhere: sets.argwhere,
    np.unique: sets.unique,
    np.isin: sets.isin,
    np.setdiff1d: sets.setdiff1d,
    np.intersect1d: sets.intersect1d,
    np.union1d: sets.union1d,
    np.logaddexp: elementwise.logaddexp,
    np.logaddexp2: elementwise.logaddexp2,
    np.sinc: elementwise.sinc,
    np.heaviside: elementwise.heaviside,
    np.nan_to_num: elementwise.nan_to_num,
    np.isclose: elementwise.isclose,
    np.allclose: elementwise.allclose,
    np.logspace: newer.logspace,
    np.geomspace: newer.geomspace,
    np.polyder: newer.polyder,
    np.polyint: newer.polyint,
    np.array_equal: newer.array_equal,
    np.linalg.multi_dot: newer.multi_dot,
    math.lcm: counted.exact_lcm,
    math.modf: elementwise.modf,
    np.gcd: counted.gcd_of_each,
    np.lcm: counted.lcm_of_each,
    np.positive: elementwise.positive,
    np.logical_xor: elementwise.logical_xor,
    np.signbit: elementwise.signbit,
    np.isposinf: elementwise.isposinf,
    np.isneginf: elementwise.isneginf,
    np.modf: elementwise.modf,
    np.iscomplexobj: elementwise.iscomplexobj,
    np.isrealobj: elementwise.isrealobj,
    np.iscomplex: elementwise.iscomplex,
    np.isreal: elementwise.isreal,
    np.array_equiv: elementwise.array_equiv,
    np.putmask: placing.putmask,
    np.place: placing.place_masked,
    np.compress: placing.compress,
    np.extract: placing.extract,
    np.choose: placing.choose,
    np.unravel_index: placing.unravel_index,
    np.ravel_multi_index: placing.ravel_multi_index,
    np.nanmedian: sorting.nanmedian,
    np.nanquantile: sorting.nanquantile,
    np.nanpercentile: sorting.nanpercentile,
    np.partition: sorting.partition,
    np.argpartition: sorting.argpartition,
    np.lexsort: sorting.lexsort,
    np.setxor1d: sets.setxor1d,
    np.nanargmax: statistics.nanargmax,
    np.nanargmin: statistics.nanargmin,
    np.nancumsum: statistics.nancumsum,
    np.nancumprod: statistics.nancumprod,
    np.histogram_bin_edges: counting.histogram_bin_edges,
    np.histogram2d: counting.histogram2d,
    np.triu_indices_from: building.triu_indices_from,
    np.tril_indices_from: building.tril_indices_from,
    np.diag_indices_from: building.diag_indices_from,
    np.i0: bessel.i0,
    np.kaiser: bessel.kaiser,
    np.polyadd: polynomials.polyadd,
    np.polysub: polynomials.polysub,
    np.polymul: polynomials.polymul,
    np.poly: polynomials.poly,
    **{getattr(np.fft, name): getattr(fourier, name) for name in FOURIER},
    **of_newer_numpy(),
    **{getattr(np, n): running.trapezoid for n in ("trapezoid", "trapz") if hasattr(np, n)},
}
METHODS = {n: getattr(np, n) for n in ("argsort", "cumsum", "cumprod", "nonzero", "repeat", "take")}  # of arrays
# By the name in `scipy.special`, which is not imported.
SPECIAL = {name: f for name, f in vars(special).items() if getattr(f, "__module__", "") == special.__name__}
SPECIAL |= {name: getattr(bessel, name) for name in ("i0", "i1", "j0", "j1", "ndtr", "log_ndtr", "erfinv")}
# What methods of ufuncs do, which go along the first axis where none is named.
REDUCED = {
    np.add: np.sum, np.multiply: np.prod, np.maximum: np.max, np.minimum: np.min, np.logical_and: np.all,
    np.logical_or: np.any, np.logaddexp: special.logsumexp,
}  # fmt: skip
GRIDS: dict[Any, Any] = {np.mgrid: building.mgrid, np.ogrid: building.ogrid}
ACCUMULATED = {
    np.add: running.cumsum, np.multiply: running.cumprod, np.maximum: running.accumulated_max,
    np.minimum: running.accumulated_min,
}  # fmt: skip
FOLDER = os.path.join(os.path.dirname(__file__), "")
# Parameters that are tuples or lists; what is given for others in such is an array.
ROWS = (
    "arrays", "axis", "shift", "reps", "pad_width", "condlist", "choicelist", "range", "dimensions", "axes", "s",
    "keys", "choices", "shape", "dims", "multi_index",
)  # fmt: skip


def is_of_numpy(file: str) -> bool:
    """Whether `file` is one of this folder."""
    return file.startswith(FOLDER)


def takes_arrays(function: Any) -> bool:
    """Whether `function` stands for one of NumPy, so that lists that it is given become arrays."""
    return any(function is f for f in (*WRITTEN.values(), *SPECIAL.values(), *placing.AT, *placing.REDUCED_AT.values()))


def written(value: Any) -> FunctionType | None:
    """The function in Python for a function of NumPy or `scipy.special`, if there is one."""
    name = getattr(value, "__name__", None)
    if name in SPECIAL and value is getattr(sys.modules.get("scipy.special"), name, None):
        return SPECIAL[name]
    try:
        return WRITTEN.get(value)
    except TypeError:  # unhashable: not a function
        return None
