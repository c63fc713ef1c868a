"""What is accepted of arrays, as data: the rows of the language table from making arrays to functions of NumPy."""

from __future__ import annotations

from loopdiff.immutable import immutable


@immutable
class Construct:
    """One row of the language table."""

    name: str
    example: str
    since: str
    note: str = ""


ARRAYS: tuple[Construct, ...] = (
    Construct(
        "np.empty, zeros, ones, full, ndarray",
        "M = A.shape[0]\nt = np.zeros((M, n + 1), dtype=np.float32)\nt[0, n] = s\nx[0] = t[0, n]",
        "0.1",
        "Extents follow from shapes, integer arguments and elements of arguments that are not written. Elements of "
        "float16 and bfloat16 are loaded as float32, and rounded where they are stored.",
    ),
    Construct(
        "np.array of lists",
        "R = np.array([[np.cos(s), -np.sin(s)], [np.sin(s), np.cos(s)]])\ny[:2] = R @ x[:2]\n"
        "A[:2] = np.array([x[:5], 2.0 * x[:5]])\nA[2:4] = np.array([[s] * A.shape[1], [x[0]] * 4 + [s]])",
        "0.1",
        "The lists are written out, `[a, b] * n` and `[a] * n + [b]` in them, too; their elements are numbers, or "
        "arrays of one shape. Functions of NumPy take such lists for arrays, and so do operators beside an array.",
    ),
    Construct(
        "np.array, stack, concatenate of a comprehension",
        "R = np.array([np.sin(r) * r[k] for k, r in enumerate(A)])\ny[:5] = R[0] + np.stack([r * r for r in A])[:, 1]\n"
        "A[:2] = np.vstack([s * r for r in A])[:2] + np.array([[v, 1.0, s, v, v] for v in x[:2]])\n"
        "y[:4] = np.concatenate([r[:2] for r in A[:2]])",
        "0.1",
        "Also hstack and column_stack. Its elements have one shape, which follows from those of arguments.",
    ),
    Construct(
        "np.arange, tri, diag, diagflat, diagonal",
        "y[:5] = np.arange(5) * np.diagonal(A)\nA[:] = np.tri(5) + np.diag(x[:4], 1)",
        "0.1",
        "`arange` of integers or of floats. Most of these and of the next seven rows are written out: "
        "`loopdiff/numpy_functions`.",
    ),
    Construct(
        "np.meshgrid, mgrid, ogrid, indices, atleast_1d, append, dstack, pad, select, take, fill_diagonal",
        "X, Y = np.meshgrid(x[:5], y[:5])\nI, J = np.indices(A.shape)\nA[:] = X * Y + I - J\nnp.fill_diagonal(A, s)\n"
        'y[:] = np.select([x > s, x > 0.0], [x, 2.0 * x], s) + np.pad(A[0], (1, 2), mode="edge")',
        "0.1",
        "Grids and indices of up to three axes. `pad` of vectors and matrices: constant, edge, wrap, reflect or "
        "symmetric. `select` of up to three choices.",
    ),
    Construct(
        "np.split, array_split, delete, insert, block, triu_indices, diag_indices, hanning",
        "a, b = np.split(x[:6], 2)\np, q = np.array_split(y, [n])\ny[:4] = np.insert(a * b, -1, s)\n"
        "B = np.block([[A, x[:5, None]], [np.delete(x[:7], n)]])\nB[np.diag_indices(5)] += s\n"
        "i, j = np.triu_indices(5, 1)\ny[0] = B[i, j].sum() * np.hanning(6)[2] + q[0] * p[1]",
        "0.1",
        "Also tril_indices; hamming, blackman, bartlett, kaiser. How many parts there are is known. `delete` and "
        "`insert` take one place in a vector or a matrix.",
    ),
    Construct(
        "math.factorial, comb, gcd, prod",
        "y[0] = s**n / math.factorial(n) + math.comb(5, n) * math.gcd(12, n) * math.prod(x)",
        "0.1",
        "What does not fit in 64 bits raises ArgumentError (LD332).",
    ),
    Construct(
        "np.flipud, fliplr, rot90, roll, repeat, tile",
        "y[:] = np.roll(x, 1)\nA[:] = np.rot90(A)\ny[:6] = np.repeat(x[:3], 2)\n"
        "B = np.tile(np.repeat(x[:4].reshape(1, 2, 2), n, axis=1), (2, 1, 2))\ny[6] = B[1, 3, 2] * s",
        "0.1",
        "Repeated so often that it is the same for all elements; `roll` along several axes, `repeat` of up to four, "
        "`tile` of up to three.",
    ),
    Construct(
        "np.diff, ediff1d, unwrap, cumsum, cumprod, convolve, correlate, gradient, trapezoid, interp, searchsorted",
        "y[1:] = np.diff(x)\ny[:] = np.cumsum(x)\ny[0] = np.trapezoid(x) + np.interp(s, np.cumsum(x * x), y)\n"
        "y[1:] += np.unwrap(6.0 * x)[1:]",
        "0.1",
        "Along any axis where NumPy has one; `gradient` gives a tuple for a matrix, or two axes.",
    ),
    Construct(
        "np.sort, argsort, median, quantile, percentile, histogram, bincount, digitize",
        "y[:] = np.sort(x)[np.argsort(y)] + np.median(x)\nA[0].sort()\nx[:3] = np.histogram(x, 3, weights=y)[0]\n"
        "idx[:] = np.digitize(y[:6], np.sort(x)) + np.bincount(idx, minlength=9)[:6]",
        "0.1",
        "Of vectors and matrices, `quantile` of up to three axes, linear; NaN is greatest. Values carry the "
        "derivative, places none. Equal numbers stay in their order. `bincount` needs a `minlength` above every "
        "element, but where these are written out, and has the type of its weights also where there are none (in NumPy "
        "integers then); the bins of `digitize` ascend (LD332).",
    ),
    Construct(
        "np.ptp, average, cov, corrcoef, nansum, nanmean, linalg.norm, vdot, cross, kron, polyval, vander, logaddexp, "
        "sinc, heaviside, nan_to_num, isclose, allclose, deg2rad, rad2deg",
        "y[0] = np.linalg.norm(A) + np.logaddexp(x, s).sum()\ny[:3] = np.cross(x[:3], y[:3])",
        "0.1",
        "Norms of vectors, along an axis, and of matrices. Also nanprod, nanmax, nanmin, nanvar and nanstd.",
    ),
    Construct(
        "functions of scipy.special",
        "y[:] = special.expit(x) * special.logsumexp(A, axis=1)[0] + special.xlogy(x * x, abs(y))",
        "0.1",
        "expit, logit, log_expit, softplus, softmax, log_softmax, logsumexp, xlogy, xlog1py, entr, rel_entr, kl_div; "
        "i0, i1, j0, j1, ndtr, log_ndtr, erfinv, exprel; comb and binom of an integer `k`; and erf, erfc, gamma, "
        "gammaln, digamma, cbrt, exp2, expm1, log1p. `xlogy` and its like are zero, with their derivative, where the "
        "first number is zero and the logarithm has no value.",
    ),
    Construct(
        "np.linalg.solve, inv, det, slogdet, cholesky, matrix_power",
        "y[:5] = np.linalg.solve(A, x[:5])\nB = np.linalg.cholesky(A @ A.T)\ny[0] = np.linalg.slogdet(B)[1]",
        "0.1",
        "Of matrices and stacks of them, real and complex; by elimination, also where LAPACK would be faster for more "
        "than some hundred rows. A matrix that is exactly singular, or not positive definite, raises ArgumentError "
        "(LD332), which is a ValueError as LinAlgError is. `cholesky` reads the lower triangle, which alone has a "
        "derivative. Derivatives of `det` hold for singular matrices too, up to the second.",
    ),
    Construct(
        "np.linalg.qr, lstsq, pinv",
        "Q, R = np.linalg.qr(A[:, :3])\ny[:5] = Q @ R[:, 0] + np.linalg.pinv(A[:, :3])[0]\n"
        "y[:3] += np.linalg.lstsq(A[:, :3], x[:5], rcond=None)[0]",
        "0.1",
        "Of one real matrix, tall or wide; `qr` with `mode` 'reduced' or 'r', and LAPACK's signs. Where a column is "
        "zero below the diagonal, at which LAPACK's sign changes, the derivative is that of a sign that stays. That "
        "of a column that depends on those before it does not exist: it is infinite, NaN, or what rounding makes it. "
        "`lstsq` and `pinv` take matrices of full rank (LD332) and no `rcond`; instead of singular values `lstsq` "
        "gives None. So does `np.polyfit(x, y, deg, w=w)`, which gives coefficients alone.",
    ),
    Construct(
        "np.linalg.eigh, eigvalsh, svd, svdvals, cond, matrix_rank",
        "w, V = np.linalg.eigh(A[:3, :3])\nU, S, Vh = np.linalg.svd(A[:, :3], full_matrices=False)\n"
        "y[:3] = V @ w * S / np.linalg.cond(A[:, :3])\ny[0] += np.linalg.norm(A, 'nuc')",
        "0.1",
        "Also `r = np.linalg.eigh(A)`, then `r.eigenvalues`, and so of `qr`, `svd` and `slogdet`. Of one real matrix, "
        "by LAPACK, with its signs: SciPy has to be installed, and GPUs have none. `eigh` reads the lower triangle, "
        "which alone has a derivative; a matrix that is not square takes `full_matrices=False`. Derivatives are exact "
        "up to the fifth. Those of vectors do not exist where values are equal: they are infinite or NaN. Values alone "
        "have theirs there as far as they are smooth, as in sums of all.",
    ),
    Construct(
        "np.vecdot, matvec, vecmat, cumulative_sum, multi_dot, logspace, geomspace, polyder, polyint, array_equal",
        "y[:5] = np.cumulative_sum(x[:5]) * np.linalg.multi_dot([A, A.T, x[:5]]) + np.geomspace(1.0, 2.0 + s * s, 5)\n"
        "y[0] = np.vecdot(x, x) + np.polyval(np.polyder(x[:4]), s) + np.array_equal(x, y) * np.logspace(0.0, s, 3)[1]",
        "0.1",
        "Also matrix_transpose, cumulative_prod, and in np.linalg cross, outer, matmul, trace, "
        "diagonal, vector_norm, matrix_norm, as far as the NumPy that is installed has them.",
    ),
    Construct(
        "np.fft.fft, ifft, rfft, irfft, fft2, fftn, fftfreq, fftshift",
        "z = np.fft.rfft(x) * np.exp(-s * np.fft.rfftfreq(8) ** 2)\ny[:] = np.fft.irfft(z) + np.fft.fftshift(x)",
        "0.1",
        "Also ifft2, ifftn, hfft, ihfft, rfft2, irfft2, rfftn, irfftn, rfftfreq, ifftshift; up to three axes of four. "
        "In O(n log n) for every length: by radix 4 for powers of two, where it takes two to three times as long as "
        "NumPy's (1024), or four to six times (256 x 256), and by convolution for others (997: three times, 1000: ten "
        "times). `rfft` computes the whole transform. Gradients take about three times as long as values.",
    ),
    Construct(
        "np.nonzero, where, unique, isin, setdiff1d",
        "k = np.where(x > s)[0]\ny[0] = x[k].sum() * len(k)\nfor i, j in np.argwhere(A > s):\n    y[1] += A[i, j]\n"
        "names, counts = np.unique(idx, return_counts=True)\n"
        "y[0] += counts @ names\nfor v in np.setdiff1d(idx, [1, 2]):\n"
        "    y[2] += x[: len(idx)][idx == v].sum()\ny[3] = x[np.isin(x, y)].sum()",
        "0.1",
        "Also flatnonzero, intersect1d and union1d. How many elements these give is known when it runs; arrays of that "
        "size stay inside the function, and `union1d` takes arrays of other sizes. `np.where` of a condition alone "
        "and `nonzero` are of vectors and matrices. Of what is equal, the first carries the derivative.",
    ),
    Construct(
        "np.choose, compress, extract, putmask, place, unravel_index, lexsort, partition, nanmedian, histogram2d",
        "y[:6] = np.choose(idx % 2, [x[:6], s])\ni, j = np.unravel_index(np.argmax(A), A.shape)\n"
        "np.putmask(x, x > s, y)\n"
        "y[0] = np.compress(x > 0.0, x).sum() + A[i, j] * np.gcd(12, idx).sum() + np.modf(s)[0] + np.nanmedian(A)\n"
        "y[1:7] += x[np.lexsort((x[:6], idx))] + np.polymul(1.5 + x[:3] ** 2, 2.0 + y[:4] ** 2)",
        "0.1",
        "Also argpartition, which sorts all, as `partition` does, ravel_multi_index, gcd, lcm, modf, positive, "
        "logical_xor, signbit, isposinf, isneginf, iscomplex, isreal, iscomplexobj, isrealobj, array_equiv, "
        "nanquantile, nanpercentile, nanargmax, nanargmin, nancumsum, nancumprod, setxor1d, histogram_bin_edges, "
        "triu_indices_from, tril_indices_from, diag_indices_from, poly, polyadd, polysub, math.lcm and math.modf. "
        "`choose` of two to four choices, `histogram2d` of one number of bins, or edges, for both axes; `polymul` of "
        "first coefficients that are not zero (LD332).",
    ),
    Construct(
        "np.r_, np.c_",
        "y[:] = np.r_[s, x[:4], 0:2, x[-1]]\nA[:, :3] = np.c_[x[:5], y[:5], np.ones(5)]",
        "0.1",
        "Numbers, arrays and slices as of `np.mgrid`; no texts that name axes.",
    ),
    Construct(
        "np.empty_like and friends",
        "t = np.ones_like(x)\ny[0] = t[n] + np.full_like(s, 2.0)",
        "0.1",
        "Of a number, too: an array without axes, which names that are assigned one another may not change in place "
        "(LD123).",
    ),
    Construct(
        "array allocated in a loop",
        "for i in range(n):\n    t = np.zeros(n)\n    t[i] = x[i]\n    y[i] = t[0] + t[i]",
        "0.1",
    ),
    Construct(
        "another name for an array",
        "z = x\nz[0] = 1.0",
        "0.1",
        "A computed array has the type of what it is made of, and what is stored in it later is converted.",
    ),
    Construct(
        "names for several arrays",
        "u, v = x, y\nfor t in range(n):\n    v[1:-1] = u[2:] + s * u[:-2]\n    u, v = v, u\nz = u if s > 1.0 else v\n"
        "z[0] = 1.0",
        "0.1",
        "Which of several arrays a name stands for is followed where one of them is written: at most 8 combinations.",
    ),
    Construct(
        "arrays bound in branches and loops",
        "if n > 2:\n    X = 2.0 * x\nelse:\n    X = np.zeros_like(x)\n"
        "for k in range(n):\n    if X[k] > s:\n        break\n    X = X + 0.1 * y\ny[:] = X",
        "0.1",
        "As names of numbers, in branches, loops, `while`, helpers and `a if c else b`. A name gets memory of its own "
        "where the arrays have one shape and type and nobody can tell a copy from them; whether extents of arguments "
        "are equal, or a number such as that of `np.eye(3)`, a call says. Loops check the shape where it is the same "
        "if the arrays are large, as that of `np.convolve(X, w, 'same')` (LD320 else).",
    ),
    Construct(
        "numbers that become arrays",
        "t = 0.0\nfor i in range(5):\n    t = t + s * A[i]\ny[0] = t.max() + sum(2.0 * r for r in A)[0]",
        "0.1",
        "What an array alone can do is checked: a name that is still a number there raises ArgumentError (LD331).",
    ),
    Construct(
        "slices and views",
        "v = x[1:-1]\nv[0] = s\ny[n:] = x[::-2]\nw = v[1:]\nw[-1] += v[n]",
        "0.1",
        "Basic slices with any bounds and constant steps are views: writes go through, also under other names.",
    ),
    Construct(
        "sizes that loops change",
        "m = len(x)\nwhile m > 1:\n    h = m // 2\n    half = np.zeros(h)\n    half[:] = x[:h] + x[m - h : m]\n"
        "    y[0] += half.sum()\n    m = h",
        "0.1",
        "What loops only divide, or what their condition bounds as in `while size <= n`, and `2**k` of such.",
    ),
    Construct(
        "names whose arrays loops resize",
        "w = s * x\nwhile len(w) > 1:\n    w = 0.5 * (w[1:] + w[:-1])\nfor v in y:\n    if v > s:\n"
        "        w = np.append(w, v * w[0])\ny[0] = w.sum() * len(w)",
        "0.1",
        "They become shorter by slices, masks and steps, or longer by what is known at entry, in loops that run at "
        "most so often: `np.append`, `np.concatenate`, `np.convolve`; also in turns, `a, b = b, np.append(a, s)`, and "
        "while there are elements, `while len(a) > 0 and len(b) > 0`, of which each iteration takes some away, "
        "`a = a[1:]`. Where all iterations do the same, the function may return them. To any other shape, as by "
        "`np.repeat(w, 2)`, in loops of up to 16 iterations, by ranges of numbers and without jumps.",
    ),
    Construct(
        "names for slices",
        "some = slice(1, n)\ninner = np.s_[1:-1]\ncolumn = (slice(None), n)\n"
        "y[inner] += s\ny[some] += x[some] * A[some, 0]\nA[column] *= s",
        "0.1",
        "Of names that are assigned once and are nothing but subscripts, also `a, b = slice(n), slice(1, n)`. Also in "
        "place: `x[slice(n, None)]`, "
        "`np.add.at(A, (slice(None), idx), 1.0)`.",
    ),
    Construct(
        "slices with an argument as the step",
        "y[1::n] = x[1::n] ** 2\ny[0] = x[::n].sum()",
        "0.1",
        "The step must be above zero (LD330). Slices that are written to start at the same place in all iterations "
        "of the loops around (LD208).",
    ),
    Construct(
        "transposes and new axes",
        "A.T[0] = x[:5]\nA[:] = x[:5, None] - y[np.newaxis, 3:]",
        "0.1",
        "And `moveaxis`, `expand_dims`, `squeeze`.",
    ),
    Construct(
        "np.broadcast_to",
        "B = np.broadcast_to(x[:5], (3, 5))\nx[0] = s\nA[:3] *= B",
        "0.1",
        "A view; as in NumPy, nobody may write to it, nor to `np.diagonal(A)` (LD121).",
    ),
    Construct(
        "reshape",
        "B = x.reshape(2, -1)\nB[1] = B[0] + s\nfor k in range(3):\n    y[0] += x[:8].reshape(-1, 2, 2**k)[0, 1, 0]",
        "0.1",
        "A view of contiguous arrays, a copy of others. That the number of elements stays the same is checked "
        "where it is made, also of extents that loops change, `x.reshape(n // m, m)`.",
    ),
    Construct("rows", "r = A[1]\nfor row in A:\n    row[0] = r[2]\n    row += r", "0.1"),
    Construct(
        "whole-array and slice assignment",
        "x[1:] = x[:-1]\ny[:] = s\nA[:, 0] = y[:5]",
        "0.1",
        "The right side is read before the left is written; where loops would not, it goes through a temporary array.",
    ),
    Construct(
        "elementwise expressions",
        "z = (x[:5] - s) * A / (1.0 + A**2)\ny[:5] = z[0] + np.ones((5, 1))[n]",
        "0.1",
        "Arrays are broadcast; that an axis has one element is known by the types of a call, or by its making. "
        "Extents that meet must be equal (LD320).",
    ),
    Construct(
        "elementwise functions of arrays",
        "z = np.where(x > 0.0, np.sqrt(abs(x)), np.clip(x, -s, s))\ny[:] = np.maximum(z, y).astype(np.float32)",
        "0.1",
    ),
    Construct(
        "augmented assignment of arrays",
        "x += y\nx[2:] *= s\nA -= x[:5]\nA @= A.copy()",
        "0.1",
        "In place: as in NumPy, floats go to no integers, and numbers to no booleans (LD213).",
    ),
    Construct(
        "reductions",
        "y[0] = x.sum() + A.mean(axis=0).prod() + np.max(A) * A.min(axis=(0, 1))\n"
        "y[1:6] = A.sum(axis=-1) - A.max(axis=1, keepdims=True)[:, 0]\n"
        "if (x > 9.0).any() or not np.all(x < 9.0):\n    y[0] = 0.0",
        "0.1",
        "sum prod mean var std max min any all, and np.count_nonzero. Elements that attain a maximum share its "
        "derivative.",
    ),
    Construct(
        "sum, max, min, any, all of what is gone through",
        "y[0] = sum(x) + max(x) * sum(v * x[k] for k, v in enumerate(y) if v > 0.0)\n"
        "y[1] = max(abs(A[k, n]) for k in range(5))\n"
        "if any(v > 9.0 for v in x) or sum([1 for v in y if v > s], n) > 9:\n    y[2] = 0.0\n"
        "y[3] = min(x, key=lambda v: abs(v - s)) * max(range(8), key=lambda i: y[i])",
        "0.1",
        "Arrays with one axis, of `sum` any, and generator expressions, which are written out as loops.",
    ),
    Construct("argmax and argmin", "y[A.argmin(axis=0)] = s\nx[np.argmax(x)] = 0.0", "0.1", "The first of equals."),
    Construct(
        "products of arrays",
        'y[:5] = A @ x[:5] + np.dot(A, A)[0] + np.outer(x, y)[0, :5]\ny[0] = np.einsum("ij,i,j->", A, x[:5], y[:5])',
        "0.1",
        "Also np.matmul, np.inner, np.trace, np.tensordot; the formula of np.einsum is written out.",
    ),
    Construct(
        "arrays put together",
        "z = np.linspace(0.0, s, 5) + np.hstack((x[:2], y[:3]))\nB = np.eye(5) + np.triu(A) - np.tril(A, -1)\n"
        "y[:5] = np.concatenate((z[:2], B[2, 2:])) * s + np.cov(A)[0]",
        "0.1",
        "Also np.identity, np.flip, np.vstack, np.stack, np.column_stack, np.cov of a matrix, and `retstep` of "
        "np.linspace. Axes are written out. Numbers among the arrays of hstack, vstack and column_stack are vectors of "
        "one element.",
    ),
    Construct(
        "copies, and arrays in one piece",
        "z = x.copy()\nz[0] = s\ny[:] = np.copy(z) + A.flatten()[:8]\nB = np.ascontiguousarray(A.T)\n"
        "A[:] = B @ np.asfortranarray(2.0 * A)",
        "0.1",
        "`np.ascontiguousarray` and `np.asfortranarray` give an array that is so as it is, as `ravel` does. Where it "
        "matters whether that is a copy, and the types do not say, they are refused (LD122, LD322).",
    ),
    Construct(
        "boolean masks",
        "m = x > 0.0\nz = x[m]\ny[m] = 2.0 * z\ny[~m] += s\nx[0] = z.sum()\nk = x[:5] < 0.5\n"
        "A[:, k] += A[k, 1].sum() + A[np.ix_(k, k)].sum()",
        "0.1",
        "One mask, among integers and slices. How many elements it chooses is known when it runs; arrays of that size "
        "stay inside the function.",
    ),
    Construct(
        "index arrays",
        "y[idx] = x[idx] * s\nA[idx[:3], 1] += A[0, idx[:3]]",
        "0.1",
        "As in NumPy, `x[idx] += v` counts duplicates once. Negative elements do not count from the end.",
    ),
    Construct(
        "np.add.at",
        "np.add.at(y, idx, x[2:])\nnp.subtract.at(y, idx, s)\nnp.multiply.at(x, idx, s)\nnp.copyto(x, y, where=x > s)\n"
        "np.maximum.at(A, idx % 5, x[:5])\ny[:5] = np.take_along_axis(A, np.argmax(A, axis=1)[:, None], axis=1)[:, 0]",
        "0.1",
        "Duplicates all count. Other functions of two numbers: of elements or rows at indices along one axis, and of "
        "elements of a matrix at rows and columns. Also put, put_along_axis, apply_along_axis of a function of one "
        "vector, and `reduceat` of add, multiply, maximum and minimum along the first axis.",
    ),
    Construct(
        "out, reduce, accumulate",
        "np.add(x, y, out=y, where=x > 0.0)\nnp.sqrt(abs(x), x)\n"
        "y[:5] = np.maximum.reduce(A) + np.add.accumulate(x)[:5]",
        "0.1",
        "`out=` of elementwise functions, beside it `where=`, and of sum, prod, mean, max, min, cumsum and cumprod. "
        "`reduce` of add, "
        "multiply, maximum, minimum, logical_and, logical_or and logaddexp, `accumulate` of the first four.",
    ),
)
