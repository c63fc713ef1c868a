"""Rows of the accepted language that are about lists whose lengths the run says."""

from __future__ import annotations

from loopdiff.frontend.array_language import Construct

LISTS: tuple[Construct, ...] = (
    Construct(
        "lists of any length",
        "v = [u * s for u in x if u > 0.5]\nsteps = [x[0]]\nfor u in x[1:]:\n    steps.append(steps[-1] * u)\n"
        "best = [0.0] * len(x)\nbest[1] = max(v[0], best[0]) if v else s\n"
        "y[0] = sum(a * b for a, b in zip(steps, steps[1:])) + max(v) + np.mean(best) * sorted(v)[0] + len(v)",
        "0.1",
        "Of numbers, or of arrays of one shape; kept in an array. They grow by `append`, "
        "`extend([...])` and `+= [...]`, also in functions that get them; where neither ranges of loops nor conditions "
        "say how long they may become, they have room for 4096 elements (LD334). They hold truth values, too, and "
        "nothing else then; integers beside floats are checked to be at most 2**26 (LD335), or less. "
        "`v.reverse()` turns them round. What reads them: subscripts, slices, loops and "
        "comprehensions, `len`, `sum`, `max`, `min`, `any`, `all`, functions of NumPy, and `if v`. "
        "Also `list(x)`, `tuple(x)`, `sorted(f(u) for u in x)`, `x.tolist()`, `v + w`, "
        "`[a, b] * n`, with a name or read where they are made, `sorted(x, reverse=True)[k]`.",
    ),
    Construct(
        "lists of lists, and of tuples",
        "dp = [[0.0] * n for _ in range(len(x))]\nfor i in range(1, len(x)):\n    for j in range(1, n):\n"
        "        dp[i][j] = max(dp[i - 1][j], dp[i][j - 1]) + s * x[i]\ndp[0] = [u * u for u in x[:n]]\n"
        "pairs = [(a, b) for a, b in zip(x, y) if a > 0.5]\n"
        "y[0] = dp[-1][-1] + sum(a * b for a, b in pairs) + sum(max(row) for row in dp) + len(dp[0])",
        "0.1",
        "Of as many numbers, or arrays of one shape, each; any number of lists deep. `dp[i]` is a list. Two change "
        "places by `dp[i], dp[j] = dp[j], dp[i]`. Numbers that are integers in one place and floats "
        "in another are floats, which no subscript is. Tuples of a number and an array, `path.append((t, x.copy()))`, "
        "and of subscripts beside floats, are as many lists: loops, comprehensions and subscripts take them apart, and "
        "`zip(*path)`.",
    ),
    Construct(
        "which item, where only the run says",
        "doses, k = [(x[0], 2.0 * s, 1), (x[1], s, 2)], 0\nfor v in y:\n"
        "    while k < len(doses) and doses[k][0] <= v:\n        when, amount, place = doses[k]\n"
        "        y[place] += amount * when\n        k += 1\nwalkers = [Walker(x[0], s), Walker(x[1], 2.0 * s)]\n"
        "y[0] += walkers[n % 2].at * walkers[k % 2].speed",
        "0.1",
        "Of lists and tuples of known length, also parts of records, objects and dictionaries, `p.doses[k]`, and of "
        "what stands outside: of numbers, arrays of one shape, or tuples, records and objects of one form. For each "
        "place in these there is a list; so integers beside floats are subscripts. The item is not changed.",
    ),
    Construct(
        "stacks and queues",
        "stack, queue = [x[0]], [y[0]]\nwhile stack and len(stack) < 5:\n    v = stack.pop()\n    stack.append(v * s)\n"
        "    stack.append(v + s)\n    queue.append(v)\nwhile queue:\n    y[1] += queue.pop(0) * len(queue)",
        "0.1",
        "`pop()`, `pop(0)` and `clear()` of lists of numbers, and of tuples of numbers; `collections.deque`, with "
        "`popleft`, `appendleft` and `maxlen`. Elements are given away in no loop over the list.",
    ),
    Construct(
        "elements of lists in other places",
        "v = [u * s for u in x[:5]]\nv.insert(1, s)\ny[0] = v.pop(n - 3) * v.index(v[2])\n"
        "del v[0]\nv.extend(u for u in y[1:3])\nv[1:2] = [s, x[2]]\ndel v[-1:]\n"
        "left = [k for k in range(n)]\nleft.remove(n - 1)\nif n not in left:\n    v.reverse()\n"
        "y[1] = sum((k + 1) * u for k, u in enumerate(v)) + len(left)",
        "0.1",
        "Of lists of numbers, and of tuples of numbers, that the function makes: `insert`, `pop(k)`, `del v[k]`, "
        "`del v[a:b]`, `extend`, `reverse`, `sort`; of numbers also `v[a:b] = w` of another list, `remove`, `index`, "
        "`count` and `u in v`. What takes an element away stands where its statement evaluates it always, and nothing "
        "else in that asks the list.",
    ),
    Construct(
        "sorting by a key, and the least by a key",
        "pairs = [(k, u) for k, u in zip(idx, x)]\npairs.sort(key=lambda p: (-p[0], p[1]))\n"
        "for i, (k, u) in enumerate(pairs):\n    y[0] += (i + 1) * u * k\n"
        "for i in sorted(range(n), key=lambda i: x[i], reverse=True):\n    y[1] = 0.5 * y[1] + x[i]\n"
        "k = min(range(n), key=lambda i: (x[i] - s) ** 2)\ny[2] = x[k] * max(pairs)[1]",
        "0.1",
        "`v.sort`, `sorted`, `min` and `max` of lists, ranges and arrays, with `key` and `reverse`, and of tuples "
        "of numbers, "
        "which are compared place by place; `heapq.nsmallest` and `nlargest`. Keys are lambdas, functions or "
        "`operator.itemgetter`, of numbers or tuples of numbers. Equal ones stay in their order. NaN has "
        "no place in one "
        "(LD332).",
    ),
    Construct(
        "heaps",
        "heap = [(s, 0)]\nwhile heap:\n    d, k = heapq.heappop(heap)\n    y[0] += d * x[k]\n"
        "    for j in (2 * k + 1, 2 * k + 2):\n        if j < n:\n            heapq.heappush(heap, (d + x[j] ** 2, j))",
        "0.1",
        "`heappush`, `heappop` and `heapify` of numbers, and of tuples of numbers. NaN has no place in a heap (LD332).",
    ),
    Construct(
        "lists of None",
        "best = [None] * n\nfor k in idx:\n    if k < n and best[k] is None:\n        best[k] = x[k] * s\n"
        "y[0] = best[0] + sum(u for u in best if u is not None)\nstates = [None] * (n + 1)\nstates[n] = A[0]\n"
        "for k in range(n - 1, -1, -1):\n    states[k] = s * A @ states[k + 1]\ny[:5] += states[0]",
        "0.1",
        "They hold numbers later; where a number is asked for that is not there, there is an error (LD332). Also "
        "`[[None] * n for _ in range(m)]`, and loops over the list. Or arrays of one shape, one after the other from "
        "the first or from the last on; in any other order, there is an error (LD332).",
    ),
    Construct(
        "lists of lists that grow",
        "bins = [[] for _ in range(3)]\nfor i, v in enumerate(x):\n    bins[i % 3].append(v)\n"
        "y[0] = sum(s * sum(b) / len(b) if b else s for b in bins)\n"
        "for v in bins[0]:\n    y[4] += v * bins[1][-1]",
        "0.1",
        "Also of tuples, `links[i].append((j, w))`, `for j, w in links[i]`. All items are kept in one list, which each "
        "loop over `bins[k]` goes through; `bins[k]` is read, and grows by `append`, and nothing else is done with it.",
    ),
    Construct(
        "lists in dictionaries and objects that grow",
        'log = {"t": [], "y": []}\nfor i, v in enumerate(x):\n    log["t"].append(s * i)\n    if v > 0.5:\n'
        '        log["y"].append(v * s)\ny[0] = np.mean(log["t"]) + sum(log["y"]) * len(log["y"])',
        "0.1",
        "Also in fields of records and objects, whose methods let them grow, `self.trace.append(v)`, and in lists that "
        "are written out, `[[], []]`; by `append`, `extend([...])`, `+= [...]`, `pop()`, `pop(0)` and `clear()`. They "
        "are lists of any length, under whatever names they have; the decorated function does not return one.",
    ),
    Construct(
        "names for other lists",
        "before = [0.0] * n\nfor u in x:\n    row = [u]\n    for j in range(1, n):\n"
        "        row.append(max(before[j - 1], row[j - 1]) + s)\n    before = row\n"
        "y[0] = before[-1]",
        "0.1",
        "In loops and in branches, of as many elements (LD320 else). The name gets memory of its own, and lists are "
        "copied there, where nobody can tell that from the list itself.",
    ),
    Construct(
        "names for lists of other lengths",
        "level = [u for u in x]\nwhile len(level) > 1:\n    above = []\n    for k in range(0, len(level) - 1, 2):\n"
        "        above.append(level[k] * level[k + 1] + s)\n    if len(level) % 2 == 1:\n"
        "        above.append(level[-1])\n"
        "    level = above\ny[0] = level[0]\npath = [s]\nfor u in x[:3]:\n    path = path + [path[-1] * u]\n"
        "y[1] = sum(path) + len(path)",
        "0.1",
        "Of numbers, and of tuples of numbers: the elements go where those of the first list were. So the other name "
        "gets "
        "another list before anybody asks it, or neither list is changed in place; and no function, list or dictionary "
        "keeps one.",
    ),
    Construct(
        "dictionaries that lose keys, or take over others",
        "owed = {}\nfor k, u in zip(idx, x):\n    owed[k] = owed.get(k, 0.0) + u * s\n"
        "y[0] = owed.pop(idx[0]) + owed.pop(9, s)\n"
        "del owed[idx[1]]\nodds = {0: 1.0}\nfor u in y[1:4]:\n    later = {}\n    for k, p in odds.items():\n"
        "        later[k + 1] = later.get(k + 1, 0.0) + p * u\n        later[k] = later.get(k, 0.0) + p * (1.0 - u)\n"
        "    odds = later\ny[1] = sum(k * p for k, p in odds.items()) + len(owed)",
        "0.1",
        "`pop` and `del` of numbers and arrays, in no loop over the dictionary; `clear`; `remove` and `discard` of "
        "sets. A "
        "name takes over the dictionary of another, `odds = later`, which gets another one before anybody asks it.",
    ),
    Construct(
        "functions that change dictionaries and lists, or return them",
        "def put(book, k, u):\n    book[k] = book.get(k, 0.0) + u\ndef sums(v):\n    made = {}\n"
        "    for k, u in zip(idx, v):\n"
        "        put(made, k, u * s)\n    return made\n"
        "found = sums(x)\ny[0] = sum(u * u for u in found.values())",
        "0.1",
        "Where the call is a statement, or all that one assigns or returns; the function returns at its end only.",
    ),
)
