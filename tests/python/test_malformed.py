"""Malformed inputs, made from whole ones by small changes, the same in every run, for all of malformed.py."""

import re
import time

import numpy as np
import pytest
from malformed import TARGETS, attempt

RUNS = 500
WORDS = [
    b"-1",
    b"0",
    b"2147483647",
    b"-2147483648",
    b"4294967295",
    b"9" * 30,
    b"nan",
    b"1e999",
    b"null",
    b"[]",
]
BYTES = [b"\xff\xff\xff\x7f", b"\xff" * 4, bytes(4), b"\0\0\0\x80", b"\xff", b"\x7f", b"PK", b"\n", b'"']


def mutated(data, rng):
    data = bytearray(data)
    for _ in range(rng.integers(1, 4)):
        at, way = int(rng.integers(len(data) + 1)), rng.integers(7)
        if way == 0:
            data = data[:at]
        elif way == 1:
            del data[at : at + int(rng.integers(1, 9))]
        elif way == 2:
            data[at:at] = data[(other := int(rng.integers(len(data) + 1))) : other + int(rng.integers(1, 40))]
        elif way == 3:
            some = BYTES[rng.integers(len(BYTES))]
            data[at : at + len(some)] = some
        elif way == 4 and (found := list(re.finditer(rb"-?\d+", bytes(data)))):
            span = found[rng.integers(len(found))]
            data[span.start() : span.end()] = WORDS[rng.integers(len(WORDS))]
        elif data:
            data[at % len(data)] = int(rng.integers(256))
    return bytes(data)


@pytest.mark.parametrize("name", TARGETS)
def test_whole_inputs_are_taken(name):
    assert all(attempt(name, data) for data in TARGETS[name][1])


@pytest.mark.parametrize("name", TARGETS)
def test_malformed_inputs_are_refused_or_taken(name):
    rng, slowest = np.random.default_rng(len(name)), 0.0
    taken = 0
    for run in range(RUNS):
        seeds = TARGETS[name][1]
        data = mutated(seeds[run % len(seeds)], rng)
        began = time.process_time()
        taken += attempt(name, data)
        slowest = max(slowest, time.process_time() - began)
    assert taken < RUNS
    assert slowest < 1
