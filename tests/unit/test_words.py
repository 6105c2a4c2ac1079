"""Words that would be ambiguous in the code, docs and messages, since docs/glossary.md has another one for each meaning.

Only such false friends belong here: ordinary English words are allowed. A reviewer judges style, not a list.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from functools import cache
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
READ = (
    "src",
    "sandbox/src",
    "sandbox/README.md",
    "sandbox/docs",
    "sandbox/tests",
    "tests",
    "bench",
    "docs",
    "connectors",
    "signals",
    "compose",
    "deploy",
    ".github",
    "compose.yaml",
    "Dockerfile",
    "Makefile",
    "pyproject.toml",
    "sandbox/pyproject.toml",
    "README.md",
    "CONTRIBUTING.md",
    "SECURITY.md",
    "CHANGELOG.md",
)
ENDINGS = {
    *(".py", ".pyi", ".pyx", ".pxi", ".c", ".h", ".go", ".sql", ".sh", ".html", ".test", ".md", ".txt", ".ipynb"),
    *(".yaml", ".yml", ".json", ".jsonl", ".properties", ".toml", ".service"),
}
# Made by the build.
GENERATED = {"_decode.c", "_rows.c"}

# Word -> (what to write, the senses that are allowed). Names in code count, too: `_behind_scn`.
WORDS: dict[str, tuple[str, str]] = {
    r"behind": (
        "after, or lag",
        r"\*behind\* is not used for it|milliseconds behind|(stream|connector) is behind|behind a (proxy|firewall|load balancer)",
    ),
}


@cache
def texts() -> Sequence[tuple[str, str]]:
    """Name and text of every file that is read, once for all words."""
    return list(_texts())


def _texts() -> Iterator[tuple[str, str]]:
    for start in READ:
        paths = sorted((ROOT / start).rglob("*")) if (ROOT / start).is_dir() else [ROOT / start]
        for path in paths:
            name = str(path.relative_to(ROOT))
            if path.is_dir() or (path != ROOT / start and path.suffix not in ENDINGS):
                continue
            if ".egg-info" in name or path.name in GENERATED or path == Path(__file__):
                continue
            yield name, path.read_text()


def lines_with(word: str) -> Iterator[tuple[str, str]]:
    """Place and text of the lines that may have a word."""
    pattern = re.compile(word, re.I)
    for name, text in texts():
        if pattern.search(text):
            yield from (
                (f"{name}:{number}", line) for number, line in enumerate(text.splitlines(), 1) if pattern.search(line)
            )


def uses(word: str, allowed: str, line: str) -> bool:
    """Whether the line has the word in a sense that is not allowed. `_` and digits are no part of a word."""
    pattern = rf"(?<![A-Za-z])({word})(?![A-Za-z])"
    # Most lines do not have the word in any sense.
    return bool(re.search(pattern, line, re.I) and re.search(pattern, re.sub(allowed, "", line, flags=re.I), re.I))


@pytest.mark.parametrize("word", WORDS)
def test_no_line_uses_an_ambiguous_word(word: str) -> None:
    instead, allowed = WORDS[word]
    found = [f"{place}: {line.strip()}" for place, line in lines_with(word) if uses(word, allowed, line)]
    assert not found, f"write {instead} in\n" + "\n".join(found)


@pytest.mark.parametrize(
    ("line", "refused"),
    [
        ("no commit behind it", True),
        ("the connector is behind", False),
        ("self._behind_scn = 0", True),
        ("a word like behindhand", False),
        ("nobody is told", False),
    ],
)
def test_senses(line: str, refused: bool) -> None:
    assert any(uses(word, allowed, line) for word, (_, allowed) in WORDS.items()) is refused
