"""The documentation as a site: it builds without a warning, and its search answers what users ask."""

from __future__ import annotations

import json
import math
import os
import re
import subprocess
import sys
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]

# What users ask, and the page that answers it: the tasks of the how-to pages, then others.
QUESTIONS = {
    "capture two schemas": "how-to/two-schemas/",
    "add a table later": "how-to/add-a-table/",
    "Amazon RDS or Autonomous Database": "how-to/rds-and-autonomous/",
    "Avro with schema registry": "how-to/avro/",
    "upgrade to a new version": "how-to/upgrade/",
    "archived logs are gone": "how-to/archived-logs-are-gone/",
    "how much memory does it need": "how-to/memory/",
    "monitor lag": "how-to/monitor-lag/",
    "secure TLS wallet": "how-to/secure/",
    "move to another machine": "how-to/move-to-another-machine/",
    "several PDBs": "how-to/several-pdbs/",
    "write my own adapter": "extensions/",
    "run a standby": "how-to/standby/",
    "which grants do I need": "faq/",
    "MC-3301": "errors/",
    "how do I read one table again": "how-to/read-a-table-again/",
    "mask a column": "how-to/mask-columns/",
    "is it exactly once": "explanation/exactly-once/",
    "move over from Debezium": "migrate-from-debezium/",
    "start over with a new snapshot": "how-to/move-the-position/",
    "repair a suspended table": "how-to/suspended-table/",
    "read all tables as of one SCN": "lake/",
    "deliver without Kafka": "sinks/",
    "minercdc.http.port": "configuration/",
    "long transactions": "explanation/long-transactions/",
    "ORA-01291 missing log": "troubleshooting/",
    "ORA-01555 snapshot too old": "snapshots/",
    "heartbeats": "faq/",
    "supplemental logging": "faq/",
    "CLOB and BLOB": "faq/",
    "schema registry": "how-to/avro/",
    "lag is rising": "how-to/monitor-lag/",
    "RAC": "faq/",
    "skip a table": "faq/",
    "GDPR personal data": "faq/",
    "resize redo logs": "faq/",
}


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The site, as `make site` builds it; a warning ends the build with an error."""
    directory = tmp_path_factory.mktemp("site")
    done = subprocess.run(
        [sys.executable, "-m", "mkdocs", "build", "--strict", "--quiet", "--site-dir", directory],
        cwd=ROOT,
        env={**os.environ, "NO_MKDOCS_2_WARNING": "1"},
        capture_output=True,
        text=True,
        timeout=600,
    )
    assert done.returncode == 0, done.stderr
    assert not done.stderr, "a warning that does not fail the build"
    return directory


@dataclass(frozen=True)
class Section:
    """A page, or a section of one, in the index of the search.

    :param place: of the page and the section, such as `lake/#types`.
    """

    place: str
    title: Counter[str]
    text: Counter[str]


class Search:
    """The sections that hold the words of a question, the best first.

    It is a model of the site's search, which is lunr in the reader's browser: the same index, the same separators, BM25 with a
    title that counts a thousand times, and whole pages before sections. The model has plainer stems of words, and no
    completion of a word that is being typed. Its order is near the browser's, not always the same.
    """

    def __init__(self, site: Path) -> None:
        index = json.loads((site / "search" / "search_index.json").read_text())
        self._separator = re.compile(index["config"]["separator"])
        self._sections = [
            Section(one["location"], Counter(self._stems(one["title"])), Counter(self._stems(_plain(one["text"]))))
            for one in index["docs"]
        ]
        self._fields = (
            (1000.0, [one.title for one in self._sections]),
            (1.0, [one.text for one in self._sections]),
        )

    def pages(self, question: str) -> list[str]:
        """Places of pages, each once."""
        stems = [stem for stem in self._stems(question) if stem not in _COMMON]
        scores = [0.0] * len(self._sections)
        for boost, counts in self._fields:
            length = sum(map(Counter.total, counts)) / len(counts)
            for stem in stems:
                frequency = sum(stem in one for one in counts)
                rarity = math.log(1 + abs((len(counts) - frequency + 0.5) / (frequency + 0.5)))
                for number, one in enumerate(counts):
                    if stem in one:
                        weight = 1.2 * (0.25 + 0.75 * one.total() / length) + one[stem]
                        scores[number] += boost * rarity * 2.2 * one[stem] / weight
        found: dict[str, float] = {}
        for section, score in zip(self._sections, scores, strict=True):
            page, _, part = section.place.partition("#")
            has_all = all(stem in section.title or stem in section.text for stem in stems)
            found[page] = max(found.get(page, 0), score * (1 + ((not part) + has_all) ** 2))
        return sorted(found, key=lambda page: -found[page])

    def _stems(self, text: str) -> Iterator[str]:
        for word in self._separator.split(text.lower()):
            if stripped := word.strip(".,;:`'\"()?"):
                yield re.sub(r"(?<=\w{3})(?:ies|es|s|ing|ed)$", "", stripped)


# Of lunr's stop words those that the questions have.
_COMMON = frozenset("a do does how i in is it my of or own the to which with".split())  # noqa: SIM905


def _plain(html: str) -> str:
    return re.sub(r"<[^>]+>", " ", html)


def test_each_question_is_answered_by_one_of_the_first_three_pages(built: Path) -> None:
    search = Search(built)
    assert len(QUESTIONS) >= 20
    missed = {
        question: search.pages(question)[:3]
        for question, page in QUESTIONS.items()
        if page not in search.pages(question)[:3]
    }
    assert not missed


def test_each_question_leads_to_a_page_of_the_site(built: Path) -> None:
    assert not [page for page in QUESTIONS.values() if not (built / page / "index.html").exists()]


def test_no_page_is_fetched_from_elsewhere(built: Path) -> None:
    pages: Sequence[Path] = sorted(built.rglob("*.html"))
    assert len(pages) > 50
    fetched = re.compile(r'<(?:script|img|source|link rel="(?:stylesheet|icon)")[^>]*?(?:src|href)="(?:https?:)?//')
    assert not [page for page in pages if fetched.search(page.read_text())]
