"""Compiles regular expressions that users write, and matches them in bounded time.

RE2 takes a time linear in the text for every pattern. It has no lookaheads, back-references or possessive quantifiers, which
Debezium configurations may hold (Debezium matches with Java's engine). Those run under the package `regex` with a time limit, but
only from a configuration: a signal comes from outside at any moment, so its patterns have to be linear.

Patterns are anchored and match without regard to case, as Debezium's do.
"""

from __future__ import annotations

import re
import shlex
from functools import lru_cache
from typing import Any, Protocol

import re2
import regex

from minercdc.errors import ConfigError

_SECONDS = 1.0  # for one name; a pattern that backtracks without end is a mistake
_LONGEST = 4096  # characters of a pattern of a signal, or of one that backtracks: compiling takes time, too
_LONGEST_SHOWN = 200


def literal_pattern(name: str) -> str:
    """The pattern that matches a name only, for a shell: in quotes where it needs them. A plain name is returned as it is."""
    return shlex.quote(re.sub(r"([^\w.])", r"\\\1", name))


class Pattern(Protocol):
    """A compiled pattern, anchored and without regard to case; kept by the functions that make it, and usable by several
    threads."""

    def matches(self, text: str) -> bool:
        """Whether the pattern matches the whole text.

        :raises ConfigError: the pattern backtracks, and took over a second or too much memory.
        """


class _Linear:
    def __init__(self, text: str) -> None:
        options = re2.Options()
        options.case_sensitive = False
        options.log_errors = False
        options.never_capture = True  # thousands of groups take minutes
        self._compiled: Any = re2.compile(text, options)

    def matches(self, text: str) -> bool:
        return self._compiled.fullmatch(text) is not None


class _Backtracking:
    """A pattern that the package `regex` runs, with a time limit.

    :raises ValueError: `text` is no regular expression, or is nested too deeply.
    """

    def __init__(self, text: str) -> None:
        self._text = text
        try:
            self._compiled = regex.compile(text, regex.IGNORECASE)
        except regex.error as error:
            raise ValueError(f"'{_shown(text)}' is not a regular expression: {error}") from None
        except (RecursionError, MemoryError, OverflowError):
            raise ValueError(f"'{_shown(text)}' is nested too deeply for a pattern") from None

    def matches(self, text: str) -> bool:
        try:
            return self._compiled.fullmatch(text, timeout=_SECONDS) is not None
        except (TimeoutError, MemoryError):
            raise ConfigError(
                [f"the pattern '{_shown(self._text)}' did not finish matching {text} within {_SECONDS:.0f} s"],
                hint="Write it without lookaheads, back-references and possessive quantifiers: then it takes linear time.",
            ) from None


@lru_cache(maxsize=1024)
def linear_pattern(text: str) -> Pattern:
    """Compile a pattern of a signal: to run in linear time.

    :raises ValueError: it is no regular expression, one that RE2 does not take, or has more than 4096 characters; the message
        says which.
    """
    _bound(text)
    try:
        return _Linear(text)
    except re2.error as error:
        reason = error.args[0].decode() if error.args and isinstance(error.args[0], bytes) else str(error)
    _Backtracking(text)
    raise ValueError(f"'{_shown(text)}' cannot be matched in linear time: {reason}")


@lru_cache(maxsize=1024)
def configured_pattern(text: str) -> Pattern:
    """Compile a pattern of a configuration: to run in linear time if RE2 takes it, else with a time limit.

    :raises ValueError: it is no regular expression; or RE2 does not take it, and it has more than 4096 characters or is
        nested too deeply.
    """
    try:
        return _Linear(text)
    except re2.error:
        _bound(text)
        return _Backtracking(text)


def _bound(text: str) -> None:
    if len(text) > _LONGEST:
        raise ValueError(f"'{_shown(text)}' is too long a pattern: it has {len(text)} characters, {_LONGEST} are the limit")


def _shown(text: str) -> str:
    return text if len(text) <= _LONGEST_SHOWN else f"{text[:_LONGEST_SHOWN]}.."
