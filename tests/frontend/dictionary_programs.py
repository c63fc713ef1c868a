"""Functions with dictionaries whose keys the run says, as people write them: `x` numbers, `idx` labels from 1 to 5."""

# Loops are written the way users write them.
# ruff: noqa: B905

from __future__ import annotations

import collections
from collections import Counter, defaultdict

import numpy as np


def totals_by_get(x, idx):
    d = {}
    for i in range(len(x)):
        k = idx[i]
        d[k] = d.get(k, 0) + x[i] ** 2
    total = 0.0
    for k, v in d.items():
        total += np.sin(v) * (k + 1)
    return total


def in_else(x, idx):
    d = {}
    for i in range(len(x)):
        if idx[i] in d:
            d[idx[i]] += x[i]
        else:
            d[idx[i]] = 2.0 * x[i]
    s = 0.0
    for k in d:
        s += d[k] ** 3 * k
    return s + len(d) + d[idx[0]]


def means_by_default(x, idx):
    sums = defaultdict(float)
    counts = defaultdict(int)
    for k, v in zip(idx, x, strict=True):
        sums[k] += v * v
        counts[k] += 1
    out = 0.0
    for k in sorted(sums):
        out = 0.5 * out + sums[k] / counts[k]
    return out


def shares_of_labels(x, idx):
    c = Counter(idx)
    best = max(c, key=c.get)
    s = 0.0
    for i in range(len(x)):
        s += x[i] ** 2 / c[idx[i]]
        if idx[i] == best:
            s += np.exp(x[i])
    return s + c[77]


def memo_of_two(x, idx):
    n = len(x)
    memo = {0: x[0], 1: x[1]}
    for i in range(2, n):
        memo[i] = memo[i - 1] * 0.5 + np.sin(memo[i - 2]) * x[i]
    return memo[n - 1]


def upper_pairs(x, idx):
    grid = {}
    n = len(x)
    for i in range(n):
        for j in range(n):
            if idx[i] < idx[j]:
                grid[i, j] = x[i] * x[j]
    s = 0.0
    for (i, j), v in grid.items():
        s += v * v * (i + 2 * j)
        if (j, i) in grid:
            s += 100.0
    return s + sum(grid.values())


def from_a_comprehension(x, idx):
    sq = {i: v * v for i, v in enumerate(x)}
    for i in range(len(x)):
        if x[i] > 0.7:
            sq[i] *= 2.0
    best = max(sq.items(), key=lambda kv: kv[1])
    return sum(sq.values()) + best[1] * best[0] + max(sq.values())


def by_setdefault(x, idx):
    d = dict()
    for i, k in enumerate(idx):
        d.setdefault(k, 0.0)
        d[k] += x[i] * i
    if not d:
        return 0.0
    keys = list(d)
    vals = np.array(list(d.values()))
    return vals @ vals + len(keys) + keys[0]


def norm_in_place(x, idx):
    d = {}
    for k, v in zip(idx, x, strict=True):
        d[k] = d[k] + v if k in d else v
    total = sum(d.values())
    for k in d:
        d[k] = d[k] / total
    ent = 0.0
    for p in d.values():
        ent -= p * np.log(p)
    return ent


def helper_hist(v, idx):
    h = {}
    for i in range(len(v)):
        h[idx[i]] = h.get(idx[i], 0.0) + v[i]
    return max(h.values())


def in_helper(x, idx):
    return helper_hist(x, idx) + helper_hist(x * x, idx)


def in_while(x, idx):
    d = {}
    i = 0
    while i < len(x):
        if x[i] > 0.3:
            d[idx[i]] = x[i] ** 2
        i += 1
    return sum((v * k for k, v in d.items()))


def inner_dict(x, idx):
    s = 0.0
    for r in range(3):
        seen = {}
        for i in range(r, len(x)):
            if idx[i] not in seen:
                seen[idx[i]] = x[i]
            else:
                s += x[i] * seen[idx[i]]
    return s


def sums_of_arrays(x, idx):
    acc = {}
    for i in range(len(idx)):
        row = np.array([x[i], x[i] ** 2])
        if idx[i] in acc:
            acc[idx[i]] = acc[idx[i]] + row
        else:
            acc[idx[i]] = row
    s = 0.0
    for k in acc:
        s += acc[k][0] * acc[k][1] * k
    return s


def in_branches(x, idx):
    d = {}
    if x[0] > 0.0:
        for i in range(len(x)):
            d[i % 3] = d.get(i % 3, 1.0) * x[i]
    else:
        d[7] = x[1]
    s = 0.0
    for k, v in d.items():
        s += v * (k + 1)
    return s


def mixed_reads(x, idx):
    w = collections.defaultdict(lambda: 0.5)
    for i in range(len(x)):
        w[i] += x[i]
        y = w[idx[i]] * w[i]
        w[i + 1] = y
    return sum(w.values()) + len(w)


def grouped(x, idx):
    groups = {}
    for i in range(len(x)):
        k = int(idx[i])
        if k not in groups:
            groups[k] = 0.0
        groups[k] += x[i]
    out = np.zeros(len(groups))
    for j, k in enumerate(sorted(groups)):
        out[j] = groups[k] ** 2
    return out.sum()


def grouped2(x, idx):
    groups = {}
    for i in range(len(x)):
        groups[idx[i]] = groups.get(idx[i], 0) + x[i]
    out = []
    for k in sorted(groups.keys()):
        out.append(groups[k] * k)
    return np.sum(np.array(out) ** 2)


def sparse_vec(x, idx):
    a = {}
    b = {}
    for i, v in enumerate(x):
        if i % 2 == 0:
            a[idx[i]] = v
        else:
            b[idx[i]] = v * v
    dot = 0.0
    for k, v in a.items():
        if k in b:
            dot += v * b[k]
    return dot + sum(a.values()) * sum(b.values())


def sparse_matrix(x, idx):
    A = {}
    n = len(x)
    for i in range(n):
        A[i, i] = 2.0 + x[i]
        if i > 0:
            A[i, i - 1] = -x[i - 1]
            A[i - 1, i] = -1.0
    y = np.zeros(n)
    for (r, c), v in A.items():
        y[r] += v * x[c]
    return y @ y


def fib_memo(x, idx):
    memo = {}
    memo[0] = x[0]
    memo[1] = x[1]
    for i in range(2, 10):
        memo[i] = memo[i - 1] + memo[i - 2] * x[2]
    return memo[9]


def memo_in_loop(x, idx):
    cache = {}
    total = 0.0
    for i in range(len(idx)):
        n = idx[i]
        if n in cache:
            total += cache[n]
        else:
            v = 1.0
            for j in range(n):
                v = v * x[j] + 1.0
            cache[n] = v
            total += v
    return total


def histogram(x, idx):
    hist = {}
    for v in x:
        b = int(v * 4)
        if b not in hist:
            hist[b] = []
        hist[b].append(v)
    s = 0.0
    for b in hist:
        s += sum(hist[b]) ** 2 / len(hist[b])
    return s


def groupdd(x, idx):
    g = defaultdict(list)
    for i in range(len(x)):
        g[idx[i]].append(x[i])
    s = 0.0
    for k, vs in g.items():
        m = sum(vs) / len(vs)
        s += m * m * k
        for v in vs:
            s += (v - m) ** 2
    return s


def best_item(x, idx):
    score = {}
    for i in range(len(x)):
        score[idx[i]] = score.get(idx[i], 0.0) + x[i]
    k = max(score, key=lambda q: score[q])
    lo = min(score, key=score.get)
    return score[k] ** 2 + score[lo] + k + max(score.values()) - min(score.values())


def keys_float(x, idx):
    d = {}
    for v in x:
        d[v] = d.get(v, 0.0) + v * v
    s = 0.0
    for k, v in d.items():
        s += k * v
    return s


def alias_rows(x, idx):
    pos = {}
    for i in range(len(x)):
        pos[i] = np.array([x[i], x[i] * 2.0, 1.0])
    e = 0.0
    for i in pos:
        for j in pos:
            if i < j:
                d = pos[i] - pos[j]
                e += 1.0 / np.sqrt(d @ d + 0.1)
    return e


def dict_of_vel(x, idx):
    pos = {i: np.array([x[i], x[i] ** 2]) for i in range(len(x))}
    vel = {i: np.zeros(2) for i in range(len(x))}
    for t in range(3):
        for i in pos:
            vel[i] += -0.1 * pos[i]
        for i in pos:
            pos[i] += 0.1 * vel[i]
    return sum(np.sum(p**2) for p in pos.values())


def update_in_branch(x, idx):
    d = {}
    for i in range(len(x)):
        if x[i] > 0.5:
            d[idx[i]] = x[i]
        elif x[i] > 0.3:
            d[idx[i]] = 2 * x[i]
        else:
            d[0] = x[i] ** 2
    r = 1.0
    for v in d.values():
        r *= 1 + v
    return r * len(d)


def while_in(x, idx):
    d = {}
    k = 0
    while k < len(x) and k not in d:
        d[idx[k]] = x[k]
        k += 1
    return sum(d[j] * j for j in d) + k


def bfs(x, idx):
    dist = {0: 0.0}
    order = [0]
    for step in range(len(x) - 1):
        u = order[step]
        for w in (u + 1, u + 2):
            if w < len(x) and w not in dist:
                dist[w] = dist[u] + x[w]
                order.append(w)
    return sum(dist.values())


def conditional(x, idx):
    d = {}
    for i in range(len(x)):
        d[idx[i]] = (d[idx[i]] if idx[i] in d else 1.0) * x[i]
    return d[3] + (d[9] if 9 in d else 0.25)


def triple(x, idx):
    d = {}
    for i in range(3):
        for j in range(3):
            for k in range(i + 1):
                key = (i, j, k)
                d[key] = x[i] * x[j] + x[k]
    s = 0.0
    for key in d:
        i, j, k = key
        s += d[key] * (i + 1) / (j + k + 1)
    return s


def spread_in_groups(x, idx):
    g = {}
    for i in range(len(x)):
        g.setdefault(idx[i], []).append(x[i])
    s = 0.0
    for k in sorted(g):
        vals = g[k]
        m = np.mean(vals)
        for v in vals:
            s += (v - m) ** 2 * k + m
    return s


def neighbours_by_default(x, idx):
    adj = defaultdict(list)
    n = len(x)
    for i in range(n):
        for j in range(n):
            if (i + 2 * j) % 3 == 0 and i != j:
                adj[i].append(j)
    r = np.ones(n)
    for it in range(3):
        new = np.zeros(n)
        for u in range(n):
            for w in adj[u]:
                new[w] += r[u] * x[u] / len(adj[u])
        r = 0.5 + new
    return np.sum(r * r)


def means_by_comprehension(x, idx):
    g = {}
    for k, v in zip(idx, x, strict=True):
        if k in g:
            g[k].append(v)
        else:
            g[k] = [v]
    means = {k: sum(v) / len(v) for k, v in g.items()}
    return sum(m**2 for m in means.values()) + len(g)


def lists_begun_anew(x, idx):
    g = {}
    for k, v in zip(idx, x, strict=True):
        if k not in g:
            g[k] = []
        g[k].append(v * v)
        if v > 0.8:
            g[k] = [v]
    s = 0.0
    for k in g:
        s += max(g[k]) - g[k][0] * 0.5 + g[k][-1] * len(g[k])
    return s


def rows_in_groups(x, idx):
    g = defaultdict(list)
    for i in range(len(x)):
        g[idx[i] % 2].append(np.array([x[i], x[i] ** 2]))
    s = 0.0
    for k, rows in g.items():
        c = sum(rows) / len(rows)
        for r in rows:
            s += np.sum((r - c) ** 2)
    return s


def groups_by_pairs(x, idx):
    g = defaultdict(list)
    for i in range(len(x)):
        g[idx[i] % 2, i % 2].append(x[i])
    s = 0.0
    for (a, b), vals in g.items():
        s += (a + 2 * b + 1) * np.prod(vals)
    return s


def what_came_before(x, idx):
    g = defaultdict(list)
    s = 0.0
    for i in range(len(x)):
        for v in g[idx[i]]:
            s += v * x[i]
        g[idx[i]].append(x[i])
    return s + len(g)


def renorm(x, idx):
    d = {}
    for k, v in zip(idx, x, strict=True):
        d[k] = d.get(k, 0.0) + v
    total = sum(d.values())
    d = {k: v / total for k, v in d.items()}
    h = 0.0
    for k, p in d.items():
        h -= p * np.log(p) * k
    return h


def other_comp(x, idx):
    d = {}
    for k, v in zip(idx, x, strict=True):
        d[k] = d.get(k, 0.0) + v
    e = {k: v * d[3] for k, v in d.items() if v > 0.5}
    return sum(e.values()) * len(e) + sum(d.values())


def neg_keys(x, idx):
    d = {}
    for i in range(len(x)):
        d[-idx[i] * 100] = x[i]
        d[-3] = d.get(-3, 1.0) * x[i]
    return sum((k * v for k, v in d.items()))


def deep(x, idx):
    s = 0.0
    for r in range(2):
        for i in range(len(x)):
            d = {}
            for j in range(i):
                if idx[j] in d:
                    d[idx[j]] *= x[i]
                else:
                    d[idx[j]] = x[j]
                if len(d) > 2:
                    break
            for k in d:
                if k == 2:
                    continue
                s += d[k] * (r + 1)
    return s


def two_level(x, idx):
    seen = {}
    out = {}
    for i in range(len(x)):
        k = idx[i]
        if k not in seen:
            seen[k] = len(seen)
        out[seen[k]] = out.get(seen[k], 0.0) + x[i]
    r = np.zeros(len(seen))
    for k, p in seen.items():
        r[p] = out[p] * k
    return r @ r


def vals_list(x, idx):
    d = defaultdict(float)
    for i, k in enumerate(idx):
        d[k] += x[i]
    vals = list(d.values())
    keys = np.array(list(d.keys()))
    top = sorted(d.values())
    return np.dot(np.array(vals), keys) + top[-1] * 2 + min(d) + max(d.keys()) + np.mean(list(d.values()))


def outer_if(x, idx):
    d = {}
    if x[0] < 5.0:
        for k, v in zip(idx, x, strict=True):
            if k in d and d[k] > v:
                d[k] -= v
            elif k not in d or d[k] < 0.1:
                d[k] = v
            else:
                d[k] *= v
    ok = all(v > -10 for v in d.values())
    n = sum(1 for k in d if k > 1)
    return sum(v**2 for v in d.values()) + n + (1.0 if ok else 0.0)


def dp_counts(x, idx):
    ways = {0: 1.0}
    for i in range(3):
        for j in range(6, -1, -1):
            if j in ways:
                ways[j + idx[i]] = ways.get(j + idx[i], 0.0) + ways[j] * x[i]
    return sum((v * (k + 1) for k, v in ways.items()))


def union_find(x, idx):
    parent = {i: i for i in range(len(x))}
    total = 0.0
    for i in range(len(x)):
        a = i
        while parent[a] != a:
            a = parent[a]
        b = idx[i]
        while parent[b] != b:
            b = parent[b]
        if a != b:
            parent[a] = b
            total += x[i] * x[b]
    return total


def swapd(x, idx):
    d = {}
    for i in range(len(x)):
        d[i] = x[i]
    for i in range(3):
        d[i], d[idx[i]] = (d[idx[i]], d[i] * 2.0)
    return sum(((k + 1) * v for k, v in d.items()))


def arrays_of_a_list_in_place(x, idx):
    v = [np.array([a, a * a]) for a in x]
    for t in range(3):
        for i in range(len(v)):
            v[i] += 0.1 * v[i - 1 if i > 0 else 0]
            v[i][0] *= 2.0
    return sum(np.sum(p**2) for p in v)


def arrays_left_to_a_list(x, idx):
    v = []
    for i in range(len(x)):
        r = np.array([x[i], 1.0])
        r[1] = x[i] * 3
        v.append(r)
    for i in range(len(v)):
        v[i] += 1.0
        v[i][0] *= x[i]
    return sum(np.sum(p**2) for p in v)


def arrays_left_by_turns(x, idx):
    v = []
    r = np.array([x[0], 1.0])
    for i in range(len(x)):
        v.append(r)
        r = np.array([x[i], 2.0])
        r[0] += 1.0
    for i in range(len(v)):
        v[i] *= 2.0
    return sum(np.sum(p**2) for p in v)


def arrays_left_by_a_helper(x, idx):

    def mk(a):
        q = np.array([a, 1.0])
        return q

    v = []
    for i in range(len(x)):
        r = mk(x[i])
        v.append(r)
    for i in range(len(v)):
        v[i] *= 2.0
    return sum(np.sum(p**2) for p in v)


def total_of(v, labels):
    t = {}
    for a, k in zip(v, labels, strict=False):
        if k not in t:
            t[k] = 0.0
        t[k] += a
    return (t[labels[0]], len(t))


def two_calls_of_a_helper(x, idx):
    a, n = total_of(x, idx)
    b, m = total_of(x * x, idx[1:])
    return a * n + b * m


def nested_cond(x, idx):
    d = {}
    n = len(x)
    for i in range(n):
        for j in range(i):
            if x[i] - x[j] < 0.5:
                key = idx[i] * 10 + idx[j]
                if key in d:
                    if d[key] > 0.4:
                        d[key] = d[key] * x[i]
                    else:
                        d[key] += x[j]
                else:
                    d[key] = x[i] * x[j]
            else:
                break
    return sum(d.values()) + 0.01 * len(d)


def dd_lambda(x, idx):
    d = defaultdict(lambda: 1.0)
    for i, k in enumerate(idx):
        d[k] *= 1.0 + x[i]
    s = sum((np.log(v) * k for k, v in d.items())) + len(d)
    s += d[77] * d[78] * d[3]
    return s + len(d)


def dd_arrays(x, idx):
    g = defaultdict(lambda: np.zeros(3))
    for i in range(len(x)):
        g[idx[i]] += x[i] * np.array([1.0, 2.0, x[i]])
    return sum(v @ v for v in g.values())


def cnt_loop(x, idx):
    c = Counter()
    for k in idx:
        c[k] += 1
    w = np.zeros(len(x))
    for i in range(len(x)):
        w[i] = 1.0 / c[idx[i]]
    return w @ x**2 + sum(c.values()) + max(c.values())


def seen_set_like(x, idx):
    seen = {}
    s = 0.0
    for i in range(len(x)):
        if idx[i] in seen:
            continue
        seen[idx[i]] = True
        s += x[i] ** 2
    return s * len(seen)


def ret_in(x, idx):
    best = {}
    for i in range(len(x)):
        k = idx[i]
        if k not in best or x[i] > best[k]:
            best[k] = x[i]
    res = np.zeros(6)
    for k, v in best.items():
        res[k] = v
    return np.sum(res * np.arange(6))


def edges(x, idx):
    W = {}
    n = len(x)
    for i in range(n - 1):
        W[i, i + 1] = x[i] * x[i + 1]
        W[i + 1, i] = W[i, i + 1]
    deg = {}
    for (u, v), w in W.items():
        deg[u] = deg.get(u, 0.0) + w
    return sum((w / np.sqrt(deg[u] * deg[v]) for (u, v), w in W.items()))


def state_dp(x, idx):
    best = {0: 0.0}
    for i in range(4):
        for c in range(8, -1, -1):
            if c in best:
                nc = c + idx[i]
                v = best[c] + x[i]
                if nc not in best or best[nc] < v:
                    best[nc] = v
    return max(best.values()) + best[0] + sum(best.values()) * 0.1


def while_memo(x, idx):
    memo = {1: 0.0}
    total = 0.0
    for i in range(2, 7):
        n = i
        steps = 0.0
        while n not in memo:
            steps += x[n % 7]
            n = n // 2 if n % 2 == 0 else n - 1
        memo[i] = steps + memo[n]
        total += memo[i]
    return total


def visited(x, idx):
    seen = set()
    s = 0.0
    for i in range(len(x)):
        if idx[i] in seen:
            continue
        seen.add(idx[i])
        s += x[i] ** 2 * len(seen)
    for k in sorted(seen):
        s += k * x[k]
    return s + max(seen)


def set_pairs(x, idx):
    done = set()
    s = 0.0
    for i in range(len(x)):
        for j in range(len(x)):
            a, b = (min(idx[i], idx[j]), max(idx[i], idx[j]))
            if (a, b) not in done and i != j:
                done.add((a, b))
                s += x[i] * x[j]
    return s + len(done)


def walk_until_seen(x, idx):
    seen = set()
    i = 0
    s = 0.0
    for _ in range(20):
        if i in seen:
            break
        seen.add(i)
        s += x[i]
        i = idx[i]
    return s * len(seen)


def set_display(x, idx):
    seen = {3, 77}
    n = 0
    for k in idx:
        if k not in seen:
            seen.add(k)
            n += 1
    return x[0] * n + len(seen)


def arrays_by_default_in_place(x, idx):
    g = defaultdict(lambda: np.zeros(3))
    for i in range(len(x)):
        g[idx[i]][i % 3] += x[i]
    return g[3] @ g[1] + g[3] @ g[3]


def arrays_by_default_under_names(x, idx):
    g = defaultdict(lambda: np.zeros(3))
    for i in range(len(x)):
        row = g[idx[i]]
        row[i % 3] += x[i]
    return g[3] @ g[1] + g[3] @ g[3]


def arrays_by_setdefault(x, idx):
    g = {}
    for i in range(len(x)):
        row = g.setdefault(idx[i], np.zeros(2))
        row[i % 2] += x[i]
    return sum(v @ v for v in g.values())


def pairs_as_values(x, idx):
    g = {}
    for i in range(len(x)):
        t = (x[i], i)
        g[idx[i]] = t
    s = 0.0
    for k, (v, i) in g.items():
        s += v * i * k
    return s + g[3][0]


def tuples_as_values(x, idx):
    g = {}
    for i in range(len(x)):
        g[idx[i]] = (x[i], 2.0 * x[i])
    a, b = g[3]
    return a * b + sum((p * q for p, q in g.values()))


def lists_as_values(x, idx):
    g = {}
    for i in range(len(x)):
        g[idx[i]] = [x[i], 1.0]
    g[3][0] *= 2.0
    g[1][1] += x[0]
    return sum(v[0] * v[1] for v in g.values())


def arrays_in_place_in_a_loop(x, idx):
    d = {}
    for i in range(len(x)):
        d[idx[i]] = x[:2] * (i + 1.0)
    for k, v in d.items():
        v += 1.0
        v[0] *= 2.0
    return sum(v @ v for v in d.values())


def names_like_ours(x, idx):
    place = 3.0
    key = 2
    item = x[0]
    d = {}
    for k in idx:
        d[k] = d.get(k, item) * place + key
        place = place + 0.5
        item = item * 0.9
    return sum(d.values()) * place + item + key


def defaults_that_are_read(x, idx):
    d = defaultdict(float)
    for i in range(len(x)):
        d[idx[i]] += d[idx[i] + 1] * x[i] + x[i]
    s = 0.0
    for k, v in d.items():
        s = 0.5 * s + k * v
    return s + len(d)


def counts_that_are_read(x, idx):
    c = Counter()
    for i in range(len(x)):
        c[idx[i]] += len(c) + x[i]
        c[idx[i]] *= 1.0 + c[99]
    return sum(c.values()) + len(c)


def left_in_a_loop(x, idx):
    d = {}
    for i in range(len(x)):
        v = x[i] if idx[i] not in d else d[idx[i]] * x[i]
        d[idx[i]] = v
        if len(d) >= 3:
            break
    else:
        d[100] = x[0]
    return sum((k * v for k, v in d.items()))


def two_at_once(x, idx):
    d = {}
    for i in range(len(x)):
        if i % 2 and idx[i] in d:
            d[idx[i]], d[i + 10] = (x[i], d[idx[i]])
        else:
            d[idx[i]] = x[i] ** 2
    s = 0.0
    for n, (k, v) in enumerate(d.items()):
        s += n * k * v
    return s


def square_of(a):
    return a * a


def calls_of_helpers(x, idx):
    d, e = {}, defaultdict(float)
    g = defaultdict(list)
    for i, k in enumerate(idx):
        d[k] = d.get(k, 0.0) + square_of(x[i])
        e[k] += square_of(x[i])
        e[k] += len(e) * x[i]
        g[k].append(square_of(x[i]) + len(g))
    s = sum(d.values())
    for k, v in e.items():
        s += v * k * sum(g[k])
    return s


def next_of(idx):
    idx[0] += 1
    return 2


def calls_that_change_keys(x, idx):
    d, e = {}, defaultdict(float)
    idx = idx * 1
    for k in range(20):
        d[k] = x[0] * k
    d[idx[0]] += next_of(idx) + x[1]
    d[idx[0]] = next_of(idx) + x[2]
    e[idx[0]] += next_of(idx) * x[3]
    e[next_of(idx) + idx[0]] += next_of(idx) * x[4]
    return sum(v * k for k, v in d.items()) + sum(v * k for k, v in e.items())


def sorted_lists_in_a_comprehension(x, idx):
    d = {}
    for i, k in enumerate(idx):
        d.setdefault(k, []).append(x[i])
    k = 3
    means = [sum(v) * k for k, v in sorted(d.items())]
    return means[0] + 3 * means[1] * k


def lists_if_there(x, idx):
    d = {}
    for i, k in enumerate(idx):
        d.setdefault(k, []).append(x[i])
    s = 0.0
    for k in range(7):
        s += sum(d[k]) ** 2 if k in d else 0.1
    return s


def defaults_if_there(x, idx):
    d = defaultdict(float)
    for i, k in enumerate(idx):
        d[k] += x[i]
    s = 0.0
    for k in range(7):
        if k in d and d[k] > 0.5:
            s += d[k] ** 2
    return s * len(d)


def sorted_and_its_own_value(x, idx):
    d = {}
    for k in idx:
        d[k] = d.get(k, 0.0) + x[k]
    s = 0.0
    for k, v in sorted(d.items()):
        d[k] = v * 2.0
        s = s * 0.5 + v
    return s * sum(d.values())


def keys_that_are_equal(x, idx):
    d = {}
    for i in range(len(x)):
        d[float(i)] = x[i]
        d[i] = d[i] * 2.0
    return sum(d.values()) * len(d)


def raised(idx):
    idx[0] += 1
    return idx[0]


def keys_before_values(x, idx):
    d = {raised(idx): x[idx[0] % 7] for _ in range(3)}
    e = {idx[k]: raised(idx) * x[1] for k in (0, 0, 1)}
    g = {(idx[0], raised(idx)): x[idx[0] % 7] + raised(idx) for _ in range(2)}
    total = sum(k * v for k, v in d.items()) + sum(k * v for k, v in e.items())
    for (a, b), v in g.items():
        total += (a + 10 * b) * v
    return total


def values_of_a_key_in_a_loop_over_it(x, idx):
    d = {}
    for i in range(7):
        d[i] = x[i]
    total = 0.0
    for k in d:
        if idx[k] > 1:
            d.setdefault((k + 1) % 7, 5.0)
        total += d[k] * k
    return total


def known_keys_that_are_equal(x, idx):
    d = {1: x[0], 2: x[1]}
    total = d.get(True, 5.0) + 2.0 * d[True] + 3.0 * d[1.0]
    d.setdefault(True, x[2])
    d[True] = d[1] * x[3]
    d.setdefault(2.0, x[4])
    return total + d[1] + len(d) * x[5]


def tuples_under_names(x, idx):
    d, e = {}, {}
    pairs = [(i, idx[i]) for i in range(7)]
    for pair in pairs:
        d[pair] = x[pair[0]]
    for pair in [(0, 3), (1, 1)]:
        d[pair] *= 2.0
    for i, pair in enumerate(d):
        e[pair] = d[pair] * i
    for pair, v in d.items():
        e[pair] += v
    start = (0, 3)
    return sum(e.values()) + d[start] * e[0, 3]


def best_by_values_of_defaults(x, idx):
    counts, groups = defaultdict(int), defaultdict(list)
    for k, v in zip(idx, x, strict=True):
        counts[k] += 1
        groups[k].append(v)
    best = max(counts, key=lambda k: counts[k])
    most = max(groups, key=lambda k: sum(groups[k]))
    return best * x[0] + most * x[1] + len(counts) * x[2] + sum(groups[best])


def tuples_in_lists(x, idx):
    """Their first numbers are subscripts."""
    links = defaultdict(list)
    for i, k in enumerate(idx):
        links[i].append((k, x[i]))
        links[k].append((i, 2.0 * x[i]))
    far = [0.5] * len(x)
    for k in range(len(x)):
        for j, w in links[k]:
            far[j] = far[j] + w * far[k]
    return sum(far) + len(links)


def tuples_in_lists_of_setdefault(x, idx):
    links = {}
    t = 0.0
    for i, k in enumerate(idx):
        links.setdefault(k, []).append((i, x[i], k))
    for k in links:
        for i, w, j in links[k]:
            t = 0.5 * t + w * x[i] * j
            if t > 1.2:
                break
    links[3] = []
    for i, w, j in links[3]:
        t += w * x[j]
    return t + len(links)


def empty_lists_of_a_comprehension(x, idx):
    """A key that comes twice has one list."""
    groups = {k: [] for k in idx if k > 1}
    t = 0.0
    for i, k in enumerate(idx):
        if k in groups:
            groups[k].append(x[i])
    for k in groups:
        t += k * sum(groups[k])
    links = {(i, j): [] for i in range(2) for j in range(i, 3)}
    for i, k in enumerate(idx):
        if (k % 2, 2) in links:
            links[k % 2, 2].append((k, x[i]))
    for j, w in links[1, 2]:
        t += x[j] * w
    return t + len(links) + len(groups)


def sets_of_what_there_is(x, idx):
    seen = set(idx)
    odd = {k for k in idx if k % 2 == 1}
    pairs = {(k, k % 2) for k in idx}
    some = set(k // 2 for k in idx)
    few = set([1, 2])
    all_of_them = set(range(len(x)))
    t = len(seen) * x[0] + len(pairs) * x[1] + len(some) * x[2] + len(all_of_them) * x[3]
    for k in sorted(seen):
        t = 0.5 * t + x[k]
        if k in odd and k not in few:
            t += x[k] ** 2
        if (k, 1) in pairs:
            t *= 1.1
    seen.add(6)
    return t + (6 in seen) * x[6] + max(odd)


def dictionaries_of_pairs(x, idx):
    last = dict(zip(idx, x))
    kept = last.copy()
    for k in idx:
        last[k] = last[k] * 2.0
    again = dict(kept)
    again[9] = x[0]
    t = 0.0
    for k, v in last.items():
        t += v * kept[k] * k
    return t + sum(again.values()) * len(again) + len(kept)


def first_of_each_by_none(x, idx):
    d, t = {}, 0.0
    for k, v in zip(idx, x):
        if d.get(k) is None:
            d[k] = v
        elif d.get(k + 1) is not None:
            t += d[k + 1] * v
        else:
            d[k] += v * v
    return t + sum(d.values())


def tuples_in_lists_summed_up(x, idx):
    links, t = {}, 0.0
    for i, k in enumerate(idx):
        links.setdefault(k, []).append((i, x[i]))
    for k in links:
        t = 0.5 * t + sum(w * x[i] * (i + 1) for i, w in links[k])
    return t + max(w for _, w in links[1])


def functions_inside_that_change_lists(x, idx):
    v, w = [], [1.0]

    def add(u):
        v.append(u * 2.0)
        w.append(u)

    def take():
        return v.pop()

    for u in x:
        add(u)
    take()
    return sum(v) * len(w) + sum(w) + len(v)


def dropped(v):
    return v.pop()


def results_that_nobody_takes(x, idx):
    v = [u for u in x]
    v.append(x[0])
    dropped(v)
    return sum(v) * len(v)
