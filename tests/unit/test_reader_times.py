"""Microseconds to integer nanoseconds: exact for every literal a profiler writes."""

from decimal import Decimal

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tracegraph.ingest.microseconds import Number, literal_of_ns, to_ns


@pytest.mark.parametrize(
    ("literal", "expected_ns"),
    [
        ("0", 0),
        ("1695835542516374", 1_695_835_542_516_374_000),
        ("1695835542516374.123", 1_695_835_542_516_374_123),
        ("1695835542516374.001", 1_695_835_542_516_374_001),
        ("4385485822850.924", 4_385_485_822_850_924),
        ("8796093022207.999", 8_796_093_022_207_999),
        ("8796093022208.001", 8_796_093_022_208_001),
        ("-5.5", -5_500),
        ("1e3", 1_000_000),
        ("1.695835542516374123e15", 1_695_835_542_516_374_123),
    ],
)
def test_a_literal_keeps_every_nanosecond(literal: str, expected_ns: int) -> None:
    assert _parse(literal) == expected_ns


@given(st.integers(-(2**52 - 1) * 1000, (2**52 - 1) * 1000))
def test_any_nanosecond_survives_as_microseconds_with_three_decimals(ns: int) -> None:
    assert _parse(literal_of_ns(ns)) == ns


@pytest.mark.parametrize("value", [None, float("nan"), float("inf"), 2**52, 1e300, 10**400, -(2**60)])
def test_what_is_no_time_is_marked_unusable(value: Number) -> None:
    times, usable = to_ns([1, value], lambda k: "")
    assert times.tolist() == [1000, 0]
    assert usable.tolist() == [True, False]


def test_integers_never_ask_for_their_text() -> None:
    times, _ = to_ns([2**51, 5], pytest.fail)
    assert times.dtype == np.int64
    assert times.tolist() == [2**51 * 1000, 5000]


def _parse(literal: str) -> int:
    value = float(literal) if set(literal) & set(".e") else int(Decimal(literal))
    times, usable = to_ns([value], lambda k: literal)
    assert usable.all()
    return int(times[0])
