"""Prose of a Markdown page in lines of at most 120 characters, as all pages have it."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Final

WIDTH: Final = 120

_FENCE = re.compile(r"\s*(```|~~~)")
# The beginning of a block of its own: an item of a list, or a quotation.
_BEGIN = re.compile(r"(\s*)((?:[*+-]|\d+[.)]|>)\s+)?")
_APART = re.compile(r"\s*(#|\||<|\[[^\]]*\]:|---)")
# Code in a line is one word, with what is joined to it.
_WORD = re.compile(r"(?:`[^`]+`|\S)+")
# A line that begins with such a word would be an item, a heading or a quotation.
_MARK = re.compile(r"[*+>|-]$|#+$|\d+[.)]$|=+$|\|")


def wrapped(page: str) -> str:
    """The page with each block of prose that has a longer line than WIDTH broken anew; tables, headings, code and
    other blocks stay as they are."""
    lines: list[str] = []
    block: list[str] = []
    fence = False
    for line in page.split("\n"):
        is_fence = bool(_FENCE.match(line))
        if fence or is_fence or not line.strip() or _APART.match(line):
            lines += _block(block)
            block = []
            lines.append(line)
            fence ^= is_fence
            continue
        begin = _BEGIN.match(line)
        if block and begin and begin[2] and not (begin[2].startswith(">") and block[0].startswith(">")):
            lines += _block(block)
            block = []
        block.append(line)
    return "\n".join([*lines, *_block(block)])


def _block(lines: list[str]) -> list[str]:
    if all(len(line) <= WIDTH for line in lines):
        return lines
    begin = _BEGIN.match(lines[0])
    assert begin is not None  # it matches every line
    first = begin[0]
    quoted = first.strip() == ">"
    then = first if quoted else " " * len(first)
    text = " ".join(line[len(first) :] if number == 0 or quoted else line.strip() for number, line in enumerate(lines))
    return list(_filled(_words(text), first, then))


def _words(text: str) -> Iterator[str]:
    """Words that may begin a line, each with those after it that may not."""
    held = ""
    for word in _WORD.findall(text):
        if held and not _MARK.match(word):
            yield held
            held = word
        else:
            held = f"{held} {word}" if held else word
    if held:
        yield held


def _filled(words: Iterator[str], first: str, then: str) -> Iterator[str]:
    line, is_empty = first, True
    for word in words:
        if not is_empty and len(line) + 1 + len(word) > WIDTH:
            yield line
            line, is_empty = then, True
        line += word if is_empty else f" {word}"
        is_empty = False
    yield line
