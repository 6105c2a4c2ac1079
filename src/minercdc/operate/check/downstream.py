"""Examines rules of the downstream database that LogMiner runs in. Each function examines the rule of its name; its findings are
advice, and it raises SourceError or PrerequisiteError when the rule cannot be examined."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Final

import oracledb

from minercdc.capture.logminer.logs.received import RECEIVED, of_source
from minercdc.operate.check.physical_standby import newest_archived
from minercdc.operate.check.source import Examine, ExaminedSource, advice
from minercdc.oracle.codes import oracle_errors
from minercdc.oracle.finding import Finding
from minercdc.oracle.scn import character_set, one_row

_PLATFORM: Final = "SELECT PLATFORM_NAME FROM V$DATABASE"
_RELEASE: Final = "SELECT VERSION FROM V$INSTANCE"
_THERE: Final = f"SELECT A.THREAD#, A.SEQUENCE# FROM {RECEIVED} ORDER BY A.THREAD#, A.SEQUENCE#"
_SEE: Final = (
    "On the source: SELECT DEST_NAME, STATUS, ERROR FROM V$ARCHIVE_DEST_STATUS WHERE STATUS <> 'INACTIVE'; then ALTER SYSTEM SET"
    " LOG_ARCHIVE_DEST_STATE_n = ENABLE;"
)


def downstream_kind(source: ExaminedSource) -> Iterator[Finding]:
    """One finding, advice, when the downstream database (`source.secondary`) is of another platform or character set, or of
    an earlier release, than the source."""
    here, there = source.connection, _downstream(source)
    problems = []
    platforms = [str(one_row(one, _PLATFORM, "reading the platform")[0]) for one in (here, there)]
    if platforms[0] != platforms[1]:
        problems.append(f"it runs on {platforms[1]}, the source on {platforms[0]}")
    sets = [character_set(one) for one in (here, there)]
    if sets[0] != sets[1]:
        problems.append(f"its character set is {sets[1]}, the source's {sets[0]}")
    releases = [str(one_row(one, _RELEASE, "reading the release")[0]) for one in (here, there)]
    if _parts(releases[1]) < _parts(releases[0]):
        problems.append(f"its release is {releases[1]}, the source's {releases[0]}")
    if problems:
        fix = "Ship the logs to a database of the source's platform and character set, and of its release or a later one."
        yield advice("downstream-kind", f"the downstream database differs from the source: {'; '.join(problems)}", fix)


def downstream_transport(source: ExaminedSource) -> Iterator[Finding]:
    """Findings, advice, for each redo thread of which archived logs, the newest one apart, have not reached the downstream
    database (`source.secondary`): none at all, some between others, or the last ones."""
    received: dict[int, list[int]] = {}
    with oracle_errors("reading V$FOREIGN_ARCHIVED_LOG"), _downstream(source).cursor() as cursor:
        for thread, sequence in cursor.execute(_THERE, of_source(source.connection)):
            received.setdefault(int(thread), []).append(int(sequence))
    for thread, newest in newest_archived(source.connection):
        there = received.get(thread, [])
        if not there:
            yield advice("downstream-transport", f"thread {thread}: no log of it has reached the downstream database", _SEE)
            continue
        holes = sorted(set(range(there[0], there[-1])) - set(there))
        if holes:
            shown = ", ".join(map(str, holes[:5])) + (" .." if len(holes) > 5 else "")
            problem = f"thread {thread}: logs are missing in the downstream database, although later ones exist: {shown}"
            yield advice("downstream-transport", problem, _SEE)
        if there[-1] + 1 < newest:  # the newest one may be on its way
            problem = f"thread {thread}: the logs up to {newest} are archived, but none after {there[-1]} has reached the downstream database"
            yield advice("downstream-transport", problem, _SEE)


OF_DOWNSTREAM: Final[Mapping[str, Examine]] = {
    "downstream-kind": downstream_kind,
    "downstream-transport": downstream_transport,
}
"""The functions of the rules that need a session in the downstream database, `ExaminedSource.secondary`."""


def _downstream(source: ExaminedSource) -> oracledb.Connection:
    assert source.secondary is not None
    return source.secondary


def _parts(release: str) -> tuple[int, ...]:
    """The first two numbers of a release such as `19.21.0.0.0`, to be compared: later ones do not change the redo."""
    return tuple(int(part) for part in release.split(".")[:2])
