"""Losses: one number for each row, or each element. Their mean or sum is the caller's."""

from __future__ import annotations

import numpy as np

from loopdiff.kernels.checks import require_floats
from loopdiff.kernels.nn.exponentials import log_of_sum
from loopdiff.kernels.nn.products import cosine_similarity, distances_by_row
from loopdiff.kernels.operator import operator
from loopdiff.numpy_functions.special import expit, log_expit
from loopdiff.rules.marks import stop_gradient

BLOCK = 32  # rows whose logits are in memory: enough for a product at full speed


def require_labels(rows, labels):
    if labels.shape[0] != rows.shape[0]:
        raise ValueError("there must be as many labels as rows")


def require_alike(rows, others):
    if others.shape[0] != rows.shape[0] or others.shape[1] != rows.shape[1]:
        raise ValueError("the matrices must have one shape")


def require_class_weights(weights, rows):
    if weights is not None and weights.shape[0] != rows.shape[1]:
        raise ValueError("`weights` has one number for each class")


@operator
def cross_entropy(logits, labels, weights=None, *, smoothing=0.0):
    """`logsumexp(logits) - logits[label]` of each row.

    Args:
        logits: `(N, C)`.
        labels: `(N,)` integers from 0; a negative one counts nothing, and has no derivative.
        weights: `(C,)`, how much each class counts, or None: all the same.
        smoothing: The part of the target that is spread over all classes (Szegedy et al., 2016).

    Returns:
        `(N,)`.

    Raises:
        ArgumentError: LD310 where there are fewer classes than a label says; LD332 where there are not as many labels
            as rows, or logits are integers.
    """
    require_floats(logits)
    require_labels(logits, labels)
    require_class_weights(weights, logits)
    N, C = logits.shape
    losses = np.zeros(N, dtype=logits.dtype)
    for n in range(N):
        if labels[n] >= 0:
            whole = 1.0 if weights is None else (1.0 - smoothing) * weights[labels[n]]
            target = (1.0 - smoothing if weights is None else whole) * logits[n, labels[n]]
            if smoothing > 0.0:
                for c in range(C):
                    own = smoothing / C if weights is None else smoothing / C * weights[c]
                    target += own * logits[n, c]
                    whole += 0.0 if weights is None else own
            losses[n] = whole * log_of_sum(logits, n) - target
    return losses


@operator(tape="recompute")
def linear_cross_entropy(x, w, labels, bias=None):
    """`cross_entropy` of `x @ w.T + bias`, with the logits of a few rows at a time in memory; they are made again for
    derivatives.

    Args:
        x: `(N, D)`, such that logits are finite.
        w: `(C, D)`.
        labels: `(N,)` integers from 0; a negative one counts nothing, and has no derivative.
        bias: `(C,)`, or None.

    Returns:
        `(N,)`.

    Raises:
        ArgumentError: LD310 where there are fewer classes than a label says; LD332 where shapes do not fit, or `x`
            holds integers.
    """
    require_floats(x)
    require_labels(x, labels)
    (N, D), C = x.shape, w.shape[0]
    if w.shape[1] != D or (bias is not None and bias.shape[0] != C):
        raise ValueError("`x` is (N, D), `w` (C, D), `bias` (C,)")
    losses = np.zeros(N, dtype=x.dtype)
    for first in range(0, N, BLOCK):
        count = min(BLOCK, N - first)
        rows = np.zeros((BLOCK, D), dtype=x.dtype)
        rows[:count] = x[first : first + count]
        logits = rows @ w.T
        for r in range(count):
            greatest, total = -np.inf, 0.0
            for c in range(C):
                logits[r, c] += 0.0 if bias is None else bias[c]
                greatest = max(greatest, stop_gradient(logits[r, c]))
            for c in range(C):
                total += np.exp(logits[r, c] - greatest)
            if labels[first + r] >= 0:
                losses[first + r] = greatest + np.log(total) - logits[r, labels[first + r]]
    return losses


@operator
def cross_entropy_of_probabilities(logits, targets):
    """`logsumexp(logits) * sum(targets) - sum(targets * logits)` of each row; where a target is zero its logit counts
    in the sum of exponentials only.

    Args:
        logits: `(N, C)`.
        targets: `(N, C)`, rows that sum to one.

    Returns:
        `(N,)`.
    """
    require_floats(logits)
    require_alike(logits, targets)
    N, C = logits.shape
    losses = np.zeros(N, dtype=logits.dtype)
    for n in range(N):
        total = log_of_sum(logits, n)
        for c in range(C):
            if targets[n, c] != 0.0:
                losses[n] += targets[n, c] * (total - logits[n, c])
    return losses


@operator
def binary_cross_entropy(logits, targets, positive=None):
    """`-targets * log(sigmoid(logits)) - (1 - targets) * log(sigmoid(-logits))`, element by element, and the first part
    `positive` times."""
    right = -targets * log_expit(logits)
    return (right if positive is None else positive * right) - (1.0 - targets) * log_expit(-logits)


@operator
def focal_loss(logits, targets, *, gamma=2.0):
    """`binary_cross_entropy` by a power, at least 1, of the probability of what is not so (Lin et al., 2017)."""
    wrong = targets * expit(-logits) + (1.0 - targets) * expit(logits)
    return binary_cross_entropy(logits, targets) * wrong**gamma


@operator
def huber(x, y, *, delta=1.0):
    """Half the square of the difference within `delta`, and a line beyond it (Huber, 1964), element by element."""
    distance = abs(x - y)
    return np.where(distance <= delta, 0.5 * (x - y) ** 2, delta * (distance - 0.5 * delta))


@operator
def poisson_nll(log_rates, counts, *, log_input=True, epsilon=1e-8):
    """The negative logarithm of the probability of counts, up to what the counts alone say: `exp(log_rate) - count *
    log_rate`, element by element; of rates themselves, without `log_input`, `rate - count * log(rate + epsilon)`."""
    if not log_input:
        return log_rates - counts * np.log(log_rates + epsilon)
    return np.exp(log_rates) - counts * log_rates


@operator
def gaussian_nll(means, variances, x, *, epsilon=1e-6):
    """The negative logarithm of normal densities at `x`, up to a constant: `(log(v) + (x - mean) ** 2 / v) / 2` with
    the variance `v` not below `epsilon`, where it has no derivative; element by element."""
    v = np.where(variances > epsilon, variances, epsilon)
    return 0.5 * (np.log(v) + (x - means) ** 2 / v)


@operator
def margin_ranking(x, y, signs, *, margin=0.0):
    """`max(0, margin - sign * (x - y))`: how far `x` is from being ranked above `y`, or below it where the sign is -1,
    element by element. At 0 the derivative is 0."""
    missing = margin - signs * (x - y)
    return np.where(missing > 0.0, missing, 0.0)


@operator
def kl_divergence(log_q, p, *, log_target=False):
    """`sum(p * (log(p) - log_q))` of each row; where `p` is zero it counts nothing.

    Args:
        log_q: `(N, C)`, logarithms of probabilities.
        p: `(N, C)`, probabilities, or their logarithms.
        log_target: Whether `p` is logarithms.

    Returns:
        `(N,)`.
    """
    require_floats(p)
    require_alike(p, log_q)
    N, C = p.shape
    losses = np.zeros(N, dtype=p.dtype)
    for n in range(N):
        for c in range(C):
            if log_target and p[n, c] != -np.inf:
                losses[n] += np.exp(p[n, c]) * (p[n, c] - log_q[n, c])
            elif not log_target and p[n, c] != 0.0:
                losses[n] += p[n, c] * (np.log(p[n, c]) - log_q[n, c])
    return losses


@operator
def hinge(scores, labels, *, margin=1.0):
    """`sum over c of max(0, scores[c] - scores[label] + margin)` without the label itself, of each row (Crammer and
    Singer, 2001).

    Args:
        scores: `(N, C)`.
        labels: `(N,)`, integers from 0.
        margin: By how much the right score has to be greater.

    Returns:
        `(N,)`.
    """
    require_floats(scores)
    require_labels(scores, labels)
    N, C = scores.shape
    losses = np.zeros(N, dtype=scores.dtype)
    for n in range(N):
        for c in range(C):
            excess = scores[n, c] - scores[n, labels[n]] + margin
            if c != labels[n] and not excess <= 0.0:
                losses[n] += excess
    return losses


@operator
def triplet(anchors, near, far, *, margin=1.0, p=2.0, swap=False, distance=None):
    """`max(0, |anchor - near| - |anchor - far| + margin)` of each row (Schroff et al., 2015).

    Args:
        anchors, near, far: `(N, D)`.
        margin: By how much others have to be farther away.
        p: The norm, as of `distances_by_row`; equal rows have no derivative.
        swap: Whether `|near - far|` counts where it is less than `|anchor - far|` (Balntas et al., 2016).
        distance: A function of two matrices that has a number for each row, in place of that norm.

    Returns:
        `(N,)`.

    Raises:
        ArgumentError: LD332 where shapes differ, or `anchors` holds integers.
    """
    require_floats(anchors)
    require_alike(anchors, near)
    require_alike(anchors, far)
    to_near = distances_by_row(anchors, near, p=p) if distance is None else distance(anchors, near)
    to_far = distances_by_row(anchors, far, p=p) if distance is None else distance(anchors, far)
    if swap:
        to_far = np.minimum(to_far, distances_by_row(near, far, p=p) if distance is None else distance(near, far))
    excess = to_near - to_far + margin
    return np.where(excess <= 0.0, 0.0, excess)


@operator
def ctc(log_probabilities, labels, lengths, label_lengths, *, blank=0, zero_infinity=False):
    """The negative log-likelihood of labels without times, summed over all alignments (Graves et al., 2006, section 4).

    Args:
        log_probabilities: `(N, T, C)`, logarithms of the probabilities of symbols at each time.
        labels: `(N, U)` integers, none of them the blank.
        lengths: `(N,)`, how many times of each sequence count, at least one.
        label_lengths: `(N,)`, how many labels of each count.
        blank: The symbol that stands for none.
        zero_infinity: Whether losses that are infinite count zero.

    Returns:
        `(N,)`; +inf, without derivative, where the labels do not fit into the times.

    Raises:
        ArgumentError: LD310 where a length or a label is too large; LD332 where numbers of sequences differ, or the
            blank is among the labels.
    """
    require_floats(log_probabilities)
    N, U = labels.shape
    if log_probabilities.shape[0] != N or lengths.shape[0] != N or label_lengths.shape[0] != N:
        raise ValueError("there must be as many sequences as rows of labels, and lengths of both")
    for n in range(N):
        for u in range(label_lengths[n]):
            if labels[n, u] == blank:
                raise ValueError("the blank is no label")
    losses = np.zeros(N, dtype=log_probabilities.dtype)
    for n in range(N):
        states = 2 * label_lengths[n] + 1
        before = np.full(2 * U + 1, -np.inf)
        for t in range(lengths[n]):
            now = np.full(2 * U + 1, -np.inf)
            for s in range(states):
                symbol = blank if s % 2 == 0 else labels[n, s // 2]
                total = -np.inf
                if t == 0:
                    if s < 2:
                        total = 0.0
                else:
                    total = before[s]
                    if s > 0:
                        total = np.logaddexp(total, before[s - 1])
                    if s > 1 and s % 2 == 1 and labels[n, s // 2] != labels[n, s // 2 - 1]:
                        total = np.logaddexp(total, before[s - 2])
                now[s] = total + log_probabilities[n, t, symbol]
            before[:] = now
        likelihood = before[states - 1]
        if states > 1:
            likelihood = np.logaddexp(likelihood, before[states - 2])
        losses[n] = (0.0 if zero_infinity else np.inf) if likelihood == -np.inf else -likelihood
    return losses


@operator
def absolute_error(x, y):
    """`abs(x - y)`, element by element, with derivative 0 where both are equal."""
    return abs(x - y)


@operator
def squared_error(x, y):
    """`(x - y) ** 2`, element by element."""
    return (x - y) ** 2


@operator
def smooth_l1(x, y, *, beta=1.0):
    """`huber` divided by `beta`: `(x - y) ** 2 / (2 * beta)` within `beta`, else `abs(x - y) - beta / 2` (Girshick,
    2015), element by element."""
    return huber(x, y, delta=beta) / beta


@operator
def soft_margin(x, signs):
    """`log(1 + exp(-sign * x))`, element by element; signs are 1 and -1."""
    return -log_expit(signs * x)


@operator
def hinge_embedding(x, signs, *, margin=1.0):
    """A distance `x` where the sign is 1; where it is -1 how much it is below the margin, with derivative 0 at it;
    element by element."""
    missing = np.where(x < margin, margin - x, 0.0)
    return np.where(signs == 1, x, missing)


@operator
def cosine_embedding(x, y, signs, *, margin=0.0):
    """`1 - cosine` of rows where the sign is 1; where it is -1 what the cosine is above the margin, with derivative 0
    at it. `x` and `y` are `(N, D)`, signs and the result `(N,)`; a row of zeros has the cosine 0."""
    cosine = cosine_similarity(x, y)
    return np.where(signs == 1, 1.0 - cosine, np.where(cosine > margin, cosine - margin, 0.0))


@operator
def negative_log_likelihood(log_probabilities, labels, weights=None):
    """`-log_probabilities[label]` of each row; a negative label counts nothing.

    Args:
        log_probabilities: `(N, C)`.
        labels: `(N,)` integers.
        weights: `(C,)`, how much each class counts, or None: all the same.

    Returns:
        `(N,)`.

    Raises:
        ArgumentError: LD310 where there are fewer classes than a label says; LD332 where there are not as many labels
            as rows, or logarithms are integers.
    """
    require_floats(log_probabilities)
    require_labels(log_probabilities, labels)
    require_class_weights(weights, log_probabilities)
    losses = np.zeros(labels.shape[0], dtype=log_probabilities.dtype)
    for n in range(labels.shape[0]):
        if labels[n] >= 0:
            own = log_probabilities[n, labels[n]]
            losses[n] = -own if weights is None else -weights[labels[n]] * own
    return losses


@operator
def binary_cross_entropy_of_probabilities(p, targets):
    """`-targets * log(p) - (1 - targets) * log(1 - p)`, element by element; a target that is 0, or 1, counts nothing of
    the other logarithm. Where the probability of what is so is zero it is inf."""
    of_one = np.where(targets == 0.0, 0.0, targets * np.log(p))
    return -of_one - np.where(targets == 1.0, 0.0, (1.0 - targets) * np.log1p(-p))


@operator
def multi_margin(scores, labels, weights=None, *, power=1, margin=1.0):
    """`sum over c of max(0, margin - scores[label] + scores[c]) ** power / C` without the label itself, of each row,
    times the weight of its label, of `(C,)` or None. Arguments and errors as of `hinge`; `power` is 1 or 2."""
    require_floats(scores)
    require_labels(scores, labels)
    require_class_weights(weights, scores)
    N, C = scores.shape
    losses = np.zeros(N, dtype=scores.dtype)
    for n in range(N):
        for c in range(C):
            excess = scores[n, c] - scores[n, labels[n]] + margin
            if c != labels[n] and not excess <= 0.0:
                losses[n] += (1.0 if weights is None else weights[labels[n]]) * excess**power / C
    return losses


@operator
def multilabel_margin(scores, labels):
    """`max(0, 1 - scores[l] + scores[c]) / C`, summed over the labels `l` of a row and all classes `c` that are none.

    Args:
        scores: `(N, C)`.
        labels: `(N, U)` integers: those before the first negative one are the labels of a row.

    Returns:
        `(N,)`.

    Raises:
        ArgumentError: LD310 where there are fewer classes than a label says; LD332 where there are not as many rows of
            labels as of scores, or scores are integers.
    """
    require_floats(scores)
    require_labels(scores, labels)
    (N, C), U = scores.shape, labels.shape[1]
    losses = np.zeros(N, dtype=scores.dtype)
    is_label = np.zeros((N, C), dtype=np.int64)
    for n in range(N):
        count = 0
        while count < U and labels[n, count] >= 0:
            is_label[n, labels[n, count]] = 1
            count += 1
        for u in range(count):
            for c in range(C):
                excess = 1.0 - scores[n, labels[n, u]] + scores[n, c]
                if is_label[n, c] == 0 and not excess <= 0.0:
                    losses[n] += excess / C
    return losses


@operator
def multilabel_soft_margin(logits, targets):
    """The mean of `binary_cross_entropy` over the classes of each row: `(N, C)` twice gives `(N,)`."""
    require_floats(logits)
    require_alike(logits, targets)
    return binary_cross_entropy(logits, targets).mean(axis=1)
