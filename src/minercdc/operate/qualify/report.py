"""The results of a run: as lines, as JSON, and as one file to give away."""

from __future__ import annotations

import io
import json
import zipfile
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

from minercdc.operate.qualify.scrubbing import Scrubber
from minercdc.stream.state_directory import private_opener

VERSION = 1
"""Of the form of report.json; it rises when a member means something else than before."""
_MOST_LINES = 20  # of one case


@dataclass(frozen=True, slots=True)
class Result:
    """How a case came out.

    :param details: what differs, a sentence for each; of a case that is not offered, why.
    """

    family: str
    name: str
    outcome: Literal["as expected", "differs", "not offered"]
    details: tuple[str, ...] = ()

    def lines(self) -> Iterator[str]:
        """The result for people."""
        if self.outcome == "not offered":
            yield f"not offered here: {self.name}: {self.details[0]}"
            return
        yield f"{self.outcome}: {self.name}"
        yield from (f"    {one}" for one in self.details[:_MOST_LINES])
        if len(self.details) > _MOST_LINES:
            yield f"    .. and {len(self.details) - _MOST_LINES} more"


@dataclass(frozen=True, slots=True)
class Report:
    """A whole run.

    :param facts: versions and settings, by topic.
    :param seconds: that it took.
    :param replays: whether the recording can be replayed; None when none was made.
    """

    results: Sequence[Result]
    facts: Mapping[str, Sequence[str]]
    seconds: float
    replays: bool | None = None

    @property
    def differing(self) -> int:
        """How many cases differ."""
        return sum(result.outcome == "differs" for result in self.results)

    def summary(self) -> str:
        """The last line for people."""
        offered = sum(result.outcome != "not offered" for result in self.results)
        return f"this database: {offered - self.differing} of {offered} as expected, {self.differing} differ"

    def not_offered(self) -> str:
        """The line about cases that the database does not offer; '' for none."""
        count = sum(result.outcome == "not offered" for result in self.results)
        return f"{count} not offered here" if count else ""

    def document(self) -> dict[str, Any]:
        """The report as JSON."""
        return {
            "kind": "minercdc-qualification",
            "version": VERSION,
            "summary": self.summary(),
            "seconds": round(self.seconds, 1),
            "recording_replays": self.replays,
            "facts": {name: list(lines) for name, lines in self.facts.items()},
            "cases": [
                {"family": one.family, "name": one.name, "outcome": one.outcome, "details": list(one.details)}
                for one in self.results
            ],
        }

    def markdown(self) -> str:
        """The report for people who read the file."""
        lines = [
            "# A database qualified by minercdc",
            "",
            f"**{self.summary()}**" + (f"; {self.not_offered()}" if self.not_offered() else ""),
        ]
        lines += ["", f"It took {self.seconds:.0f} s.", ""]
        for outcome, title in (("differs", "What differs"), ("not offered", "Not offered here")):
            if some := [one for one in self.results if one.outcome == outcome]:
                lines += [f"## {title}", "", *(f"- {line.strip()}" for one in some for line in one.lines()), ""]
        lines += ["## The database", "", "| | |", "|---|---|"]
        lines += [f"| {name} | {'; '.join(found)} |" for name, found in self.facts.items()]
        lines += ["", "## All cases", "", "| family | case | outcome |", "|---|---|---|"]
        lines += [f"| {one.family} | {one.name} | {one.outcome} |" for one in self.results]
        return "\n".join(lines) + "\n"


def write_report(file: Path, report: Report, recording: Path | None, scrubber: Scrubber) -> None:
    """Write a zip with `report.md`, `report.json` and, where one was made, `recording.gz`; mode 0600 when it is new.

    :param recording: without names already.
    :param scrubber: takes names and secrets out of the texts.
    :raises OSError: it cannot be written.
    """
    document = scrubber.document(report.document())
    held = io.BytesIO()
    with zipfile.ZipFile(held, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("minercdc-qualify/report.md", scrubber.text(report.markdown()))
        archive.writestr("minercdc-qualify/report.json", json.dumps(document, indent=1, ensure_ascii=False) + "\n")
        if recording is not None:
            archive.write(recording, "minercdc-qualify/recording.gz")
    with open(file, "wb", opener=private_opener) as target:
        target.write(held.getvalue())
