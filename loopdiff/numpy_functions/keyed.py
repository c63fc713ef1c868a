"""Look-ups in dictionaries that are kept as lists, of their keys and of their values, in the order of insertion.

Keys are in chains, as many as `BUCKETS`: `heads` says where each chain begins, `links` where it goes on from each key,
-1 at its end. Keys that are equal, an integer and a float perhaps, belong to the same.
"""

from __future__ import annotations

BUCKETS = 256
LARGE = 9007199254740992  # 2**53: integers from there on may be equal to others as floats


def bucket_of(key):
    """The chain that `key` belongs to. NaN is no key: Python finds that by what it is, not by its value."""
    assert key == key, "a key of a dictionary is NaN"
    assert abs(key) < LARGE, "a key of a dictionary is 2**53 or more, where integers are not told apart from floats"
    return int(key) % BUCKETS


def bucket_of_pair(first, second):
    """The same for a pair, whose items are apart."""
    return (bucket_of(first) * 31 + bucket_of(second)) % BUCKETS


def bucket_of_triple(first, second, third):
    """The same for three items."""
    return (bucket_of_pair(first, second) * 31 + bucket_of(third)) % BUCKETS


def place_of(heads, links, keys, key):
    """Where `key` is among the keys; -1 if it is not there."""
    place = heads[bucket_of(key)]
    while place >= 0:
        if keys[place] == key:
            return place
        place = links[place]
    return -1


def place_of_pair(heads, links, firsts, seconds, first, second):
    """The same for a pair."""
    place = heads[bucket_of_pair(first, second)]
    while place >= 0:
        if firsts[place] == first and seconds[place] == second:
            return place
        place = links[place]
    return -1


def place_of_triple(heads, links, firsts, seconds, thirds, first, second, third):
    """The same for three items."""
    place = heads[bucket_of_triple(first, second, third)]
    while place >= 0:
        if firsts[place] == first and seconds[place] == second and thirds[place] == third:
            return place
        place = links[place]
    return -1


def owners_for(owners, bucket):
    """The `owners`, where somebody asks what is in the `bucket`: there has to be one, with items or without."""
    assert bucket >= 0, "a subscript is outside of a list of lists"
    return owners


def item_in(owners, items, bucket, place):
    """The item at `place` among those `items` that are in the `bucket`."""
    left = place
    if place < 0:
        left += sum([1 for owner in owners if owner == bucket])
    for k in range(len(owners)):
        if owners[k] == bucket:
            if left == 0:
                return items[k]
            left -= 1
    raise IndexError("a subscript is outside of a list in a list")


def place_there(place):
    """The place of a key that has to be there."""
    assert place >= 0, "KeyError: the dictionary has no such key"
    return place


def value_or(values, place, other):
    """The value in that place; `other` if there is none."""
    if place < 0:
        return other
    return values[place]


def chained(heads, links, keys):
    """All keys come to the chains that they belong to, after some have left."""
    heads[:] = -1
    for k in range(len(keys)):
        bucket = bucket_of(keys[k])
        links[k] = heads[bucket]
        heads[bucket] = k


def chained_pairs(heads, links, firsts, seconds):
    """The same for pairs."""
    heads[:] = -1
    for k in range(len(firsts)):
        bucket = bucket_of_pair(firsts[k], seconds[k])
        links[k] = heads[bucket]
        heads[bucket] = k


def chained_triples(heads, links, firsts, seconds, thirds):
    """The same for three items."""
    heads[:] = -1
    for k in range(len(firsts)):
        bucket = bucket_of_triple(firsts[k], seconds[k], thirds[k])
        links[k] = heads[bucket]
        heads[bucket] = k
