"""Bodies of functions of `x` and `idx` that change lists and dictionaries: what Python makes of them, what it has
errors for, and what is refused since nobody could tell a list from a copy."""

from __future__ import annotations

SAME = (
    """v = [u * 2.0 for u in x]
t = 0.0
for k in range(3):
    v[-2:] = [v[0], v[1] * x[k], 3.0]
    v[1:1] = [x[k]]
    del v[:1]
    v[100:] = [x[0] * 1.5]
    del v[3:2]
    t += sum(v) * len(v)
v[5:1] = [7.0, x[1]]
return t + sum(k * u for k, u in enumerate(v))""",
    """v = [u for u in x]
w = v
del v[1:idx[0]]
v[1:3] = [u * u for u in v]
return sum(k * u for k, u in enumerate(w)) * len(v)""",
    """v = [u for u in x]
w = v[:]
v[1:2] = v
v[:] = [u * x[0] for u in v if u > 0.3]
return sum(k * u for k, u in enumerate(v)) + w[1] * len(v)""",
    """v = [(u, k) for k, u in enumerate(x)]
del v[1:-1]
return sum(k * u for u, k in v) + len(v)""",
    """p = [u for u in x]
while len(p) > 1:
    p = [p[i] * 0.7 + p[i + 1] for i in range(len(p) - 1)]
return p[0]""",
    """p = list(x)
t = 0.0
for k in range(len(x) - 1):
    p = [p[i] * p[i + 1] for i in range(len(p) - 1)]
    t += sum(p) * len(p)
return t""",
    """seen = [False] * 5
t = 0.0
for k, b in enumerate(seen):
    if b:
        t += x[k]
    seen[4] = True
return t""",
    """best = [None] * 5
t = 0.0
for u in best:
    t += x[1] if u is None else u
    best[3] = x[3]
return t""",
    """w = [True, False, True]
t = 0.0
for k, u in enumerate(w):
    w[k] = not u
    if w[k]:
        t += x[k]
return t""",
    """v = [u for u in x]
v.insert(len(v) - 3, v.pop(1))
return sum((k + 1) * u for k, u in enumerate(v))""",
    """w = [u for u in x]
v = [1.0]
v.extend([w.pop(2), w[0], w.pop(-2)])
return sum((k + 1) * u for k, u in enumerate(v)) + w[2]""",
    """v = [u for u in x]
v.sort(key=lambda p: (lambda p: p * p - 1.4 * p)(0.5 * p) - 0.1 * p)
return sum((k + 1) * u for k, u in enumerate(v))""",
    """def put(d, k, v):
    d[k] = sum(k * i * u for i, u in enumerate(v))
d = {}
for i in range(3):
    put(d, i, x)
return sum(d.values())""",
    """def put(d, k, j, v):
    d[k] = sum(j * k * u for u in v) + sum([k * w for k, w in enumerate(v)])
d = {}
for i in idx:
    put(d, i, i, x)
return sum((k + 1) * u for k, u in d.items())""",
    """def size(d):
    return 1.0 * len(d)
d = defaultdict(float)
d[idx[0]] = x[0]
d[9] += size(d)
return d[idx[0]] + d[9] * x[1]""",
    """def g(u):
    v = [u]
    v.insert(0, 2.0 * u)
    return v[0] * v[1]
t = 0.0
for v in np.ones((2, 3)) * x[0]:
    v += x[:3]
    t += g(v[0] * v[2])
return t""",
    """def bump(v, k):
    v.append(k)
    v[0] += 1.0
    return k * v[0]
w = [x[0]]
for i in range(3):
    w[0] += bump(w, x[i])
return sum(w)""",
    """def put(d, y, k, u):
    d[k] = u
    y[0] = 5.0
    return u * 2.0
d = {}
x[0] += put(d, x, idx[0], x[1])
return x[0] + d[idx[0]]""",
    """best = [None] * len(x)
for k in range(len(x)):
    best[k] = x[k]
t = 0.0
if sum(best) > 0.5 and min(best) > 0.0:
    t = max(best)
while max(best) < 3.0 and t < 0.1:
    t += 1.0
for a, b in zip(best, x):
    t += a * b
assert len(best) > 3, "too few"
return t""",
    """table = [[None] * len(x) for _ in range(2)]
table[0][1] = x[1]
return table[0][1] * len(table[0]) + (1.0 if table[1][1] is None else 2.0)""",
    """def make():
    d = {}
    for k in idx:
        d[k] = x[k]
    return d
d = make()
e = make()
e[1] = 5.0
return sum(d.values()) * 10 + sum(e.values())""",
    """v = [a for a in x]
v.insert(-2, 5.0)
v.insert(100, 6.0)
v.insert(-100, 7.0)
v.insert(int(idx[0]), x[0])
return sum((i + 1) * a for i, a in enumerate(v))""",
    """v = [a for a in x]
t = v.pop(2) + 2 * v.pop(-2)
t += v.pop(int(idx[2]) - 1) * 3
return t + sum((i + 1) * a for i, a in enumerate(v))""",
    """v = [a for a in x]
v.pop(-7)
return sum((i + 1) * a for i, a in enumerate(v))""",
    """v = [a for a in x]
del v[1]
del v[-1]
return sum((i + 1) * a for i, a in enumerate(v))""",
    """v = [k for k in idx]
v.remove(1)
v.remove(3)
return sum((i + 1) * a * x[i] for i, a in enumerate(v))""",
    """v = [k for k in idx]
return x[v.index(2)] + v.count(1) * x[1] + v.index(5)""",
    """v = [a for a in x]
w = v
v.insert(0, 9.0)
return sum(w) + w[0]""",
    """v = [a for a in x]
w = v[:]
v.insert(0, 9.0)
return sum(w) + w[0]""",
    """v = [a for a in x]
w = v
v = v[2:]
return sum(w) * 10 + sum(v)""",
    """v = [a for a in x]
w = v
v = v[2:]
v.append(3.0)
w.append(5.0)
return sum(w) * 10 + sum(v)""",
    """v = [a for a in x]
w = [1.0]
for k in range(3):
    w = v
    w.append(5.0 + k)
return sum(v)""",
    """v = [a for a in x]
w = [1.0]
for k in range(3):
    w = v
    v = [x[k]]
    v.append(x[0] * 2)
return sum(v) + 3 * sum(w)""",
    """rows = []
row = [x[0]]
for k in range(4):
    rows.append(row)
    row = row + [x[k]]
return sum(sum(r) for r in rows)""",
    """a = [x[0]]
b = [x[1], x[2]]
for k in range(4):
    t = a
    a = b
    b = t
    b.append(x[k])
return sum(a) + 10 * sum(b) + 100 * len(a)""",
    """v = [a for a in x]
v.sort(reverse=True)
return sum((i + 1) * a for i, a in enumerate(v))""",
    """v = [a for a in x]
v.sort(key=lambda a: (a - 0.7) ** 2)
return sum((i + 1) * a for i, a in enumerate(v))""",
    """v = [(k, a) for k, a in zip(idx, x)]
v.sort()
return sum((i + 1) * k * a for i, (k, a) in enumerate(v))""",
    """v = [(k, a) for k, a in zip(idx, x)]
v.sort(reverse=True)
return sum((i + 1) * k * a for i, (k, a) in enumerate(v))""",
    """v = [(k, a) for k, a in zip(idx, x)]
v.sort(key=lambda p: p[0], reverse=True)
return sum((i + 1) * k * a for i, (k, a) in enumerate(v))""",
    """v = [(k, a) for k, a in zip(idx, x)]
w = sorted(v, key=lambda p: (-p[0], p[1]))
return sum((i + 1) * k * a for i, (k, a) in enumerate(w)) + v[0][1]""",
    """t = 0.0
for k, a in sorted(zip(idx, x), key=lambda p: p[0]):
    t = t * 1.5 + k * a
return t""",
    """t = 0.0
for i in sorted(range(len(x)), key=lambda i: -x[i]):
    t = t * 1.5 + i * x[i]
return t""",
    """return sorted(x, key=lambda a: abs(a - 0.5))[0] * min(x, key=lambda a: abs(a - 1.0)) + 3""",
    """k = min(range(len(x)), key=lambda i: abs(x[i] - 0.8))
return x[k] * k""",
    """best = max(zip(x, idx))
return best[0] * best[1]""",
    """q = deque(maxlen=3)
t = 0.0
for a in x:
    q.append(a)
    t = t * 0.5 + q[0] * len(q)
return t""",
    """q = deque(maxlen=0)
t = 0.0
for a in x:
    q.append(a)
    t += len(q) + a
return t""",
    """q = deque([1.0, 2.0, 3.0, 4.0], maxlen=2)
q.appendleft(x[0])
return q[0] + 10 * q[1] + len(q)""",
    """q = deque([1.0, 2.0, 3.0, 4.0], 2)
q.append(x[0])
return q[0] + 10 * q[1] + len(q) + q.popleft()""",
    """v = [a for a in x]
v.reverse()
v.insert(1, v[0])
return sum((i + 1) * a for i, a in enumerate(v))""",
    """v = [a for a in x]
v.clear()
v.append(x[1])
return sum((i + 1) * a for i, a in enumerate(v)) + len(v)""",
    """v = [k for k in idx]
return x[0] if 3 in v and 7 not in v else x[1]""",
    """v = [a for a in x]
t = v.pop(1) * len(v)
return t""",
    """v = [a for a in x]
t = v.pop(1) - v.pop(1) * 3.0
return t""",
    """v = [a for a in x]
v[0] = v.pop(1)
return sum((i + 1) * a for i, a in enumerate(v))""",
    """h = []
for k, a in zip(idx, x):
    heapq.heappush(h, (a, k))
t = 0.0
while h:
    a, k = heapq.heappop(h)
    t = t * 1.1 + a * k
    if k == 3 and len(h) > 3:
        heapq.heappush(h, (a * 0.5, 1))
return t""",
    """h = [(k, a) for k, a in zip(idx, x)]
heapify(h)
t = 0.0
while len(h) > 2:
    item = heappop(h)
    t = t * 1.1 + item[0] * item[1]
return t + h[0][1] + 3 * h[1][1]""",
    """h = list(x)
heapify(h)
return sum((i + 1) * a for i, a in enumerate(h))""",
    """h = [(0.0, 0, 0)]
seen = set()
t = 0.0
while h:
    d, i, j = heappop(h)
    if (i, j) in seen:
        continue
    seen.add((i, j))
    t += d * (i + 2 * j)
    if i < 2:
        heappush(h, (d + x[i], i + 1, j))
    if j < 2:
        heappush(h, (d + x[j + 3], i, j + 1))
return t""",
    """h = []
for a in x:
    heappush(h, -a)
    if len(h) > 3:
        heappop(h)
return sum(h) + h[0]""",
    """return sum(nsmallest(3, x)) + nlargest(2, x)[1]""",
    """return sum(heapq.nlargest(2, [a for a in x], key=lambda a: -a))""",
    """v = [None] * 3
v[1] = x[0]
return v[1] * (v[0] is None) + (v[-1] is not None)""",
    """v = [None] * 3
for i in range(3):
    v[i] = x[i]
return sum(v) + v[-1]""",
    """v = [None] * 3
v[0] = x[0]
v.append(x[1])
return v[0] + v[3]""",
    """v = [None] * 3
v[2] = x[0]
t = 0.0
for i, a in enumerate(v):
    if a is not None:
        t += a * i
    else:
        t += 1.0
return t""",
    """d = {}
for k, a in zip(idx, x):
    d[k] = a
for k in list(d.keys()):
    if k > 2:
        del d[k]
d[9] = 2.0
return sum((i + 1) * k * v for i, (k, v) in enumerate(d.items()))""",
    """d = {0: x[0]}
for t in range(4):
    e = {}
    for k, v in d.items():
        e[k + 1] = e.get(k + 1, 0.0) + v * x[t]
        e[k] = e.get(k, 0.0) + v
    d = e
return sum(k * v for k, v in d.items())""",
    """d = {}
for k, a in zip(idx, x):
    d[k] = a
for k, v in sorted(d.items(), key=lambda kv: kv[1], reverse=True):
    d[k] = v * 0.5 + k
return sum((i + 1) * v for i, v in enumerate(d.values()))""",
    """d = {}
for k, a in zip(idx, x):
    d[k] = a
best = max(d.items(), key=lambda kv: kv[1])
return best[0] * best[1]""",
    """d = {}
for k, a in zip(idx, x):
    d[k, k + 1] = a
t = d.pop((1, 2)) + d.pop((9, 9), 4.0)
del d[3, 4]
return t + sum(d.values()) * len(d)""",
    """s = {1, 2, 3}
s.add(int(idx[0]) + 4)
s.remove(2)
s.discard(2)
return x[0] * len(s) + (2 in s) + (7 in s)""",
    """front = [0]
seen = [0]
t = 0.0
while front:
    new = []
    for u in front:
        t += x[u]
        for w in (2 * u + 1, 2 * u + 2):
            if w < 7 and w not in seen:
                seen.append(w)
                new.append(w)
    front = new
    if t > 3.0:
        break
return t + len(front)""",
    """coeffs = [1.0]
for r in x[:4]:
    coeffs = [a + r * b for a, b in zip(coeffs + [0.0], [0.0] + coeffs)]
return sum((i + 1) * c for i, c in enumerate(coeffs))""",
    """beam = [(0.0, 0)]
for a in x[:4]:
    cand = []
    for s, n in beam:
        cand.append((s + a, n + 1))
        cand.append((s - a * 0.5, n))
    cand.sort(reverse=True)
    beam = cand[:3]
return sum(s * n for s, n in beam)""",
    """best = []
path = []
for i, a in enumerate(x):
    path = path + [a] if a < 1.0 else [a]
    if len(path) > len(best):
        best = path
return sum((i + 1) * a for i, a in enumerate(best))""",
    """v = [(a, k) for a, k in zip(x, idx)]
v.insert(1, (2.0, 5))
w = v.pop(2)
v[0], v[1] = v[1], v[0]
v.reverse()
return sum((i + 1) * a * k for i, (a, k) in enumerate(v)) + w[0]""",
    """v = [(a, k) for a, k in zip(x, idx)]
for p in sorted(v, key=operator.itemgetter(1)):
    if p[1] > 1:
        return p[0] * p[1]
return x[0]""",
    """def by(p):
    return p[1] - p[0]
v = [(a, k) for a, k in zip(x, idx)]
v.sort(key=by)
return sum((i + 1) * a * k for i, (a, k) in enumerate(v))""",
    """stack = [(0, 1.0)]
t = 0.0
while stack:
    i, w = stack.pop()
    t += w * x[i]
    if 2 * i + 2 < 7:
        stack.append((2 * i + 1, w * 0.5))
        stack.insert(0, (2 * i + 2, w * 0.25))
return t""",
    """q = deque([x[0]])
q.append(x[1])
q.appendleft(x[2])
return q[0] + 2 * q[1] + q.pop() * 3""",
    """v = [a for a in x]
t = v.pop(1) * len(v) + v[0]
v[0] = v.pop(2)
return t + sum((i + 1) * a for i, a in enumerate(v))""",
    """def push(h, a):
    h.append(a)
    h.insert(0, 2 * a)
h = []
for a in x:
    push(h, a)
return sum((i + 1) * a for i, a in enumerate(h))""",
    """def bump(d, k):
    d[k] = d.get(k, 0.0) + x[k]
    return d[k] * 2
d = {}
t = 0.0
for k in idx:
    t += bump(d, k)
u = bump(d, 9 - 5)
return t + u + sum(d.values())""",
    """def step(d, u):
    new = {}
    for k, v in d.items():
        new[k + 1] = new.get(k + 1, 0.0) + v * u
        new[k] = new.get(k, 0.0) + v * (1 - u)
    return new
d = {0: 1.0}
for u in x:
    d = step(d, u)
return sum(k * k * v for k, v in d.items())""",
    """def total(d):
    return sum(d.values())
d = {}
for k in idx:
    d[k] = x[k]
t = total(d)
return total(d) + t""",
    """def f(v, k):
    k += 1
    v.insert(k, x[0])
    return k
v = [a for a in x]
k = 2
j = f(v, k)
return sum((i + 1) * a for i, a in enumerate(v)) + k + 10 * j""",
    """def f(v):
    for a in v:
        t = a
    return t
t = 5.0
d = {}
for k in idx:
    d[k] = x[k]
u = f(d)
return t + u""",
    """def f(v):
    v.append(x[0])
    v.sort()
v = [a for a in x]
f(v)
f(v)
return sum((i + 1) * a for i, a in enumerate(v))""",
    """v = [None] * 4
v[1] = x[0]
w = v[:]
w[2] = x[1]
return w[1]""",
    """v = [None] * 4
k = 0
while k < 4 and v[k] is None:
    v[k] = x[k]
    k += 2
return v[0] + v[2] + k""",
    """v = [None] * len(x)
for i in range(len(x)):
    v[i] = x[i] if i == 0 else v[i - 1] * x[i]
return max(v) + v[-1]""",
    """v = [None] * len(x)
for i in range(len(x)):
    v[i] = x[i] > 0.5
return x[0] if v[3] and not v[0] else x[1]""",
    """v = [None] * 3
v[0], v[1] = x[0], x[1]
return v[0] + v[1]""",
    """q = deque([(0, 0)])
seen = {(0, 0)}
t = 0.0
while q:
    i, j = q.popleft()
    t += x[i] * x[j]
    for di, dj in ((0, 1), (1, 0)):
        a, b = i + di, j + dj
        if a < 4 and b < 4 and (a, b) not in seen:
            seen.add((a, b))
            q.append((a, b))
return t""",
    """v = [a for a in x]
for i in range(len(v)):
    k = min(range(i, len(v)), key=lambda j: v[j])
    v[i], v[k] = v[k], v[i]
return sum((i + 1) * a for i, a in enumerate(v))""",
    """v = sorted(x)
v.append(3.0)
v.remove(3.0)
return v[0] + v[len(v) // 2] * 2 + max(v, key=lambda a: -abs(a - 0.4))""",
    """v = [(x[0], 1.0)]
w = v
v += [(x[1], 2.0)]
return sum(a * b for a, b in w)""",
    """v = [a for a in x]
w = [v, v]
v.sort()
return w[0][0]""",
    """v = [a for a in x]
w = {0: v}
v.sort()
return w[0][0]""",
    """v = [a for a in x]
w = np.array(v)
v.sort()
v.insert(0, 9.0)
return w[0] + w[1]""",
    """v = [a for a in x]
w = v[1:4]
u = v[0]
v.sort(reverse=True)
v.insert(0, 9.0)
return w[0] + w[1] * 2 + u""",
    """best, path = [], []
for a in x:
    path = path + [a]
    if sum(path) < 2.0:
        best = path
return sum(best) + len(best)""",
    """best = []
path = []
for a in x:
    path.append(a)
    if sum(path) < 2.0:
        best = path[:]
return sum(best) + len(best)""",
    """best = []
path = []
for a in x:
    path.append(a)
    if sum(path) < 2.0:
        best = list(path)
best.append(1.0)
path.pop(1)
return sum(best) + len(best) + 10 * sum(path)""",
    """def f(v):
    return v
a = [u for u in x]
b = f(a)
a = a[1:]
return sum(b) + 10 * sum(a)""",
    """h = [3.0, 1.0, 2.0]
t = heappop(h) + x[0]
return t + h[0]""",
    """d = {}
for k in idx:
    d[k] = x[k]
ks = list(d)
vs = d.values()
d.pop(1)
return sum(vs) + sum(ks) * x[0]""",
    """d = {}
for k in idx:
    d[k] = x[k]
for k, v in list(d.items()):
    if v < 0.8:
        d.pop(k)
    d[k + 10] = v
return sum(k * v for k, v in d.items())""",
    """d = {}
for k in idx:
    d[k] = x[k]
d[7] = d.pop(1) + d.pop(2)
return sum((i + 1) * k * v for i, (k, v) in enumerate(d.items()))""",
    """v = [None] * 4
v[1] = x[0]
t = 0.0
for u in v:
    if u is not None:
        t += u
for u in x:
    t += u
return t""",
    """v = [None] * 4
v[1] = x[0]
t = sum(u for u in v if u is not None)
for u in x:
    t += u
return t""",
    """v = [None] * 4
v[1] = x[0]
a = v[1]
b = v[2]
t = 0.0
if a is not None:
    t += a
if b is None:
    t += 2 * x[1]
b = x[3]
return t + b + a""",
    """memo = [None] * 8
t = 0.0
for k in idx:
    c = memo[k]
    if c is None:
        c = x[k] ** 2
        memo[k] = c
    t += c
return t""",
    """prev = [None] * 7
for i in range(1, 7):
    if i > 1:
        prev[i] = i - 2
k = 6
t = 0.0
while k is not None:
    t += x[k]
    k = prev[k]
return t""",
    """v = [None] * 3
for i in range(3):
    c = x[i] if i > 5 else None
    v[i] = c
return x[0] if v[0] is None else x[1]""",
    """v = [None] * 3
w = [None] * 3
v[0] = x[0]
w[1] = v[1]
return v[0] + (w[1] is None)""",
    """n = len(x)
v = [None] * n
i = 0
while i < n:
    v[i] = i * x[i]
    i += 2
k = 0
while v[k] is not None:
    k += 2
    if k >= n:
        break
return k * x[0]""",
    """n = len(x)
v = [None] * n
v[idx[0]] = x[1]
t = x[0]
if v[idx[1]] is None and v[idx[0]] is not None:
    t += v[idx[0]]
v[idx[0]] += 1.0
t += v[idx[0]]
return t""",
    """n = len(x)
v = [0.0] * n
w = v
heapify(v)
heappush(w, x[0])
return sum(v) + len(w)""",
    """v = [a for a in x]
s = 0.0
for i in range(3):
    best = max(v, key=lambda a: a)
    v.remove(best)
    s += best * (i + 1)
return s + len(v)""",
    """d = {}
for k in idx:
    d[k] = x[k]
while d:
    k = min(d)
    t = d.pop(k)
return t""",
    """d = {}
t = 0.0
for k in idx:
    if k in d:
        t += d.pop(k)
    else:
        d[k] = x[k]
return t * 2 + sum(d.values())""",
    """d = {}
for k in idx:
    d[k] = x[k]
e = {k: v * 2 for k, v in d.items() if v > 0.3}
d = e
return sum(k * v for k, v in d.items())""",
    """s = set()
for k in idx:
    s.add(k)
t = 0.0
while len(s) > 1:
    m = min(s)
    s.remove(m)
    t += x[m]
return t""",
    """t = 0.0
v = []
for a in x:
    v.insert(len(v) // 2, a)
    if len(v) > 3:
        v.pop(1)
        continue
    t += v[0]
return t + sum((i + 1) * a for i, a in enumerate(v))""",
    """t = 0.0
for a in x:
    q = deque(maxlen=2)
    for b in x:
        q.append(a * b)
    t += q[0] - 2 * q[-1]
return t""",
    """rows = []
for a in x:
    row = [a]
    row.insert(0, 2 * a)
    rows.append(row)
return sum(r[0] * r[1] for r in rows)""",
    """n = len(x)
v = [None] * n
v[0] = x[0]
for i in range(1, n):
    if i % 2 == 1:
        v[i] = v[i - 1]
t = 0.0
for i in range(n):
    c = v[i]
    v[i] = c
    if c is not None:
        t += c * i
return t + sum(1 for u in v if u is None)""",
    """def f(d):
    s = 0.0
    for k in d:
        s += t * d[k]
    return s
t = 2.0
d = {}
for k in idx:
    d[k] = x[k]
t = f(d)
return t""",
    """def f(d, k):
    k = k + 1
    d[k] = x[k]
    return k
d = {}
k = 1
k = f(d, k)
k = f(d, k)
return k * sum(d.values())""",
    """def f(d, u):
    for u in x[:3]:
        d[1] = d.get(1, 0.0) + u
d = {}
u = 5.0
f(d, u)
return u + d[1]""",
    """def make(n):
    v = []
    for i in range(n):
        v.insert(0, x[i])
    return v
v = make(3)
w = make(2)
v.append(w[0])
return sum((i + 1) * a for i, a in enumerate(v))""",
    """a = [(u, k) for u, k in zip(x, idx)]
a.sort()
p = a[2]
a[2] = (9.0, 1)
return p[0] * p[1] + a[2][0]""",
    """a = [(u, k) for u, k in zip(x, idx)]
a.insert(0, a[3])
a.insert(0, a.pop(2))
return sum((i + 1) * u * k for i, (u, k) in enumerate(a))""",
    """a = [u for u in x]
b = [u * 2 for u in x]
a.insert(0, b.pop(2))
b.insert(1, a.pop(1) + a.pop(2))
return sum((i + 1) * u for i, u in enumerate(a)) + sum((i + 1) * u for i, u in enumerate(b))""",
    """h = []
for u in x:
    heappush(h, (u > 0.6, u))
t = 0.0
while h:
    b, u = heappop(h)
    t = 2 * t + u
return t""",
    """table = []
prev = [0.0] * 7
for i in range(3):
    row = []
    for j in range(7):
        row.append(prev[j] * 0.5 + x[j] * (row[-1] if row else 1.0))
    table.append(row)
    prev = row
return sum(sum(r) for r in table) + prev[-1]""",
    """old = [0.0]
hist = []
for k in range(3):
    new = []
    for u in x:
        new.append(u + old[0])
    hist.append(new)
    old = new
for r in hist:
    r[0] = 2.0
return sum(old) + sum(hist[1])""",
    """old = [0.0]
hist = []
for k in range(3):
    new = []
    for u in x:
        new.append(u + old[0])
    hist.append(new)
    old = new
hist[2][0] = 7.0
return sum(old) + sum(hist[1])""",
    """def poke(g):
    g[2][0] = 7.0
old = [0.0]
hist = []
for k in range(3):
    new = []
    for u in x:
        new.append(u + old[0])
    hist.append(new)
    old = new
poke(hist)
return sum(old) + sum(hist[1])""",
    """prev2 = [0.0] * 7
prev = [1.0] * 7
for k in range(4):
    cur = [0.0] * 7
    for j in range(7):
        cur[j] = prev[j] * x[j] + prev2[j] * 0.5
    prev2 = prev
    prev = cur
return sum(prev) + sum(prev2)""",
    """a = [u for u in x]
b = [2.0 * u for u in x]
for k in range(3):
    c = a
    a = b
    b = c
    b[k] = 3.0 * x[k]
return sum((k + 1) * u for k, u in enumerate(a)) + sum(b)""",
    """def total(v):
    return sum(v) + v[0]
q = deque()
for u in x:
    q.append(u)
return total(q)""",
    """q = deque()
for u in x:
    q.append(u)
t = q.popleft() + q.pop() * len(q)
return t + sum(q) * q[-1]""",
    """q, v = deque([x[0]]), [x[1]]
q.append(x[2])
v.append(x[3])
return v.pop(0) + q.popleft()""",
    """best = [None] * 7
for k in idx:
    best[k] = x[k]
return sum(1.0 for b in best if b) + x[0]""",
    """best = [None] * 7
for k in idx:
    best[k] = x[k]
return (best[1] or 5.0) + (best[0] or 6.0)""",
    """best = [None] * 7
for k in idx:
    best[k] = x[k]
t = 0.0
for k in range(7):
    if not best[k]:
        continue
    t += best[k]
return t""",
    """best = [None] * 7
for k in idx:
    best[k] = x[k]
t = 0.0
for k in range(7):
    b = best[k]
    if b and b > 0.5:
        t += b
    elif b is None:
        t += 10.0
return t""",
    """best = [None] * 7
for k in idx:
    best[k] = x[k]
return 1.0 if best[0] == best[6] else x[0]""",
    """best = [None] * 7
for k in idx:
    best[k] = x[k]
return 1.0 if best[0] != x[0] else x[1]""",
    """best = [None] * 7
for k in idx:
    best[k] = x[k]
t = 0.0
k = 0
while k < 7 and not best[k]:
    k += 1
return x[k % 7] + k""",
    """best = [None] * 7
for k in idx:
    best[k] = x[k]
return x[0] if best[1] and best[3] else x[2] * 3.0""",
    """best = [None] * 7
for k in idx:
    best[k] = x[k]
w = [b for b in best if b]
v = [b or 1.0 for b in best]
return sum(w) + sum(v)""",
    """best = [None] * 7
for k in idx:
    best[k] = x[k]
t = bool(best[2])
return x[0] if t else x[1]""",
    """best = [[None] * 3 for _ in range(3)]
for k in idx:
    best[k % 3][0] = x[k]
t = 0.0
for i in range(3):
    for j in range(3):
        t += best[i][j] if best[i][j] else 2.0
return t""",
    """d = {}
for k, u in zip(idx, x):
    d[k] = u
d.pop(77, None)
return sum(d.values())""",
    """a = [x[0]]
b = [x[1], x[2]]
for k in range(4):
    a, b = b, a
    b.append(x[k])
return sum(a) + 10 * sum(b) + 100 * len(a)""",
    """seen = [False] * 8
order = []
def visit(u):
    seen[u] = True
    order.append(u)
visit(0)
visit(3)
return x[order[1]] + len(order) + seen[3]""",
    """g = [[x[0]], [x[1]]]
g.append(g[0])
g[0].append(x[2])
return sum(g[2]) * 10 + sum(g[0])""",
    """g = [[x[0]], [x[1]]]
g.extend(g)
g[0].append(x[2])
return sum(g[2]) * 10 + sum(g[0])""",
    """d = {"a": [x[0]], "b": [x[1]]}
d.update(c=d["a"])
d["a"].append(x[2])
return sum(d["c"]) * 10 + sum(d["a"])""",
    """g = [[x[0]], [x[1]]]
g.insert(0, g[1])
g[2].append(x[3])
return sum(g[0]) * 10 + sum(g[2])""",
)

ERRORS = (
    """best = [None] * len(x)
best[0] = x[0]
if sum(best) > 0.0:
    return x[1]
return x[2]""",
    """best = [None] * len(x)
best[0] = x[0]
t = 0.0
while min(best) < 1.0 and t < 3.0:
    t += 1.0
return x[0] * t""",
    """best = [None] * len(x)
best[0] = x[0]
t = 0.0
for u in sorted(best):
    t += u
return t""",
    """best = [None] * len(x)
best[0] = x[0]
t: float = sum(best)
return t""",
    """best = [None] * len(x)
best[0] = x[0]
if x[0] > 0.9:
    t = 1.0
elif max(best) > 0.0:
    t = 2.0
else:
    t = 3.0
return t * x[0]""",
    """best = [None] * len(x)
best[0] = x[0]
assert sum(best) > 0.0
return x[1]""",
    """v = [a for a in x]
return v.pop(int(idx[0]) + 20)""",
    """v = [a for a in x]
return v.pop(-8)""",
    """v = [k for k in idx]
v.remove(7)
return x[0]""",
    """v = [k for k in idx]
return x[v.index(9)]""",
    """import_ = [a for a in x if a > 9.0]
return x[0] + min(import_, key=lambda a: -a)""",
    """q = deque(maxlen=int(idx[0]) - 9)
q.append(x[0])
return q[0]""",
    """h = [1.0]
heappop(h)
return x[0] + heappop(h)""",
    """v = [None] * 3
for i in range(3):
    v[i] = x[i]
v[1] = None
return sum(v)""",
    """v = [None] * 3
v[0] = x[0]
return v[0] if v[3] is None else x[1]""",
    """v = [None] * 3
v[2] = x[0]
t = 0.0
for a in v:
    t += a
return t""",
    """d = {}
for k, a in zip(idx, x):
    d[k] = a
return d.pop(8)""",
    """s = {1, 2, 3}
s.add(int(idx[0]) + 4)
s.remove(9)
return x[0] * len(s)""",
    """v = [float("nan"), x[0], x[1]]
v.sort(key=lambda a: -a)
return v[0]""",
    """v = [None] * 4
b = v[2]
t = 0.0
if b is None:
    t += b
return t""",
)

REFUSED = (
    """v = [u for u in x]
v[::2] = [1.0, 2.0, 3.0, x[0]]
return sum(v)""",
    """v = [u for u in x]
v[1:3] = x[:3] * 2.0
return sum(v)""",
    """v = [u for u in x]
v += x
return sum(v) + len(v)""",
    """def kind(a):
    return 1.0 if isinstance(a, list) else 2.0
rows = [[u, 1.0] for u in x]
t = 0.0
for r in rows:
    t += kind(r) * r[0]
return t + kind(rows[0])""",
    """def total(p):
    if isinstance(p, list):
        return 2.0 * sum(p)
    return sum(p)
v = [u for u in x]
return total(v) + total(x)""",
    """v = [u for u in x]
w = v
t = w[1] * v.pop(1)
return t + sum(w)""",
    """v = [u for u in x]
w = v
t = len(w) * v.pop(2) + len(w)
return t""",
    """v = [u for u in x]
w = [v, v]
t = w[0][1] * v.pop(1)
return t + len(w[1])""",
    """v = [u for u in x]
heapify(v)
w = v
t = w[0] - 2.0 * heappop(v)
return t + len(w)""",
    """d = {"a": True, "b": False}
t = 0.0
for k, b in d.items():
    if b:
        t += x[0]
    d.update(b=True)
return t""",
    """w = [None, True, False]
t = 0.0
for u in reversed(w):
    if u:
        t += x[0]
    w[0] = True
return t""",
    """def size(d):
    return len(d)
d = defaultdict(float)
d[idx[0]] = x[0]
y = d[9] + size(d) * x[1]
return y + d[idx[0]]""",
    """def size(d):
    return len(d)
d = defaultdict(float)
d[idx[0]] = x[0]
d[9] += size(d) * x[1]
return d[9] + d[idx[0]]""",
    """q = deque(maxlen=3)
for u in x:
    q.append(u)
r = q.copy()
r.append(1.0)
return sum(r) + sum(q) * 2""",
    """q = deque(maxlen=3)
for u in x:
    q.append(u)
r = q + q
return sum(r)""",
    """d = {}
for k in idx:
    d[k] = x[k]
def total(scale):
    return d[idx[0]] * scale
def grown():
    d[idx[1]] += 1.0
    return d[idx[1]]
t = grown()
t += total(2.0)
return t""",
    """v = [u * 2.0 for u in x]
t = 0.0
if 0.5 < x[0] < v.pop(1):
    t = 1.0
return sum(v) + t""",
    """best = [None] * len(x)
best[0] = x[0]
if 0.0 in best:
    return x[1]
return x[2]""",
    """table = [[None] * len(x) for _ in range(len(x))]
for i in range(len(x)):
    table[i][i] = x[i]
return x[0] * sum(1.0 for row in table for u in row if u is None)""",
    """table = [[None] * len(x) for _ in range(len(x))]
for i in range(len(x)):
    table[i][i] = x[i]
t = 0.0
for i in range(len(x)):
    for u in table[i]:
        t += u
return t""",
    """def bumped(v):
    v[0] += 1.0
    return v[0]
def total(d, v):
    return d[idx[0]] * v[0]
d = {}
for k in idx:
    d[k] = x[k]
t = bumped(x) + total(d, x)
return t""",
    """def cleared(d, v):
    v.fill(0.5)
    return d[idx[0]]
d = {}
for k in idx:
    d[k] = x[k]
t = x[0] + cleared(d, x)
return t""",
    """v = [a for a in x]
while len(v) > 2:
    w = v
    v = v[1:]
    w.append(5.0)
return sum(v)""",
    """v = [a for a in x]
v.extend(v)
return sum((i + 1) * a for i, a in enumerate(v))""",
    """v = [a for a in x]
for a in v:
    v = v[1:]
return sum(v) + len(v)""",
    """v = [a for a in x]
t = 0.0
for a in v[:3]:
    v = v[1:]
    t += a * len(v)
return t + len(v)""",
    """v = [a for a in x]
t = len(v) + v.pop(1) * len(v)
return t""",
    """v = [a for a in x]
t = x[0] if len(v) < 2 else v.pop(1)
return t + len(v)""",
    """v = [None] * 3
w = v
w[0] = x[0]
return v[0]""",
    """d = {}
for k, a in zip(idx, x):
    d[k] = a
t = d.pop(1) * len(d)
return t""",
    """d = {}
for k, a in zip(idx, x):
    d[k] = a
e = {}
for k in range(3):
    e[k] = x[k]
d = e
e[1] = 7.0
return sum(d.values())""",
    """v = [a for a in x]
v.sort(key=lambda a: len(v) - a)
return sum((i + 1) * a for i, a in enumerate(v))""",
    """v = []
v.sort(key=lambda a: -a)
return x[0] + len(v)""",
    """a = [x[0]]
b = []
for k in range(5):
    b.append(x[k])
    a = b
    if k == 3:
        break
    b = []
b.append(9.0)
return sum(a) + 10 * sum(b)""",
    """a = [x[0]]
b = []
for k in range(5):
    b.append(x[k])
    a = b
    if k == 3:
        break
    b = []
return sum(a) + 10 * len(a)""",
    """v = [a for a in x]
t = len(v) * v.pop(1)
return t""",
    """v = [a for a in x]
v[0] += v.pop(1)
return v[0] + len(v)""",
    """def put(d, k, v):
    if k in d:
        return
    d[k] = v
d = {}
for k in idx:
    put(d, k, x[k])
return sum(d.values())""",
    """def swap(d):
    d = {}
    d[0] = 3.0
    return d
d = {}
for k in idx:
    d[k] = x[k]
e = swap(d)
return sum(d.values()) + 10 * sum(e.values())""",
    """v = [None] * 4
w = [v]
w[0][1] = x[0]
return v[1]""",
    """v = [(x[0], 1.0)]
w = v
v.insert(0, (x[1], 2.0))
return sum(a * b for a, b in w)""",
    """v = [(a, k) for a, k in zip(x, idx)]
w = v
v.sort()
return sum((i + 1) * a * b for i, (a, b) in enumerate(w))""",
    """v = [(a, k) for a, k in zip(x, idx)]
w = sorted(v)
v = w
v.append((3.0, 1))
return sum((i + 1) * a * b for i, (a, b) in enumerate(w))""",
    """v = [(a, k) for a, k in zip(x, idx)]
w = [v, v]
v.sort()
return w[0][0][0]""",
    """v = [a for a in x]
s = (a * 2 for a in v)
v.insert(0, 9.0)
return sum(s)""",
    """v = [a for a in x]
z = zip(v, x)
v.insert(0, 9.0)
t = 0.0
for a, b in z:
    t += a * b
return t""",
    """best, path = [], []
for a in x:
    path.append(a)
    if sum(path) < 2.0:
        best = path
return sum(best) + len(best)""",
    """def first(v):
    return v[0]
a = [u for u in x]
t = 0.0
while len(a) > 1:
    t += first(a)
    a = a[1:]
return t""",
    """h = []
heappush(h, (x[0], 1))
g = h
heappush(g, (x[1], 2))
return h[0][0] + len(h)""",
    """d = {}
for k in idx:
    d[k] = x[k]
e = d
e.pop(1)
return sum(d.values())""",
    """d = {}
for k in idx:
    d[k] = x[k]
for k in sorted(d):
    if k in d and k + 1 in d:
        d[k] = d[k] + d.pop(k + 1)
return sum(k * v for k, v in d.items())""",
    """d = defaultdict(float)
for k in idx:
    d[k] += x[k]
t = d.pop(2)
t += d[2] + len(d)
return t""",
    """d = {}
for k in idx:
    d.setdefault(k, []).append(x[k])
t = sum(d[1])
del d[1]
return t + len(d)""",
    """prev = [None] * 7
for i in range(1, 7):
    prev[i] = i - 2 if i > 1 else None
k = 6
t = 0.0
while k is not None:
    t += x[k]
    k = prev[k]
return t""",
    """n = len(x)
v = [None] * n
for i in range(n):
    c = None
    if x[i] > 0.5:
        c = x[i]
    v[i] = c
t = 0.0
for u in v:
    if u is not None:
        t += u
    else:
        t += 10.0
return t""",
    """n = len(x)
v = [None] * n
w = [None] * n
v[0] = x[0]
for i in range(1, n):
    w[i] = v[i - 1]
return v[0] + (w[2] is None) + w[1]""",
    """n = len(x)
v = [None] * n
for i in range(n):
    v[i] = x[i] if x[i] > 0.5 else None
t = 0.0
for u in v:
    t += 1.0 if u is None else u
return t""",
    """best = [x[0]]
for a in x:
    trial = best + [a]
    if sum(trial) < 3.0:
        best = trial
trial.append(1.0)
return sum(best) + 10 * sum(trial)""",
    """best = [x[0]]
trial = [x[1]]
for a in x:
    trial = best + [a]
    if sum(trial) < 3.0:
        best = trial
    trial.append(0.5)
return sum(best) + 10 * sum(trial)""",
    """v = [a for a in x]
t = 0.0
while len(v) > 2:
    t += v[0]
    v = v[2:][1:]
return t + sum(v)""",
    """q = deque(maxlen=2)
r = q
for a in x:
    r.append(a)
return sum(q) + len(q)""",
    """q = deque(maxlen=2)
for a in x:
    q.append(a)
r = q
return sum(r) + len(r)""",
    """def add(d, n):
    if n > 0:
        d[n] = x[n]
        add(d, n - 1)
d = {}
add(d, 3)
return sum(d.values())""",
    """a = [(u, k) for u, k in zip(x, idx)]
p = a[0]
for p in sorted(a):
    t = p[0] * p[1]
return t + p[0]""",
    """v = []
return min(v, key=lambda a: a)""",
    """v = [a for a in x]
v.extend(v[:2])
v.extend(a * 2 for a in x)
v += [1.0, 2.0]
v += x[:2]
return sum((i + 1) * a for i, a in enumerate(v))""",
    """d = {}
for k, a in zip(idx, x):
    d[k] = a
for k in d:
    if k == 2:
        del d[k]
return sum(d.values())""",
    """d = {0: x[0]}
e = {}
for t in range(4):
    for k, v in d.items():
        e[k + 1] = e.get(k + 1, 0.0) + v * x[t]
    d = e
return sum(k * v for k, v in d.items())""",
    """old = [0.0] * 4
hist = []
for k in range(3):
    new = old[:]
    new[k] = x[k]
    hist.append(new)
    old = new
    old[3] += 1.0
return sum(sum(r) for r in hist)""",
    """old = [0.0] * 4
hist = []
new = old[:]
new[0] = x[0]
hist.append(new)
old = new
old[3] += 1.0
return sum(sum(r) for r in hist)""",
    """old = [0.0] * 4
hist = []
new = old[:]
new[0] = x[0]
hist.append(new)
mid = new
old = mid
old[1] = 5.0
return sum(sum(r) for r in hist) + sum(old)""",
    """old = [0.0] * 4
new = old[:]
new[0] = x[0]
pair = (new, 2.0)
old = new
old[1] = 7.0
return sum(pair[0]) + sum(old)""",
    """old = [0.0] * 4
new = old[:]
new[0] = x[0]
class_ = [new, new]
old = new
old[1] = 7.0
return sum(class_[0]) + sum(old)""",
    """hist = [[0.0] * 4 for _ in range(3)]
old = [x[1]] * 4
new = [x[2]] * 4
hist[1] = new
old = new
old[1] = 7.0 * x[0]
return sum(hist[1]) + sum(old)""",
    """old = [0.0] * 4
new = old[:]
a = b = new
old = new
old[1] = 7.0 * x[0]
return sum(a) + sum(old)""",
    """old = [0.0] * 4
new = old[:]
a = new if x[0] > 0.5 else [1.0] * 4
old = new
old[1] = 7.0 * x[0]
return sum(a) + sum(old)""",
    """old = [0.0]
hist = []
for k in range(3):
    new = []
    for u in old:
        new.append(u + x[k])
    hist.append(new)
    old = new
    old[0] = 5.0
return sum(sum(r) for r in hist)""",
    """q = deque([x[0], x[1], x[2]])
z = q[0:2]
return sum(z)""",
    """q = deque()
for u in x:
    q.append(u)
return q.pop(0)""",
    """q = deque(maxlen=3)
for u in x:
    q.append(u)
return q.pop(0)""",
    """q = deque()
for u in x:
    q.append(u)
q.sort()
return q[0]""",
    """q = deque()
for u in x:
    q.append(u)
w = q + [x[0]]
return sum(w)""",
    """h = deque()
for u in x:
    heappush(h, u)
return h[0]""",
    """h = deque(maxlen=3)
for u in x:
    heappush(h, u)
return h[0]""",
    """def total(v):
    return sum(v[1:])
q = deque()
for u in x:
    q.append(u)
return total(q)""",
    """q = deque()
for u in x:
    q.append(u)
w = q
return w.pop(1)""",
    """q = deque()
for u in x:
    q.append(u)
return 1.0 if q == [x[0]] else 2.0""",
    """def make():
    return deque([x[0], x[1]])
q = make()
return sum(q[0:1])""",
    """def val(b, c):
    return c if b is None else b * 2.0
best = [None] * 7
for k in idx:
    best[k] = x[k]
return sum(val(b, x[0]) for b in best)""",
    """def val(b, c):
    return c if b is None else b * 2.0
best = [None] * 7
for k in idx:
    best[k] = x[k]
return val(best[0], x[0])""",
    """def val(b, c):
    if b is None:
        return c
    return b * 2.0
best = [None] * 7
for k in idx:
    best[k] = x[k]
t = 0.0
for k in range(7):
    t += val(best[k], 3.0)
return t""",
    """best = [None] * 7
for k in idx:
    best[k] = x[k]
t = any(best)
return x[0] if t else x[1]""",
    """d = {}
for k, u in zip(idx, x):
    d[k] = u
t = d.pop(77, None)
return sum(d.values()) + (1.0 if t is None else 2.0)""",
    """best = [None] * 7
for k in idx:
    best[k] = x[k]
print("v", best[0])
return x[0]""",
)
