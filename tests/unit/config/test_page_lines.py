"""Prose of generated pages is broken into lines, and nothing else of a page is changed."""

from __future__ import annotations

import pytest

from minercdc.config.page_lines import WIDTH, wrapped

WORDS = " ".join(["words"] * 30)
LINES = [" ".join(["words"] * 20), " ".join(["words"] * 10)]


@pytest.mark.parametrize(
    ("page", "becomes"),
    [
        ("short\nlines stay", "short\nlines stay"),
        (WORDS, "\n".join(LINES)),
        (f"* {WORDS}\n* short", f"* {' '.join(['words'] * 19)}\n  {' '.join(['words'] * 11)}\n* short"),
        (f"> {WORDS}", f"> {' '.join(['words'] * 19)}\n> {' '.join(['words'] * 11)}"),
        (f"| {WORDS} |", f"| {WORDS} |"),
        (f"## {WORDS}", f"## {WORDS}"),
        (f"```\n{WORDS}\n```", f"```\n{WORDS}\n```"),
        (f"{WORDS}\n\nshort", "\n".join([*LINES, "", "short"])),
    ],
    ids=["short", "paragraph", "item", "quotation", "table", "heading", "code", "two paragraphs"],
)
def test_long_lines_of_prose_are_broken(page: str, becomes: str) -> None:
    assert wrapped(page) == becomes


@pytest.mark.parametrize("mark", ["*", "-", "#", "1.", ">", "|"])
def test_no_line_begins_with_a_mark_of_markdown(mark: str) -> None:
    text = " ".join(["words"] * 19 + ["word", mark, "words"])
    assert not [line for line in wrapped(f"{text} {text}").split("\n") if line.startswith(mark)]


def test_code_in_a_line_is_not_broken() -> None:
    code = "`minercdc signal CONFIG execute-snapshot --collection NAME`"
    lines = wrapped(f"{' '.join(['words'] * 15)} {code} {' '.join(['words'] * 5)}").split("\n")
    assert len(lines) > 1
    assert any(code in line for line in lines)
    assert max(map(len, lines)) <= WIDTH
