"""Patterns of users: the same answers as ever, in bounded time."""

from __future__ import annotations

import pytest

from minercdc.errors import ConfigError
from minercdc.schema import patterns
from minercdc.schema.patterns import configured_pattern, linear_pattern


@pytest.mark.parametrize("pattern", ["(.*.*.*.*.*.*.*a){12}b", "(a*)*b", "(a|a)*b", "(A+)+B"])
def test_a_pattern_that_would_backtrack_without_end_answers(pattern: str) -> None:
    assert not linear_pattern(pattern).matches("a" * 500 + "c")


@pytest.mark.parametrize("pattern", [r"(?!SHOP).*", r"(A)\1", "A++", r"(?<=X)A"])
def test_what_is_not_linear_is_refused_in_a_signal_and_taken_in_a_configuration(pattern: str) -> None:
    with pytest.raises(ValueError, match="linear time"):
        linear_pattern(pattern)
    configured_pattern(pattern)


def test_a_lookahead_of_a_configuration_matches_as_in_debezium() -> None:
    pattern = configured_pattern(r"SHOP\.(?!TMP_).*")
    assert pattern.matches("shop.orders")
    assert not pattern.matches("SHOP.TMP_1")


def test_a_configured_pattern_that_takes_too_long_is_an_error_that_names_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(patterns, "_SECONDS", 0.05)
    pattern = configured_pattern(r"(?!x)(?:a|aa|aaa)*\b\B")
    with pytest.raises(ConfigError, match=r"did not finish matching aaa"):
        pattern.matches("a" * 60)


@pytest.mark.parametrize("compiled", [linear_pattern, configured_pattern])
def test_what_is_no_pattern_is_refused(compiled: object) -> None:
    with pytest.raises(ValueError, match="not a regular expression"):
        compiled("(")  # type: ignore[operator]


@pytest.mark.parametrize("pattern", ["(" * 20_000, "(?=a)" * 20_000, "a" * 700_000, "x|(a{0,1000}){0,1000}" * 5_000])
@pytest.mark.parametrize("compiled", [linear_pattern, configured_pattern])
def test_a_pattern_too_long_or_too_deep_is_refused_at_once(compiled: object, pattern: str) -> None:
    with pytest.raises(ValueError, match="pattern|expression") as refused:
        compiled(pattern)  # type: ignore[operator]
    assert len(str(refused.value)) < 1000


def test_thousands_of_groups_take_no_time() -> None:
    assert linear_pattern("(" * 2_000 + "A" + ")" * 2_000).matches("a")
    assert configured_pattern("|".join(f"(T{number})" for number in range(5_000))).matches("t4999")
