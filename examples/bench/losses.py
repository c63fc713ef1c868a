"""The losses whose gradients the board measures: weighted sums of the outputs of kernels that return no number.

Written as a user of loopdiff writes a loss over a kernel, and as the forms for JAX and PyTorch sum theirs up.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from tests.corpus import dense, learning, recurrences, sparse, stencils, triangular


def tullio_bmm_rev(A, B, C, C_weight):
    dense.tullio_bmm_rev(A, B, C)
    return np.sum(C_weight * C)


def conv2d_bias(x, w, bias, out, out_weight):
    dense.conv2d_bias(x, w, bias, out)
    return np.sum(out_weight * out)


def depthwise_separable(x, dw, pw, bias, out, out_weight):
    dense.depthwise_separable(x, dw, pw, bias, out)
    return np.sum(out_weight * out)


def softmax(x, out, out_weight):
    learning.softmax(x, out)
    return np.sum(out_weight * out)


def attention(Q, K, V, out, out_weight):
    learning.attention(Q, K, V, out)
    return np.sum(out_weight * out)


def jacobi_2d(T, A, B, A_weight, B_weight):
    stencils.jacobi_2d(T, A, B)
    return np.sum(A_weight * A) + np.sum(B_weight * B)


def seidel_2d(T, A, A_weight):
    stencils.seidel_2d(T, A)
    return np.sum(A_weight * A)


def fdtd_2d(ex, ey, hz, fict, ex_weight, ey_weight, hz_weight):
    stencils.fdtd_2d(ex, ey, hz, fict)
    return np.sum(ex_weight * ex) + np.sum(ey_weight * ey) + np.sum(hz_weight * hz)


def hdiff(f, coeff, out, out_weight):
    stencils.hdiff(f, coeff, out)
    return np.sum(out_weight * out)


def vadv(utens_stage, u_stage, wcon, u_pos, utens, dtr, utens_stage_weight):
    stencils.vadv(utens_stage, u_stage, wcon, u_pos, utens, dtr)
    return np.sum(utens_stage_weight * utens_stage)


def cholesky(A, A_weight):
    triangular.cholesky(A)
    return np.sum(A_weight * A)


def syrk(alpha, beta, C, A, C_weight):
    triangular.syrk(alpha, beta, C, A)
    return np.sum(C_weight * C)


def durbin(r, y, y_weight):
    triangular.durbin(r, y)
    return np.sum(y_weight * y)


def spmv_csr(indptr, indices, vals, x, y, y_weight):
    sparse.spmv_csr(indptr, indices, vals, x, y)
    return np.sum(y_weight * y)


def weighted_histogram(radius, data, res, res_weight):
    sparse.weighted_histogram(radius, data, res)
    return np.sum(res_weight * res)


def hash_grid(x, table, res, out, out_weight):
    sparse.hash_grid(x, table, res, out)
    return np.sum(out_weight * out)


def bundle_adjustment(cams, X, w, obs, feats, reproj, werr, reproj_weight, werr_weight):
    sparse.bundle_adjustment(cams, X, w, obs, feats, reproj, werr)
    return np.sum(reproj_weight * reproj) + np.sum(werr_weight * werr)


def nbody(mass, pos, vel, dt, G, soft, KE, PE, KE_weight, PE_weight):
    recurrences.nbody(mass, pos, vel, dt, G, soft, KE, PE)
    return np.sum(KE_weight * KE) + np.sum(PE_weight * PE)


LOSSES: dict[str, Callable[..., Any]] = {
    f.__name__: f
    for f in (
        tullio_bmm_rev,
        conv2d_bias,
        depthwise_separable,
        softmax,
        attention,
        jacobi_2d,
        seidel_2d,
        fdtd_2d,
        hdiff,
        vadv,
        cholesky,
        syrk,
        durbin,
        spmv_csr,
        weighted_histogram,
        hash_grid,
        bundle_adjustment,
        nbody,
    )
}
