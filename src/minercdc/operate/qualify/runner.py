"""`minercdc qualify`: a place of its own, the history in it, two captures of it, and what they make of each case."""

from __future__ import annotations

import logging
import re
import time
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Final

from minercdc.config.load import ConnectorConfig
from minercdc.errors import ConfigError, MinerCdcError
from minercdc.lake.stream.change_log import placeholder_forms
from minercdc.operate.qualify.capturing import Captured, LiveCapture, capture_config, captured_later
from minercdc.operate.qualify.cases import FAMILIES
from minercdc.operate.qualify.comparison import CapturedEvent, differences
from minercdc.operate.qualify.facts import facts, names, secrets
from minercdc.operate.qualify.history import CaseRun, History, StoppedError
from minercdc.operate.qualify.place import Access, Place, working_place
from minercdc.operate.qualify.report import Report, Result, write_report
from minercdc.operate.qualify.scrubbing import Scrubber, scrubbed_recording
from minercdc.operate.recording.replaying import replay
from minercdc.operate.recording.session import refuse_other_adapters
from minercdc.oracle.connect import connect, database_name
from minercdc.stream.contracts import StopFlag
from minercdc.stream.temporary import temporary_directory

_log = logging.getLogger(__name__)

_MOST_SESSIONS: Final = 5  # of the later capture, each without the cases that ended those before
LIVE: Final = "captured while it happened"
LATER: Final = "captured later"


@dataclass(frozen=True, slots=True)
class Request:
    """What is asked for.

    :param wanted: texts; a case is run when its name has one of them, regardless of case. () for all.
    :param report: the file to write; None for none.
    """

    access: Access
    wanted: Sequence[str] = ()
    report: Path | None = None


def chosen(wanted: Sequence[str]) -> list[CaseRun]:
    """The cases that are wanted, numbered from 1. Raises ConfigError when no case has such a name."""
    found = [
        (family, case)
        for family, cases in FAMILIES.items()
        for case in cases
        if not wanted or any(one.lower() in case.name.lower() for one in wanted)
    ]
    if not found:
        raise ConfigError(
            [f"--case: no case has {' or '.join(wanted)} in its name"],
            hint="Without --case all are run, and their names printed.",
        )
    return [CaseRun(number, family, case) for number, (family, case) in enumerate(found, 1)]


def qualify(
    config: ConnectorConfig,
    request: Request,
    stop: StopFlag,
    said: Callable[[str, int, int], None] = lambda _what, _done, _all: None,
) -> Report | None:
    """Run the cases in the database of a configuration, and compare; None when it was stopped. What it made in the database is
    gone afterwards, also after an error.

    :param said: called with what is done now, how much of that is done, and how much there is.
    :raises ConfigError: the adapter does not mine, there are several pluggable databases, or no case is wanted.
    :raises PrerequisiteError: a privilege is missing, or the database is not prepared for capture.
    :raises MinerCdcError, OSError: the database cannot be reached, or the report not be written.
    """
    refuse_other_adapters(config)
    database_name(config.database)  # refuses several pluggable databases
    runs, began = chosen(request.wanted), time.monotonic()
    with temporary_directory("minercdc-qualify-") as directory, working_place(request.access) as place:
        work = _Work(config, place, request.access, Path(directory), stop, said)
        try:
            results = work.results(runs)
        except StoppedError:
            return None
        if stop.is_set():
            return None
        report = Report(results, facts(config), time.monotonic() - began)
        if request.report is not None:
            others = (place.owner, request.access.admin)
            made = set() if request.access.owner else {place.schema}
            scrubber = Scrubber(names(config, *others) - made, secrets(config, *others))
            report = _written(report, request.report, work.recording, scrubber, place)
    return report


def _written(report: Report, file: Path, recording: Path, scrubber: Scrubber, place: Place) -> Report:
    scrubbed, there = recording.with_name("scrubbed.gz"), recording.exists()
    if there:
        scrubbed_recording(recording, scrubbed, scrubber, place.schema)
        if scrubber.text(place.schema) != place.schema and (keys := _keys_of(scrubbed)):  # topics have another name
            scrubbed_recording(recording, scrubbed, scrubber, place.schema, keys)
        report = replace(report, replays=_replays(scrubbed))
    write_report(file, report, scrubbed if there else None, scrubber)
    return report


def _keys_of(recording: Path) -> str:
    """The digest of the records that a replay makes; '' where it fails."""
    try:
        return replay(recording, lambda _: None).tally.keys
    except MinerCdcError:
        return ""


def _replays(recording: Path) -> bool:
    try:
        found = replay(recording, lambda _: None)
    except MinerCdcError as error:
        _log.warning("the recording cannot be replayed: %s", error)
        return False
    for difference in found.differences:
        _log.warning("the recording is replayed otherwise: %s", difference)
    return not found.differences


class _Work:
    """One run in its place.

    :ivar recording: of the session of the later capture.
    """

    def __init__(
        self,
        config: ConnectorConfig,
        place: Place,
        access: Access,
        directory: Path,
        stop: StopFlag,
        said: Callable[[str, int, int], None],
    ) -> None:
        self._config, self._place, self._access, self._directory = config, place, access, directory
        self._stop, self._said = stop, said
        self.recording = directory / "recording.gz"

    def results(self, runs: Sequence[CaseRun]) -> list[Result]:
        """Run and judge the cases. Raises StoppedError, and as `qualify`."""
        capture = self._capturing(runs)
        history = History(self._place, capture, lambda: connect(self._access.admin, "root"), self._stop)
        last = f"{self._place.prefix}END"
        with closing(history):
            history.make_end(last)
            for done, run in enumerate(runs):
                self._said("preparing", done, len(runs))
                history.prepare(run)
            live = LiveCapture(self._capturing([run for run in runs if run.counts]))
            try:
                live.start(self._stop)
                for done, run in enumerate(runs):
                    self._said("running", done, len(runs))
                    if self._stop.is_set():
                        raise StoppedError
                    if run.counts:
                        history.run(run)
                history.mark_end(last)
                self._said("capturing", 0, 2)
                first = live.finish(last, self._stop)
            finally:
                live.end()
            self._said("capturing", 1, 2)
            later, ended = self._later(live, [run for run in runs if run.counts])
        return [self._judged(run, first, later, ended, capture) for run in runs]

    def _capturing(self, runs: Sequence[CaseRun]) -> ConnectorConfig:
        return capture_config(self._config, self._place, [run.number for run in runs], self._directory)

    def _later(self, live: LiveCapture, runs: Sequence[CaseRun]) -> tuple[Captured, Mapping[int, str]]:
        """What the later capture delivers; and by number the cases that ended a session of it, which are left out of the next one, with
        the error."""
        ended: dict[int, str] = {}
        while True:
            some = self._capturing([run for run in runs if run.number not in ended])
            found = captured_later(some, live.begun, self.recording, self._stop)
            if self._stop.is_set():
                raise StoppedError
            culprit = _culprit(found.error, self._place) if found.error is not None else None
            if culprit is None or culprit in ended or len(ended) + 1 == _MOST_SESSIONS:
                return found, ended
            _log.warning("%s; once more without that case", found.error.message if found.error else "")
            ended[culprit] = str(found.error)

    def _judged(
        self, run: CaseRun, first: Captured, later: Captured, ended: Mapping[int, str], capture: ConnectorConfig
    ) -> Result:
        if run.not_offered:
            return Result(run.family, run.case.name, "not offered", (run.not_offered,))
        if run.failure:
            return Result(run.family, run.case.name, "differs", (run.failure,))
        unknown = placeholder_forms(capture.values)
        found = list(self._of(run, first, LIVE, unknown, with_snapshot=True))
        if run.number in ended:
            found.append(f"{LATER}: {ended[run.number]}")
        else:
            found += self._of(run, later, LATER, unknown, with_snapshot=False)
        return Result(run.family, run.case.name, "differs" if found else "as expected", tuple(found))

    def _of(
        self, run: CaseRun, captured: Captured, how: str, unknown: Collection[str], *, with_snapshot: bool
    ) -> Iterator[str]:
        tables = list(self._place.names(run.number).values())
        for table, reason in captured.suspended.items():
            if table.rpartition(".")[2] in tables:
                yield f"{how}: the table was suspended: {reason}"
        events: list[CapturedEvent] = [event for table in tables for event in captured.events.get(table, ())]
        found = differences(run.seen, events, unknown, with_snapshot=with_snapshot)
        if found and captured.error is not None:
            yield f"{how}: the capture ended early: {captured.error}"
        yield from (f"{how}: {one}" for one in found)


def _culprit(error: MinerCdcError, place: Place) -> int | None:
    """The number of the case whose table an error names; None when it names none."""
    found = re.search(rf"{place.prefix}(\d\d)", f"{error.message} {error.hint}")
    return int(found[1]) if found else None
