"""Draw calls of NumPy's functions: of the language table, each as it is used where arrays are bound anew."""

from __future__ import annotations

from .draw import Expressions, Extent, Kind, Scope

TWO, THREE = ("two", 0), ("three", 0)

# v, w: vectors of one extent e; P, Q: matrices of this extent, both ways; s, t: numbers; c: a number that is given;
# L, I: that of a length, and integers of it. Of each line one call is taken, so that lines are drawn alike.
VECTORS = """
np.roll(v, 1) | np.roll(v, -1) | np.roll(v, 2) | np.flip(v) | np.flipud(v)
np.cumsum(v) | np.cumprod(0.6 * v) | v.cumsum() | np.cumsum(v[::-1])[::-1]
np.sort(v) | v[np.argsort(w)] | np.sort(v)[np.argsort(w)] | np.sort(v * w)[::-1]
np.clip(v, -0.9, 1.1) | np.clip(v, w - 0.5, w + 0.5) | np.clip(v, -abs(c), abs(s) + 0.3)
np.gradient(v) | np.gradient(v, 0.5)
np.convolve(v, np.array([0.25, 0.5, 0.25]), "same") | np.convolve(v, w)[:L] | np.convolve(v, w, mode="full")[:L]
np.concatenate((v[1:], w[:1])) | np.concatenate([v[-1:], w[:-1]]) | np.hstack((v[:1], w[1:]))
np.concatenate((np.zeros(1), np.diff(v))) | np.concatenate((np.diff(v), v[:1])) | np.ediff1d(np.concatenate((v, w[:1])))
np.linspace(0.0, s, L) | np.linspace(-1.0, 1.0, L) * v | np.arange(L) * v | np.arange(L) / (2.0 + s * s)
np.diag(P) | np.diagonal(P) * v | np.diag(P @ Q)
np.linalg.solve(3.0 * np.eye(L) + 0.2 * P, v) | np.linalg.solve(P @ P.T + np.eye(L), v)
np.linalg.inv(np.eye(L) + P @ P.T) @ v | np.linalg.inv(3.0 * np.identity(L) + 0.2 * P) @ v
np.linalg.eigvalsh(P + P.T) | np.linalg.eigh(P @ P.T)[0] * v | np.linalg.eigh(P + P.T)[1] @ v
np.linalg.svd(P, compute_uv=False) | np.linalg.svd(P)[0][:, 0] * s | np.linalg.svd(P + np.eye(L))[2] @ v
np.linalg.lstsq(3.0 * np.eye(L) + 0.2 * P, v, rcond=None)[0] | np.linalg.pinv(np.eye(L) + P @ P.T) @ v
np.linalg.norm(P, axis=1) | np.linalg.norm(np.stack((v, w)), axis=0) | v / (1.0 + np.linalg.norm(w))
np.einsum("ij,j->i", P, v) | np.einsum("ij,i->j", P, v) | np.einsum("ij,ij->i", P, Q) | np.einsum("i,i->i", v, w)
np.logaddexp(v, w) | np.sinc(v) | np.heaviside(v, 0.5) * w | np.nan_to_num(v) | np.deg2rad(v) | np.hypot(v, w + 2.0)
np.where(v > w, v, 0.5 * w) | np.where(v > c, w, 0.0) | np.where(np.arange(L) > 1, v, w)
np.tile(np.stack((P, Q)), (2, 1, 2))[3, 0, 1:L + 1] | np.repeat(P[None], 2, axis=2)[0, 1, :L]
np.tile(v, 2)[1:L + 1] | np.repeat(v, 2)[:L] | np.repeat(v[None, :], 2, axis=0)[1]
np.polyval(w, 0.4 * v) | np.vander(v, 3).sum(axis=1) | np.vander(v, 3) @ np.array([0.5, s, 1.0])
np.average(P, axis=0) | np.average(P, axis=1, weights=v * v + 0.1) | P.var(axis=0) | np.std(P + np.eye(L), axis=1)
np.trapezoid(P, axis=1) | np.trapezoid(P, dx=0.5, axis=0) | np.diff(np.concatenate((v, w[:1])))
np.stack((v, w)).sum(axis=0) | np.stack([v, w], axis=1) @ np.array([0.5, s]) | np.stack((v, w)).mean(axis=0)
np.array([v, w]).max(axis=0) | np.vstack((v, w))[1] | np.column_stack((v, w))[:, 0] | np.array([s, c])[0] * v
np.bincount(np.arange(L) // 2, weights=v, minlength=L) | np.digitize(v, np.sort(w)) * w
np.searchsorted(np.sort(w), v) * v
np.outer(v, w).sum(axis=0) | np.outer(v, w) @ v | np.tensordot(P, v, 1) | np.kron(v, np.array([0.5, s]))[:L]
np.triu(P) @ v | np.tril(P, -1) @ v | np.tri(L) @ v | np.diag(v) @ w | np.rot90(P)[0] | np.eye(L)[0] + v
np.full_like(v, s) | np.full(L, s) | np.ones(L) * s | np.zeros_like(v) + s | v.copy() | v.astype(np.float64)
np.fmax(v, w) | np.fmin(v, 0.3) | np.maximum(v, 0.0) | np.minimum(v, w) | np.abs(v) | np.sign(v) * w
np.ptp(P, axis=0) | np.max(P, axis=1) | P.min(axis=0) | np.prod(0.7 * P, axis=0) | np.mean(P, axis=1)
v - v.mean() | (v - np.mean(v)) / (0.5 + np.std(v)) | np.exp(v - v.max()) / np.exp(v - np.max(v)).sum()
"""
SQUARES = """
np.eye(L) | np.identity(L) | s * np.eye(L) | P + np.eye(L) | np.eye(L) - np.outer(v, w)
np.diag(v) | np.diag(np.diag(P)) | np.outer(v, w) | np.outer(v, v) + np.identity(L) | np.diag(v[1:], 1) + P
np.linalg.inv(3.0 * np.eye(L) + 0.2 * P) | np.linalg.inv(np.eye(L) + P @ P.T)
np.linalg.solve(3.0 * np.eye(L) + 0.2 * P, Q) | np.linalg.solve(np.eye(L) + P @ P.T, Q.T)
np.linalg.cholesky(P @ P.T + np.eye(L)) | np.linalg.matrix_power(0.5 * P, 2) | np.linalg.matrix_power(0.4 * P, 3)
np.linalg.qr(2.0 * np.eye(L) + 0.3 * P)[0] | np.linalg.qr(2.0 * np.eye(L) + 0.3 * P)[1] | np.linalg.qr(P, mode="r")
np.linalg.pinv(3.0 * np.eye(L) + 0.2 * P) | np.linalg.eigh(P + P.T)[1] | np.linalg.svd(P)[0] @ np.linalg.svd(P)[2]
np.tri(L) * P | np.triu(P) | np.tril(P, -1) | np.triu(P, 1) + np.tril(Q)
np.rot90(P) | np.fliplr(P) | np.flipud(P) | np.flip(P, 0) | np.transpose(P)
np.roll(P, 1, axis=0) | np.roll(P, -1, axis=1)
np.concatenate((P[1:], Q[:1])) | np.concatenate((P[:, 1:], Q[:, :1]), axis=1)
np.vstack((P[1:], v)) | np.column_stack((v, P[:, 1:])) | np.hstack((P[:, :1], Q[:, 1:])) | np.stack((P, Q)).mean(axis=0)
np.einsum("ij,jk->ik", P, Q) | np.einsum("ij,kj->ik", P, Q) | np.einsum("i,ij->ij", v, P) | P @ Q @ P.T
np.cumsum(P, axis=1) | np.cumsum(P, axis=0) | np.sort(P, axis=0) | np.sort(P, axis=1) | np.gradient(P, axis=0)
np.repeat(v[:, None], L, axis=1)
np.repeat(v[None, :], L, axis=0) | np.tensordot(P, Q, axes=([1], [0]))
np.clip(P, -0.8, 0.9) | np.where(P > Q, P, 0.5 * Q) | np.logaddexp(P, Q) | np.maximum(P, Q) | np.cov(P + np.diag(v))
P / (1.0 + np.linalg.norm(P)) | P - P.mean(axis=0) | P / (0.5 + np.linalg.norm(Q, axis=1, keepdims=True))
0.5 * (P + P.T) | P.T | P * Q | Q @ P
"""
NUMBERS = """
np.linalg.norm(v) | np.linalg.norm(P) | np.linalg.norm(v - w) | np.linalg.norm(v, 1)
np.linalg.det(np.eye(L) + 0.3 * P) | np.linalg.slogdet(P @ P.T + np.eye(L))[1]
np.linalg.norm(P, "nuc") | np.linalg.norm(P, 2) | np.linalg.norm(P, -2) | np.linalg.cond(3.0 * np.eye(L) + 0.2 * P)
np.linalg.svd(P)[1][0] | np.linalg.eigvalsh(P @ P.T)[-1] | np.linalg.matrix_rank(P) * s
np.linalg.cond(np.eye(L) + P @ P.T, 1)
np.trapezoid(v) | np.trapezoid(v, dx=0.1) | np.trapezoid(v, np.cumsum(w * w + 0.1))
np.interp(0.7, np.cumsum(w * w + 0.1), v) | np.interp(abs(s), np.cumsum(w * w + 0.1), v)
np.median(v) | np.ptp(v) | np.average(v, weights=w * w + 0.1) | np.average(v)
np.vdot(v, w) | np.inner(v, w) | np.dot(v, w) | np.einsum("i,i->", v, w) | np.einsum("ij,i,j->", P, v, w)
np.polyval(v, 0.4 * s) | np.polyval(np.array([0.5, s, 1.0]), c) | np.prod(0.8 * v) | np.cumprod(v)[1]
np.sort(v)[0] | np.sort(v)[-1] | v[np.argmax(w)] | v[np.argmin(w)] | v[np.argsort(w)[0]]
np.var(v) | np.std(v) | np.nansum(v) | np.nanmean(v) | P.std() | np.mean(P)
np.histogram(v, 2, weights=w)[0][0] | np.cumsum(v)[-1]
np.cumsum(v * w)[1] | np.bincount(np.arange(L) % 2, weights=v, minlength=2)[1]
np.concatenate((v, w)).max() | np.concatenate((v, w, np.zeros(1)))[L] | np.stack((v, w)).min() | np.hstack((v, w)).sum()
np.logaddexp(s, c) | np.sinc(s) | np.hypot(s, 1.0) | np.heaviside(s, 0.5) * c | np.clip(s, -0.5, 0.8)
np.diff(v).max() | (np.diff(v) ** 2).sum() | np.convolve(v, w).max() | np.gradient(v)[0] | np.roll(v, 1) @ w
np.trace(P @ Q) | np.trace(np.eye(L) + P) | np.outer(v, w)[0, 1] | np.diag(P).sum() | np.diag(P)[1]
np.count_nonzero(v > 0.0) * s | np.searchsorted(np.sort(v), c) * s
np.logaddexp(v, w).sum() | np.cross(v[:3], w[:3])[0]
sum(v) | max(v) | min(w)
sum(a1 * b1 for a1, b1 in zip(v, w)) | max(abs(a1) for a1 in v) | sum(v[j1] * w[j1] for j1 in range(L))
"""
SHAPED = {  # by the new extents: e is that of the vector, 2e twice as much
    "2e": "np.concatenate((v, w)) | np.hstack([v, w]) | np.repeat(v, 2) | np.kron(v, np.array([1.0, s]))",
    "two,e": "np.stack((v, w)) | np.vstack((v, w)) | np.array([v, s * w]) | np.outer(np.array([s, 0.5]), v)",
    "e,two": "np.stack((v, w), axis=1) | np.array([v, w]).T | np.outer(v, np.array([s, c]))",
    "e,three": "np.vander(v, 3) | np.stack((v, w, v * w), axis=-1)",
    "three": "np.array([s, c, 1.0]) | np.histogram(v, 3, weights=w)[0] | np.cross(v[:3], w[:3])",
    "two": "np.array([s, v[0]]) | np.array([v[0], w[-1]]) | np.bincount(np.arange(L) % 2, weights=v, minlength=2)",
    "two,two": "np.array([[s, 1.0], [0.5, c]]) | np.array([[v[0], w[1]], [s, 0.3]]) | np.stack((v[:2], w[:2]))",
    "e,e": "np.outer(v, w) | np.diag(v) | np.eye(L) | np.tri(L)",
}


def alternatives(text: str) -> list[list[str]]:
    return [line.split(" | ") for line in text.strip().splitlines()]


CALLS = {"vector": alternatives(VECTORS), "square": alternatives(SQUARES), "number": alternatives(NUMBERS)}


class Calls(Expressions):
    """Draws calls wherever an array or a number is wanted."""

    calls = 0.0  # how likely a call is where it fits

    def called(self, scope: Scope, sort: str, extent: Extent) -> str:
        return self.filled(scope, self.rng.choice(self.rng.choice(CALLS[sort])), extent)

    def filled(self, scope: Scope, text: str, extent: Extent) -> str:
        """A call with something of this extent for each of its places."""
        given = {"L": scope.extent(extent), "s": self.leaf(scope), "c": self.number()}
        for name in "vw":
            given[name] = self.array_leaf(scope, Kind("array", (extent,)))
        for name in "PQ":
            given[name] = self.square_leaf(scope, extent)
        pieces: list[str] = []
        word = ""
        for letter in text + " ":
            if letter.isalnum() or letter in '_"':
                word += letter
                continue
            behind_dot = bool(pieces) and pieces[-1].endswith(".")
            pieces.append(word if behind_dot or word not in given else given[word])
            pieces.append(letter)
            word = ""
        return "".join(pieces).strip()

    def leaf(self, scope: Scope) -> str:
        """A number that may stand in any place."""
        text = self.real_leaf(scope)
        return f"({text})" if " " in text or text.startswith("-") else text

    def square_leaf(self, scope: Scope, extent: Extent) -> str:
        names = scope.of(Kind("array", (extent, extent)))
        if names and self.chance(0.9):
            return self.recent(names)
        one = self.array_leaf(scope, Kind("array", (extent,)))
        other = self.array_leaf(scope, Kind("array", (extent,)))
        return self.rng.choice([f"np.outer({one}, {other})", f"np.diag({one})"])

    def array(self, scope: Scope, kind: Kind, depth: int = 2) -> str:
        if self.chance(self.calls):
            match kind.shape:
                case (extent,):
                    return self.called(scope, "vector", extent)
                case (rows, columns) if rows == columns:
                    return self.called(scope, "square", rows)
        return super().array(scope, kind, depth)

    def reduction(self, scope: Scope) -> str:
        names = scope.arrays(1)
        if names and self.chance(1.3 * self.calls):
            return self.called(scope, "number", scope.kinds[self.recent(names)].shape[0])
        return super().reduction(scope)

    def views(self, name: str, kind: Kind) -> list[tuple[str, Kind]]:
        """What functions make of an array that is no copy of it, and copies that look like such."""
        made = [
            (f"np.asarray({name})", kind),
            (f"np.asarray({name}, dtype=np.float64)", kind),
            (f"np.array({name})", kind),
        ]
        made += [(f"np.flip({name}, 0)", kind), (f"np.roll({name}, 0, axis=0)", kind), (f"np.copy({name})", kind)]
        if len(kind.shape) == 2:
            made += [(f"{call}({name})", kind) for call in ("np.fliplr", "np.flipud", "np.triu")]
            made += [(f'np.einsum("ij->ji", {name})', Kind("array", kind.shape[::-1]))]
            if kind.shape[0] == kind.shape[1]:
                made += [(f"{call}({name})", Kind("array", kind.shape[:1])) for call in ("np.diag", "np.diagonal")]
                made += [(f"np.rot90({name})", kind), (f"np.transpose({name})", kind)]
        return made

    def shaped(self, scope: Scope) -> tuple[str, Kind] | None:
        """An array of another shape than the vector that it is made of."""
        names = [name for name in scope.arrays(1) if scope.kinds[name].shape[0][0] == "n"]
        if not names:
            return None
        extent = scope.kinds[self.recent(names)].shape[0]
        shape, texts = self.rng.choice(list(SHAPED.items()))
        twice = (f"2{extent[0]}", 2 * extent[1])
        extents = {"e": extent, "2e": twice, "two": TWO, "three": THREE}
        text = self.filled(scope, self.rng.choice(texts.split(" | ")), extent)
        return text, Kind("array", tuple(extents[name] for name in shape.split(",")))
