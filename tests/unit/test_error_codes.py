"""Every code has its paragraph in docs/errors.md, and every paragraph its code."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

from minercdc.errors import MinerCdcError

PAGE = Path(__file__).parents[2] / "docs" / "errors.md"


def tree(error: type[MinerCdcError]) -> Iterator[type[MinerCdcError]]:
    yield error
    for child in error.__subclasses__():
        yield from tree(child)


def test_each_class_has_a_code_of_its_own() -> None:
    codes = [error.code for error in tree(MinerCdcError) if error.__module__ == "minercdc.errors"]
    assert len(codes) == len(set(codes))


def test_codes_and_paragraphs_are_the_same() -> None:
    headings = re.findall(r"(?m)^## (MC-\d{4})", PAGE.read_text(encoding="utf-8"))
    assert headings == sorted({error.code for error in tree(MinerCdcError) if error.__module__ == "minercdc.errors"})


def test_every_paragraph_says_something() -> None:
    paragraphs = re.split(r"(?m)^## .*$", PAGE.read_text(encoding="utf-8"))[1:]
    assert all(len(paragraph.split()) > 10 for paragraph in paragraphs)
