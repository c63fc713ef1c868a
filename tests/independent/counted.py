"""Loops that count what they choose: what `if` picks is packed, gone through again, and put back where it came from."""

from __future__ import annotations

import random
from collections.abc import Sequence

Lines = list[str]


def chosen(rng: random.Random, arrays: Sequence[str], number: str, total: str) -> Lines:
    """Statements that pack elements of `arrays`, of one length and possibly one array twice, use what was packed, maybe
    write to the arrays meanwhile, and add to `total`. Names begin with `number`."""
    a, b, c = (rng.choice(arrays) for _ in range(3))
    packed, count, places = f"{number}p", f"{number}k", f"{number}q"
    test = f"{a}[i] > {rng.choice(['0.05', '-0.4', '0.6'])}"
    lines = [f"{packed} = np.zeros(len({a}))", f"{count} = 0", *choosing(rng, test, packed, count, (a, b, c))]
    if rng.random() < 0.3:
        lines.append(f"{rng.choice(arrays)}[0] *= 0.5")
    if rng.random() < 0.3:
        made = rng.choice([f"{packed}[j] * {packed}[j]", f"np.exp({packed}[j])", f"{packed}[j] + {b}[0]"])
        again = [f"{number}u = {made}", f"{packed}[j] = {number}u"]
        lines += [f"for j in range({count}):", *indented(again)]
    match rng.randrange(3):
        case 0:
            lines += [f"for j in range({count}):", f"    {total} += {packed}[j] * {rng.choice(['1.0', f'{b}[j]'])}"]
        case 1:
            lines.append(f"{total} += ({packed}[:{count}] * {packed}[:{count}]).sum()")
        case _:
            lines += [f"{places} = 0", *choosing(rng, test, packed, places, (a, b, c), is_back=True)]
            lines.append(f"{total} += ({b} * {c}).sum()")
    return lines


def choosing(
    rng: random.Random, test: str, packed: str, count: str, arrays: tuple[str, str, str], is_back: bool = False
) -> Lines:
    """A loop that packs what `test` chooses, or puts it back, with names for elements before the `if` or in it."""
    a, b, c = arrays
    u, v = f"{count}u", f"{count}v"
    names = [f"{u} = {rng.choice([f'{b}[i]', f'2.0 * {a}[i]', f'np.sin({c}[i])'])}", f"{v} = {c}[i]"]
    inside = [n for n in names if rng.random() < 0.5]
    value = rng.choice([f"{u} * {v}", f"{u} + {u} * {v}", f"{a}[i] * {u} - {v}", v])
    stores = (
        [f"{b}[i] = {packed}[{count}]", f"{c}[i] = {v} + 0.1 * {u}"] if is_back else [f"{packed}[{count}] = {value}"]
    )
    if not is_back and rng.random() < 0.3:
        stores.append(f"{rng.choice((b, c))}[i] = {rng.choice([u, v, '0.25'])}")
    rng.shuffle(stores)
    body = [*inside, *stores, f"{count} += 1"]
    return ["for i in range(len(" + a + ")):", *indented([n for n in names if n not in inside]), f"    if {test}:",
            *indented(indented(body))]  # fmt: skip


def indented(lines: Lines) -> Lines:
    return [f"    {line}" for line in lines]
