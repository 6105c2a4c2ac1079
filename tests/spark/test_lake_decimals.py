"""Connect's decimals, of every length and scale, read by Spark SQL to the last digit."""

from __future__ import annotations

import random
from collections.abc import Iterator
from decimal import Decimal
from typing import TYPE_CHECKING

import pytest

from minercdc.lake.read.decimals import SHORT_DIGITS, exact_decimal, plain_text, short_decimal, short_text

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


def image(unscaled: int, extra: int = 0) -> bytearray:
    """As java.math.BigInteger.toByteArray gives it."""
    magnitude = unscaled if unscaled >= 0 else ~unscaled
    return bytearray(unscaled.to_bytes(magnitude.bit_length() // 8 + 1 + extra, "big", signed=True))


def plain(unscaled: int, scale: int) -> str:
    if scale <= 0:
        return str(unscaled * 10**-scale)
    digits = str(abs(unscaled)).rjust(scale + 1, "0")
    return f"{'-' if unscaled < 0 else ''}{digits[:-scale]}.{digits[-scale:]}"


def edges(bytes_: int) -> Iterator[int]:
    """Values around the ends of each length in bytes."""
    for n in (*range(1, min(bytes_, 18) + 1), bytes_):
        for end in (1 << (8 * n - 1), 1 << (8 * n - 8)):
            for near in (end - 1, end, end + 1):
                yield from (near, -near)


@pytest.fixture(params=["true", "false"], ids=["ansi", "not-ansi"])
def session(request: pytest.FixtureRequest, spark: SparkSession) -> Iterator[SparkSession]:
    before = spark.conf.get("spark.sql.ansi.enabled")
    spark.conf.set("spark.sql.ansi.enabled", request.param)
    yield spark
    spark.conf.set("spark.sql.ansi.enabled", before)


def test_every_length_and_scale_becomes_the_exact_text(session: SparkSession) -> None:
    chance = random.Random(4)
    numbers = [0, 10**38, -(10**38), 10**125, -(10**125), *edges(24)]
    numbers += [chance.randrange(-(10**n), 10**n) for n in range(1, 41) for _ in range(5)]
    scales = (0, 1, 5, 38, 130, -1, -84)
    rows = [(image(n), s, plain(n, s)) for n in numbers for s in (0, chance.choice(scales), chance.choice(scales))]
    rows.append((image(-5, extra=30), 1, "-0.5"))
    frame = session.createDataFrame(rows, "b BINARY, s INT, wanted STRING")
    found = frame.selectExpr("wanted", f"{plain_text('b', 's')} AS found").collect()
    assert len(found) == len(rows)
    assert [(r.found, r.wanted) for r in found if r.found != r.wanted] == []
    few = frame.where("length(b) <= 8").selectExpr("wanted", f"{short_text('b', 's', 'C')} AS found").collect()
    assert len(few) > 100
    assert [(r.found, r.wanted) for r in few if r.found != r.wanted] == []


def test_the_short_form_refuses_more_than_eight_bytes(session: SparkSession) -> None:
    frame = session.createDataFrame([(image(2**63), 0)], "b BINARY, s INT")
    with pytest.raises(Exception, match=r"column C: a value does not fit 8 bytes"):
        frame.selectExpr(short_text("b", "s", "C")).collect()
    nulls = session.createDataFrame([(None, None)], "b BINARY, s INT")
    assert nulls.selectExpr(short_text("b", "s", "C")).collect()[0][0] is None


@pytest.mark.parametrize(
    ("precision", "scale"),
    [
        (1, 0),
        (3, 3),
        (10, 2),
        (14, 2),
        (15, 0),
        (18, 18),
        (19, 0),
        (19, 2),
        (20, 5),
        (28, 18),
        (38, 0),
        (38, 19),
        (38, 38),
        (12, -2),
    ],
)
def test_a_decimal_of_any_precision_is_exact(session: SparkSession, precision: int, scale: int) -> None:
    digits = precision - max(-scale, 0)
    largest = 10**digits - 1
    numbers = {n for n in edges(16) if abs(n) <= largest} | {0, largest, -largest, largest // 2, -largest // 3}
    rows = [(image(n), Decimal(plain(n, scale))) for n in sorted(numbers)]
    kind = f"DECIMAL({precision},{max(scale, 0)})"
    frame = session.createDataFrame([*rows, (None, None)], f"b BINARY, wanted {kind}")
    found = frame.selectExpr("wanted", f"{exact_decimal('b', precision, scale, 'C')} AS found")
    assert found.schema["found"].dataType.simpleString() == kind.lower()
    assert [tuple(r) for r in found.collect() if r.found != r.wanted] == []
    if precision <= SHORT_DIGITS:
        few = frame.selectExpr("wanted", f"{short_decimal('b', precision, scale, 'C')} AS found")
        assert few.schema == found.schema
        assert [tuple(r) for r in few.collect() if r.found != r.wanted] == []


@pytest.mark.parametrize(
    ("precision", "scale", "unscaled"), [(4, 2, 10**4), (18, 0, 2**63), (38, 0, 10**38), (38, 2, 2**150)]
)
def test_a_value_that_does_not_fit_is_an_error_that_names_the_column(
    session: SparkSession, precision: int, scale: int, unscaled: int
) -> None:
    frame = session.createDataFrame([(image(unscaled),)], "b BINARY")
    with pytest.raises(Exception, match=r"column it's `odd`: a value does not fit DECIMAL"):
        frame.selectExpr(exact_decimal("b", precision, scale, "it's `odd`")).collect()
    if precision <= SHORT_DIGITS:
        with pytest.raises(Exception, match=r"column it's `odd`: a value does not fit DECIMAL"):
            frame.selectExpr(short_decimal("b", precision, scale, "it's `odd`")).collect()
