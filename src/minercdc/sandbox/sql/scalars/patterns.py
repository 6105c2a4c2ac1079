"""LIKE and regular expressions, as SQLite calls them."""

from __future__ import annotations

import re
from functools import lru_cache

from minercdc.sandbox.interfaces import OraError


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


def regexp_like(text: str, pattern: str, flags: str = "") -> int:
    return _regexp(pattern, flags).search(text) is not None


def regexp_substr(text: str, pattern: str) -> str | None:
    found = _regexp(pattern, "").search(text)
    return found.group() if found else None


def regexp_replace(text: str, pattern: str, new: str = "") -> str:
    return _regexp(pattern, "").sub(re.sub(r"\\(\d)", r"\\g<\1>", new), text)
