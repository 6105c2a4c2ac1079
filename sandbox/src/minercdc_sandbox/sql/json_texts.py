"""Whether a text is JSON, by strict syntax (RFC 8259) or by Oracle's lax one (JSON Developer's Guide, "About Strict and Lax JSON
Syntax"): unquoted names, apostrophes around texts, TRUE, FALSE and NULL in any case, a comma after the last member, numbers with
zeros, a sign or a point before their digits."""

from __future__ import annotations

import json
import re

_TOKEN = re.compile(
    r"""\s*(?:(?P<text>"(?:[^"\\]|\\.)*"|'(?:[^'\\]|\\.)*')|(?P<sign>[{}\[\],:])|(?P<number>[+-]?(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d+)?)"""
    r"|(?P<word>[^\W\d]\w*|\$\w*))",
    re.DOTALL,
)


def is_json(text: str, wanted: str, scalars: int) -> int:
    """1 when the text is a JSON document, else 0.

    :param wanted: STRICT or LAX.
    :param scalars: 1: a value that is no object or array is a document, too.
    """
    strict = _strict(text)
    if strict is None and wanted == "LAX":
        strict = _strict(_made_strict(text))
    return int(strict is not None and (bool(scalars) or strict))


def _strict(text: str) -> bool | None:
    """Whether the document is an object or array; None for a text that is no JSON by strict syntax."""
    try:
        return isinstance(json.loads(text, parse_constant=_refused), dict | list)
    except (ValueError, RecursionError):
        return None


def _refused(word: str) -> None:
    raise ValueError(f"{word} is no JSON")


def _made_strict(text: str) -> str:
    """A text of lax syntax in strict syntax, with other values; '' for what has tokens of neither."""
    made: list[str] = []
    text = text.rstrip()
    at = 0
    while at < len(text):
        found = _TOKEN.match(text, at)
        if found is None:
            return ""
        at = found.end()
        if found["sign"]:
            if found["sign"] in "}]" and made and made[-1] == ",":
                made.pop()
            made.append(found["sign"])
        elif found["word"]:
            is_name = text[at:].lstrip()[:1] == ":"
            made.append(json.dumps(found["word"]) if is_name else found["word"].lower())
        else:
            made.append("0" if found["number"] else json.dumps(found["text"][1:-1]))
    return " ".join(made)
