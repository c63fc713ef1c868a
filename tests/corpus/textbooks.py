"""Programs of textbooks and of other collections, written as there: what transformations were not made for."""

from __future__ import annotations

import numpy as np

from .entry import Entry


# Nearest points of another set (Barrow et al. 1977, "Parametric correspondence and chamfer matching").
def chamfer_distance(P, Q):
    total = 0.0
    for i in range(P.shape[0]):
        best = np.inf
        for j in range(Q.shape[0]):
            d = 0.0
            for a in range(P.shape[1]):
                d += (P[i, a] - Q[j, a]) ** 2
            if d < best:
                best = d
        total += best
    return total


# The support function of a convex hull (Boyd and Vandenberghe 2004, section 2.2).
def support_function(D, X):
    total = 0.0
    for r in range(D.shape[0]):
        best = -np.inf
        for i in range(X.shape[0]):
            s = 0.0
            for a in range(X.shape[1]):
                s += D[r, a] * X[i, a]
            if s > best:
                best = s
        total += best
    return total


# Upwind fluxes with the minmod limiter (LeVeque 2002, section 6.9).
def limited_slopes(q, s):
    for i in range(1, q.shape[0] - 1):
        a = q[i] - q[i - 1]
        b = q[i + 1] - q[i]
        if a * b > 0.0:
            if abs(a) < abs(b):
                s[i] = a
            else:
                s[i] = b
        else:
            s[i] = 0.0


# A step of iterative shrinkage (Beck and Teboulle 2009, "A fast iterative shrinkage-thresholding algorithm").
def shrinkage_step(A, b, x, t, y):
    r = A @ x - b
    for j in range(x.shape[0]):
        g = 0.0
        for i in range(A.shape[0]):
            g += A[i, j] * r[i]
        v = x[j] - t * g
        if v > t:
            y[j] = v - t
        elif v < -t:
            y[j] = v + t
        else:
            y[j] = 0.0


# The order of a chain of matrix products (Cormen, Leiserson, Rivest and Stein, section 15.2).
def matrix_chain(p, m):
    n = p.shape[0] - 1
    for i in range(n):
        m[i, i] = 0.0
    for span in range(1, n):
        for i in range(n - span):
            j = i + span
            m[i, j] = np.inf
            for k in range(i, j):
                m[i, j] = min(m[i, j], m[i, k] + m[k + 1, j] + p[i] * p[k + 1] * p[j + 1])
    return m[0, n - 1]


# Optimal binary search trees (the same, section 15.5).
def optimal_search_tree(p, e, w):
    n = p.shape[0]
    for i in range(n - 1, -1, -1):
        for j in range(i, n):
            w[i, j] = p[j] + (w[i, j - 1] if j > i else 0.0)
            best = np.inf
            for r in range(i, j + 1):
                left = e[i, r - 1] if r > i else 0.0
                right = e[r + 1, j] if r < j else 0.0
                best = min(best, left + right)
            e[i, j] = best + w[i, j]
    return e[0, n - 1]


# Support vectors of sparse data (Shalev-Shwartz et al. 2007, "Pegasos").
def sparse_hinge_loss(start, column, value, label, w):
    loss = 0.0
    for i in range(label.shape[0]):
        margin = 0.0
        for k in range(start[i], start[i + 1]):
            margin += value[k] * w[column[k]]
        loss += max(0.0, 1.0 - label[i] * margin)
    return loss


# The integral of an interpolant by a quadrature rule (Trefethen 2000, chapter 12).
def quadrature(B, c, w):
    f = np.empty(w.shape[0])
    for i in range(w.shape[0]):
        f[i] = 0.0
        for k in range(B.shape[1]):
            f[i] += B[i, k] * c[k]
    total = 0.0
    for i in range(w.shape[0]):
        total += w[i] * f[i]
    return total


# The inner product of a matrix with a product of matrices (Golub and Van Loan, section 1.1).
def inner_product_of_product(W, A, B):
    C = A @ B
    return np.sum(W * C)


# Charges of particles on a grid, and the field at their places (Birdsall and Langdon 1985, section 2-6).
def particles_and_cells(x, q, E, rho, F):
    for p in range(x.shape[0]):
        c = int(x[p])
        w = x[p] - c
        rho[c] += q[p] * (1.0 - w)
        rho[c + 1] += q[p] * w
        F[p] = q[p] * (E[c] * (1.0 - w) + E[c + 1] * w)


# The same in two dimensions, cell by cell.
def particles_in_the_plane(x, q, E, rho):
    energy = 0.0
    for p in range(x.shape[0]):
        c = int(x[p, 0])
        d = int(x[p, 1])
        field = 0.0
        for k in range(2):
            for l in range(2):
                w = (1.0 - abs(x[p, 0] - c - k)) * (1.0 - abs(x[p, 1] - d - l))
                rho[c + k, d + l] += q[p] * w
                field += E[c + k, d + l] * w
        energy += q[p] * field
    return energy


# Bilinear sampling of an image (Jaderberg et al. 2015, "Spatial transformer networks").
def spatial_transformer(image, x, out):
    for ch in range(image.shape[0]):
        for p in range(x.shape[0]):
            c = int(x[p, 0])
            d = int(x[p, 1])
            s = 0.0
            for k in range(2):
                for l in range(2):
                    s += image[ch, c + k, d + l] * (1.0 - abs(x[p, 0] - c - k)) * (1.0 - abs(x[p, 1] - d - l))
            out[ch, p] = s


# Tables of embeddings, one for each feature (Naumov et al. 2019, "Deep learning recommendation model").
def embedding_tables(tables, index, v):
    score = 0.0
    for f in range(tables.shape[0]):
        for b in range(index.shape[0]):
            s = 0.0
            for c in range(tables.shape[2]):
                s += tables[f, index[b, f], c] * v[b, c]
            score += s * s
    return score


# Documents as weighted bags of words (Joulin et al. 2017, "Bag of tricks for efficient text classification").
def bags_of_words(words, weight, table, out):
    for p in range(words.shape[0]):
        for l in range(words.shape[1]):
            for c in range(table.shape[1]):
                out[p, c] += weight[p] * table[words[p, l], c]


# Messages to neighbours in a graph, and how much each node sends (Gilmer et al. 2017, "Neural message passing").
def messages_to_neighbours(x, neighbour, weight, inbox, sent):
    for p in range(x.shape[0]):
        total = 0.0
        for k in range(neighbour.shape[1]):
            for c in range(inbox.shape[1]):
                inbox[neighbour[p, k], c] += weight[p, k] * x[p, c]
                total += weight[p, k] * x[p, c]
        sent[p] = total


# An autoencoder, row by row (Goodfellow, Bengio and Courville 2016, chapter 14).
def autoencoder(X, W, V):
    H = W.shape[0]
    h = np.empty(H)
    loss = 0.0
    for r in range(X.shape[0]):
        for a in range(H):
            s = 0.0
            for i in range(X.shape[1]):
                s += W[a, i] * X[r, i]
            h[a] = np.tanh(s)
        for i in range(X.shape[1]):
            s = 0.0
            for a in range(H):
                s += V[i, a] * h[a]
            e = s - X[r, i]
            loss += e * e
    return loss


# A network of radial basis functions (Bishop 2006, section 6.3).
def radial_basis_network(X, C, W, y):
    h = np.empty(C.shape[0])
    loss = 0.0
    for r in range(X.shape[0]):
        for a in range(C.shape[0]):
            d = 0.0
            for i in range(X.shape[1]):
                d += (X[r, i] - C[a, i]) ** 2
            h[a] = np.exp(-d)
        for o in range(W.shape[0]):
            s = 0.0
            for a in range(C.shape[0]):
                s += W[o, a] * h[a]
            loss += (s - y[r, o]) ** 2
    return loss


# Livermore loops 1 and 7, the equation of state (McMahon 1986, "The Livermore Fortran kernels").
def equation_of_state(u, z, y, q, r, t, x):
    for k in range(x.shape[0]):
        x[k] = (
            u[k]
            + r * (z[k] + r * y[k])
            + t * (u[k + 3] + r * (u[k + 2] + r * u[k + 1]) + t * (u[k + 6] + q * (u[k + 5] + q * u[k + 4])))
        )


# Livermore loop 6, a general linear recurrence.
def general_recurrence(B, w):
    for i in range(1, w.shape[0]):
        for k in range(i):
            w[i] += B[k, i] * w[i - k - 1]


# A product with scalars (Dongarra et al. 1990, "A set of level 3 basic linear algebra subprograms").
def scaled_product(alpha, beta, A, B, C):
    for i in range(C.shape[0]):
        for j in range(C.shape[1]):
            C[i, j] *= beta
        for k in range(A.shape[1]):
            for j in range(C.shape[1]):
                C[i, j] += alpha * A[i, k] * B[k, j]


# Squared distances to the mean of a distribution (Mahalanobis 1936, "On the generalised distance in statistics").
def mahalanobis_distances(X, P, d):
    for n in range(X.shape[0]):
        d[n] = 0.0
        for i in range(X.shape[1]):
            for j in range(X.shape[1]):
                d[n] += X[n, i] * P[i, j] * X[n, j]


# The information matrix of weighted observations (McCullagh and Nelder 1989, section 2.5).
def information_matrix(X, w, H):
    for n in range(X.shape[0]):
        for i in range(X.shape[1]):
            for j in range(X.shape[1]):
                H[i, j] += X[n, i] * w[n] * X[n, j]


# A matrix from its largest singular values (Golub and Van Loan, section 2.4).
def truncated_decomposition(U, s, V, R):
    for i in range(R.shape[0]):
        for j in range(R.shape[1]):
            t = 0.0
            for k in range(s.shape[0]):
                t += U[i, k] * s[k] * V[j, k]
            R[i, j] -= t


def limited(xp, q):
    a, b = q[1:-1] - q[:-2], q[2:] - q[1:-1]
    return xp.where(a * b > 0.0, xp.where(abs(a) < abs(b), a, b), 0.0)


def shrunk(xp, A, b, x, t):
    v = x - t * (A.T @ (A @ x - b))
    return xp.where(v > t, v - t, xp.where(v < -t, v + t, 0.0))


def distances(xp, P, Q):
    return xp.sum((P[:, None] - Q[None]) ** 2, -1)


ENTRIES = (
    Entry(
        name="chamfer_distance",
        function=chamfer_distance,
        make=lambda r, n=7, m=9, d=3: dict(P=r.random((n, d)), Q=r.random((m, d))),
        wrt=("P", "Q"),
        oracle=lambda xp, P, Q: {"result": xp.sum(xp.min(distances(xp, P, Q), 1))},
        is_twin=True,
    ),
    Entry(
        name="support_function",
        function=support_function,
        make=lambda r, n=6, m=11, d=3: dict(D=r.random((n, d)) - 0.5, X=r.random((m, d)) - 0.5),
        wrt=("D", "X"),
        oracle=lambda xp, D, X: {"result": xp.sum(xp.max(D @ X.T, 1))},
        is_twin=True,
    ),
    Entry(
        name="limited_slopes",
        function=limited_slopes,
        make=lambda r, n=17: dict(q=r.random(n), s=np.zeros(n)),
        wrt=("q",),
        outputs=("s",),
        oracle=lambda xp, q, s: {"s": xp.concatenate([s[:1], limited(xp, q), s[-1:]])},
        is_twin=True,
    ),
    Entry(
        name="shrinkage_step",
        function=shrinkage_step,
        make=lambda r, m=6, n=9: dict(
            A=r.random((m, n)) - 0.5, b=r.random(m), x=r.random(n) - 0.5, t=0.1, y=np.zeros(n)
        ),
        wrt=("A", "b", "x"),
        outputs=("y",),
        oracle=lambda xp, A, b, x, t, y: {"y": shrunk(xp, A, b, x, t)},
        is_twin=True,
    ),
    Entry(
        name="matrix_chain",
        function=matrix_chain,
        make=lambda r, n=8: dict(p=1.0 + r.random(n), m=np.zeros((n - 1, n - 1))),
        wrt=("p",),
        outputs=("m",),
    ),
    Entry(
        name="optimal_search_tree",
        function=optimal_search_tree,
        make=lambda r, n=7: dict(p=0.1 + r.random(n), e=np.zeros((n, n)), w=np.zeros((n, n))),
        wrt=("p",),
        outputs=("e", "w"),
    ),
    Entry(
        name="sparse_hinge_loss",
        function=sparse_hinge_loss,
        make=lambda r, n=9, m=6: dict(
            start=np.arange(n + 1) * 3,
            column=r.integers(0, m, 3 * n),
            value=r.random(3 * n) - 0.5,
            label=np.where(r.random(n) < 0.5, -1.0, 1.0),
            w=4.0 * (r.random(m) - 0.5),
        ),
        wrt=("value", "w"),
    ),
    Entry(
        name="quadrature",
        function=quadrature,
        make=lambda r, n=8, m=5: dict(B=r.random((n, m)), c=r.random(m), w=r.random(n)),
        wrt=("B", "c", "w"),
        oracle=lambda xp, B, c, w: {"result": xp.sum(w * (B @ c))},
        is_twin=True,
    ),
    Entry(
        name="inner_product_of_product",
        function=inner_product_of_product,
        make=lambda r, n=5, k=4, m=6: dict(W=r.random((n, m)), A=r.random((n, k)), B=r.random((k, m))),
        wrt=("W", "A", "B"),
        oracle=lambda xp, W, A, B: {"result": xp.sum(W * (A @ B))},
        is_twin=True,
        is_analytic=True,
    ),
    Entry(
        name="spatial_transformer",
        function=spatial_transformer,
        make=lambda r, n=9, m=6, c=2: dict(
            image=r.random((c, m, m)), x=(m - 1.01) * r.random((n, 2)), out=np.zeros((c, n))
        ),
        wrt=("image", "x"),
        outputs=("out",),
    ),
    Entry(
        name="embedding_tables",
        function=embedding_tables,
        make=lambda r, f=3, n=7, b=6, d=4: dict(
            tables=r.random((f, n, d)), index=r.integers(0, n, (b, f)), v=r.random((b, d))
        ),
        wrt=("tables", "v"),
    ),
    Entry(
        name="bags_of_words",
        function=bags_of_words,
        make=lambda r, n=6, l=5, v=11, d=4: dict(
            words=r.integers(0, v, (n, l)), weight=r.random(n), table=r.random((v, d)), out=np.zeros((n, d))
        ),
        wrt=("weight", "table"),
        outputs=("out",),
        is_analytic=True,
    ),
    Entry(
        name="messages_to_neighbours",
        function=messages_to_neighbours,
        make=lambda r, n=7, k=4, d=3: dict(
            x=r.random((n, d)),
            neighbour=r.integers(0, n, (n, k)),
            weight=r.random((n, k)),
            inbox=np.zeros((n, d)),
            sent=np.zeros(n),
        ),
        wrt=("x", "weight", "inbox"),
        outputs=("inbox", "sent"),
        is_analytic=True,
    ),
    Entry(
        name="particles_in_the_plane",
        function=particles_in_the_plane,
        make=lambda r, n=13, m=6: dict(
            x=(m - 1.01) * r.random((n, 2)), q=r.random(n), E=r.random((m, m)), rho=np.zeros((m, m))
        ),
        wrt=("x", "q", "E", "rho"),
        outputs=("rho",),
    ),
    Entry(
        name="radial_basis_network",
        function=radial_basis_network,
        make=lambda r, n=6, d=3, h=4, o=2: dict(
            X=r.random((n, d)), C=r.random((h, d)), W=r.random((o, h)), y=r.random((n, o))
        ),
        wrt=("C", "W"),
        oracle=lambda xp, X, C, W, y: {"result": xp.sum((xp.exp(-distances(xp, X, C)) @ W.T - y) ** 2)},
        is_twin=True,
    ),
    Entry(
        name="particles_and_cells",
        function=particles_and_cells,
        make=lambda r, n=23, m=8: dict(
            x=(m - 1.01) * r.random(n), q=r.random(n), E=r.random(m), rho=np.zeros(m), F=np.zeros(n)
        ),
        wrt=("x", "q", "E", "rho"),
        outputs=("rho", "F"),
    ),
    Entry(
        name="autoencoder",
        function=autoencoder,
        make=lambda r, n=5, d=6, h=3: dict(X=r.random((n, d)), W=r.random((h, d)), V=r.random((d, h))),
        wrt=("W", "V"),
        oracle=lambda xp, X, W, V: {"result": xp.sum((xp.tanh(X @ W.T) @ V.T - X) ** 2)},
        is_twin=True,
    ),
    Entry(
        name="equation_of_state",
        function=equation_of_state,
        make=lambda r, n=19: dict(
            u=r.random(n + 6), z=r.random(n), y=r.random(n), q=0.5, r=0.25, t=0.125, x=np.zeros(n)
        ),
        wrt=("u", "z", "y", "q", "r", "t"),
        outputs=("x",),
        is_analytic=True,
    ),
    Entry(
        name="general_recurrence",
        function=general_recurrence,
        make=lambda r, n=11: dict(B=0.1 * r.random((n, n)), w=r.random(n)),
        wrt=("B", "w"),
        outputs=("w",),
        is_analytic=True,
    ),
    Entry(
        name="scaled_product",
        function=scaled_product,
        make=lambda r, n=6, k=5, m=7: dict(
            alpha=0.75, beta=-0.5, A=r.random((n, k)), B=r.random((k, m)), C=r.random((n, m))
        ),
        wrt=("alpha", "beta", "A", "B", "C"),
        outputs=("C",),
        oracle=lambda xp, alpha, beta, A, B, C: {"C": alpha * (A @ B) + beta * C},
        is_twin=True,
        is_analytic=True,
    ),
    Entry(
        name="mahalanobis_distances",
        function=mahalanobis_distances,
        make=lambda r, n=7, m=5: dict(X=r.random((n, m)) - 0.5, P=r.random((m, m)), d=np.zeros(n)),
        wrt=("X", "P"),
        outputs=("d",),
        oracle=lambda xp, X, P, d: {"d": xp.sum(X * (X @ P.T), 1)},
        is_twin=True,
        is_analytic=True,
    ),
    Entry(
        name="information_matrix",
        function=information_matrix,
        make=lambda r, n=8, m=5: dict(X=r.random((n, m)) - 0.5, w=r.random(n), H=np.zeros((m, m))),
        wrt=("X", "w"),
        outputs=("H",),
        oracle=lambda xp, X, w, H: {"H": H + (X.T * w) @ X},
        is_twin=True,
        is_analytic=True,
    ),
    Entry(
        name="truncated_decomposition",
        function=truncated_decomposition,
        make=lambda r, n=6, m=7, k=3: dict(U=r.random((n, k)), s=r.random(k), V=r.random((m, k)), R=r.random((n, m))),
        wrt=("U", "s", "V", "R"),
        outputs=("R",),
        oracle=lambda xp, U, s, V, R: {"R": R - (U * s) @ V.T},
        is_twin=True,
        is_analytic=True,
    ),
)
