"""LIKE and regular expressions on text cells, case-sensitive. Positions, occurrences and groups are NUMBER cells; positions count
from 1.

Regular expressions are Python's, with POSIX classes; one that `re` refuses is ORA-12726, an unknown flag ORA-01760.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from functools import lru_cache

from minercdc_sandbox.interfaces import OraError
from minercdc_sandbox.sql import number


@lru_cache(maxsize=256)
def _like_pattern(pattern: str, escape: str | None) -> re.Pattern[str]:
    out, at = [], 0
    while at < len(pattern):
        char = pattern[at]
        if escape and char == escape:
            at += 1
            if at >= len(pattern) or pattern[at] not in (escape, "%", "_"):
                raise OraError(1424, "missing or illegal character following the escape character")
            out.append(re.escape(pattern[at]))
        else:
            out.append({"%": ".*", "_": "."}.get(char) or re.escape(char))
        at += 1
    return re.compile("".join(out), re.DOTALL)


def like(text: str, pattern: str, escape: str = "") -> int:
    """LIKE of the whole text: true or false, 1 or 0 in SQLite. `escape` is '' for none. Raises ORA-01424 for an escape before
    another character than %, _ and itself, and for one at the end."""
    return _like_pattern(pattern, escape or None).fullmatch(text) is not None


@lru_cache(maxsize=256)
def _regexp(pattern: str, flags: str) -> re.Pattern[str]:
    classes = {"alpha": "A-Za-z", "digit": "0-9", "alnum": "A-Za-z0-9", "upper": "A-Z", "lower": "a-z", "space": r"\s"}
    for name, members in classes.items():
        pattern = pattern.replace(f"[:{name}:]", members)
    known = {"i": re.IGNORECASE, "c": re.RegexFlag(0), "n": re.DOTALL, "m": re.MULTILINE, "x": re.VERBOSE}
    value = re.RegexFlag(0)
    for flag in flags:
        if flag not in known:
            raise OraError(1760, "illegal argument for function")
        value |= known[flag]
    try:
        return re.compile(pattern, value)
    except re.error as error:
        raise OraError(12726, f"invalid regular expression: {error}") from None


_ONE = number.integer(1)


def _at_least(low: int, cell: bytes) -> int:
    """The integer of a NUMBER cell, fractions cut. Raises ORA-01428 below `low`."""
    found = number.to_int(cell)
    if found < low:
        raise OraError(1428, f"argument '{found}' is out of range")
    return found


def _match(text: str, pattern: str, position: bytes, occurrence: bytes, flags: str) -> re.Match[str] | None:
    """The n-th match at or after a position, `n` being `occurrence`; None when there are fewer. Raises ORA-01428 for a position
    or occurrence below 1, ORA-01760 for an unknown flag, ORA-12726 for a pattern that Python refuses."""
    start, nth = _at_least(1, position), _at_least(1, occurrence)
    compiled = _regexp(pattern, flags)
    for n, found in enumerate(compiled.finditer(text, start - 1) if start <= len(text) else (), 1):
        if n == nth:
            return found
    return None


def regexp_substr(
    text: str, pattern: str, position: bytes = _ONE, occurrence: bytes = _ONE, flags: str = "", group: bytes = number.ZERO
) -> str | None:
    """REGEXP_SUBSTR of the n-th match from a position on: a group's text, 0 the whole match. None for no match, a group that the
    pattern does not have, or an empty one. Raises ORA-01428 for a group below 0, and as `_match`."""
    found = _match(text, pattern, position, occurrence, flags)
    wanted = _at_least(0, group)
    return None if found is None or wanted > found.re.groups else found.group(wanted) or None


def regexp_instr(
    text: str,
    pattern: str,
    position: bytes = _ONE,
    occurrence: bytes = _ONE,
    after: bytes = number.ZERO,
    flags: str = "",
    group: bytes = number.ZERO,
) -> bytes:
    """REGEXP_INSTR of a group of the n-th match from a position on: its position, or, unless `after` is 0, the one after its end;
    0 for no match of it. Raises ORA-01428 for `after` below 0 when there is a match, for a group below 0, and as `_match`."""
    found = _match(text, pattern, position, occurrence, flags)
    wanted = _at_least(0, group)
    if found is None or wanted > found.re.groups or found.start(wanted) < 0:
        return number.integer(0)
    return number.integer((found.end(wanted) if _at_least(0, after) else found.start(wanted)) + 1)


def regexp_count(text: str, pattern: str, position: bytes = _ONE, flags: str = "") -> bytes:
    """REGEXP_COUNT: the number of matches from a position on; 0 for a position after the end. Raises ORA-01428 for a position
    below 1, ORA-01760 for an unknown flag, ORA-12726 for a pattern that Python refuses."""
    start, compiled = _at_least(1, position), _regexp(pattern, flags)
    return number.integer(sum(1 for _ in compiled.finditer(text, start - 1)) if start <= len(text) else 0)


def regexp_replace(
    text: str | None,
    pattern: str | None,
    new: str | None = None,
    position: bytes = _ONE,
    occurrence: bytes = number.ZERO,
    flags: str = "",
) -> str | None:
    """REGEXP_REPLACE from a position on: of the n-th match by `occurrence`, of all for 0; `new` None removes them. None for an
    empty result. Raises ORA-01428 for an occurrence below 0, and as `_match`.

    A text or pattern that is None leaves the text as it is.
    """
    if text is None or pattern is None:
        return text
    start, nth = min(_at_least(1, position) - 1, len(text)), _at_least(0, occurrence)
    compiled = _regexp(pattern, flags)
    template = _template(new or "", compiled.groups)
    if not nth:
        return text[:start] + compiled.sub(template, text[start:]) or None
    found = _match(text, pattern, position, occurrence, flags)
    if found is None:
        return text
    return text[: found.start()] + found.expand(template) + text[found.end() :] or None


def _template(new: str, groups: int) -> str:
    """The replacement text as Python has it: a group beyond `groups`, the number of the pattern's groups, is empty; any other
    backslash, or two, stand for one."""

    def python(found: re.Match[str]) -> str:
        number = found[1]
        if number is None:
            return r"\\"
        return rf"\g<{number}>" if int(number) <= groups else ""

    return re.sub(r"\\(?:(\d)|\\)?", python, new)


FUNCTIONS: dict[str, Callable[..., object]] = {
    "like": like,
    "regexp_like": lambda text, pattern, flags="": _regexp(pattern, flags).search(text) is not None,
    "regexp_substr": regexp_substr,
    "regexp_instr": regexp_instr,
    "regexp_count": regexp_count,
}
"""The functions that SQLite calls with arguments that are not NULL, by name without `o_`."""
