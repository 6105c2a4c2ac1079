"""What `contracts.Capture` and `capture.adapter` promise, held by every adapter; see `abilities` for what one cannot do by nature."""

from __future__ import annotations

import itertools
import threading
import time
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
from tests.conformance.abilities import ABILITIES, OF_DDL, comparable, expected
from tests.conformance.history import DDL_TABLES, STATEMENTS, TRANSACTIONS, write
from tests.conformance.subject import Subject, transactions
from tests.examples import every_nth
from tests.fixtures.fix_sandbox import SandboxProcess
from tests.fors_server.printing import Style as ForsStyle
from tests.olr_server.printing import Style

from minercdc.capture.registry import adapter_factory, adapter_names
from minercdc.errors import ConfigError, LogGapError, MinerCdcError
from minercdc.schema.table import TableSchema
from minercdc.schema.tables import Tables
from minercdc.stream.events import ChangeEvent, Event, Progress
from minercdc.stream.offset import JsonValue

_PATIENCE_SECONDS = 120.0
_numbers = itertools.count()


VARIANTS: dict[str, tuple[str, dict[str, Any]]] = {
    **{name: (name, {}) for name in ABILITIES},
    "olr by begin": ("olr", {"style": Style(meaning="begin", hex=True, xid=3)}),
    "olr in large blocks": ("olr", {"style": Style(block=1_000)}),
    "olr in protobuf": ("olr", {"style": Style(format="protobuf")}),
    "fors_olr big-endian": ("fors_olr", {"style": ForsStyle(order="big"), "queue": 1}),
    "fors_olr of archived logs": ("fors_olr", {"style": ForsStyle(values="text", time="redo"), "archived": True}),
}
"""Adapter, and its server if it has one."""


@pytest.fixture(params=sorted(VARIANTS))
def subject(request: pytest.FixtureRequest, sandbox: SandboxProcess, tmp_path: Path) -> Iterator[Subject]:
    with sandbox.connect(service=sandbox.root_service) as admin:
        admin.cursor().execute("alter database add supplemental log data")
    adapter, server = VARIANTS[request.param]
    more = {"minercdc.olr.protobuf.nulls": "accept"} if adapter == "olr" else {}
    opened = Subject(sandbox, adapter, f"conform{next(_numbers)}", tmp_path, settings=more, **server)
    yield opened
    opened.close()


def until(events: Iterator[Event], count: int) -> list[Event]:
    """Events up to the end of the `count`-th transaction."""
    found: list[Event] = []
    deadline = time.monotonic() + _PATIENCE_SECONDS
    for event in events:
        found.append(event)
        if isinstance(event, Progress) and event.committed is not None:
            count -= 1
            if not count:
                return found
        assert time.monotonic() < deadline, (
            f"{count} did not come within {_PATIENCE_SECONDS} s: {[e for e in found if not _is_idle(e)]}"
        )
    raise AssertionError("the stream ended")


def test_every_adapter_has_its_row() -> None:
    assert set(ABILITIES) == set(adapter_names())


def test_the_history_comes_in_commit_order(subject: Subject) -> None:
    write(subject.sessions)
    wanted = expected(subject.abilities)
    with closing(subject.read([], subject.start)) as stream:
        events = until(stream, len(wanted))
    assert comparable(subject.abilities, transactions(events)) == comparable(subject.abilities, wanted)
    scns = [e.committed.commit_scn for e in events if isinstance(e, Progress) and e.committed]
    assert scns == sorted(scns)


def test_killed_at_every_yield_it_misses_and_repeats_nothing(subject: Subject, request: pytest.FixtureRequest) -> None:
    """As the engine restarts: what came after the last stored position is read again."""
    write(subject.sessions)
    wanted = expected(subject.abilities)
    with closing(subject.read([], subject.start)) as stream:
        whole = [event for event in until(stream, len(wanted)) if not _is_idle(event)]
    # By day each adapter is killed after other events than its neighbours.
    kills = range(1, len(whole))
    shift = sorted(VARIANTS).index(request.node.callspec.params["subject"]) % 3
    for killed_after in every_nth([*kills[shift:], *kills[:shift]], 3):
        kept: list[Event] = []
        position = subject.start
        with closing(subject.read(kept, position)) as stream:
            pending: list[Event] = []
            seen = 0
            for event in stream:
                pending.append(event)
                seen += not _is_idle(event)
                if isinstance(event, Progress) and event.position is not None:
                    kept, pending, position = [*kept, *pending], [], event.position.to_json()
                if seen == killed_after:
                    break
        left = len(wanted) - len(transactions(kept))
        if left:
            with closing(subject.read(kept, position)) as stream:
                kept += until(stream, left)
        found = comparable(subject.abilities, transactions(kept))
        assert found == comparable(subject.abilities, wanted), f"killed after event {killed_after}"


def test_progress_comes_when_idle_and_the_stop_ends_the_stream(subject: Subject) -> None:
    tables, stop = Tables(), threading.Event()
    capture = subject.open(tables).capture
    position = capture.load_position(subject.start)
    before = subject.scn()
    if not subject.abilities.idle_scn:
        write(subject.sessions, STATEMENTS[:4])
    with closing(capture):
        for event in capture.stream(position, stop):
            if not subject.abilities.idle_scn and not isinstance(event, Progress):
                continue
            assert isinstance(event, Progress)
            assert event.position is not None
            assert not event.position.precedes(position)
            position = capture.load_position(event.position.to_json())
            assert position == event.position
            if event.complete_scn >= before:
                stop.set()
    capture.close()


def test_a_position_without_lost_redo_is_readable(subject: Subject) -> None:
    write(subject.sessions)
    opened = subject.open(Tables())
    assert opened.unreadable(opened.capture.load_position(subject.start)) is None


def test_a_position_of_another_database_or_incarnation_is_refused(subject: Subject) -> None:
    write(subject.sessions, STATEMENTS[:4])
    opened = subject.open(Tables())
    for changed, says in (({"dbid": "1"}, "belongs to the database with DBID 1"), ({"resetlogs": "7"}, "RESETLOGS")):
        position = opened.capture.load_position({**subject.start, **changed})
        gap = opened.unreadable(position)
        assert isinstance(gap, LogGapError)
        assert says in gap.message
        with pytest.raises(LogGapError, match=says):
            next(iter(opened.capture.stream(position, threading.Event())))
    of_before = {**{name: value for name, value in subject.start.items() if name != "dbid"}, "resetlogs": "0"}
    with closing(subject.read([], of_before)) as stream:
        last = until(stream, 1)[-1]
    assert isinstance(last, Progress)
    assert last.position is not None
    if "con_dbid" in subject.start:
        gap = opened.unreadable(opened.capture.load_position({**subject.start, "con_dbid": "1"}))
        assert gap is not None
        assert "CON_DBID 1" in gap.message
    names = "dbid", "resetlogs"
    assert [last.position.to_json()[name] for name in names] == [subject.start[name] for name in names]


def test_it_goes_on_from_every_position_of_its_family(subject: Subject) -> None:
    write(subject.sessions)
    wanted = expected(subject.abilities)
    family = [name for name in adapter_names() if adapter_factory(name).family == adapter_factory(subject.adapter).family]
    for other in family:
        with closing(subject.read([], subject.start)) as stream:
            kept = until(stream, 2)
        last = kept[-1]
        assert isinstance(last, Progress)
        assert last.position is not None
        with closing(subject.read(kept, last.position.to_json(), other)) as stream:
            kept += until(stream, len(wanted) - 2)
        assert comparable(subject.abilities, transactions(kept)) == comparable(subject.abilities, wanted)


def test_a_hand_over_by_scn_delivers_what_was_committed_after_it(subject: Subject) -> None:
    half = next(at for at, (_, statement) in enumerate(STATEMENTS) if "savepoint" in statement) - 1
    write(subject.sessions, STATEMENTS[:half])
    scn = subject.scn()
    write(subject.sessions, STATEMENTS[half:])
    wanted = expected(subject.abilities, TRANSACTIONS[3:])
    opened = subject.open(Tables())
    position = opened.start_position(scn, opened.mine_from(scn))
    with closing(subject.read([], position.to_json())) as stream:
        events = until(stream, len(wanted))
    assert comparable(subject.abilities, transactions(events)) == comparable(subject.abilities, wanted)


@pytest.mark.parametrize("adapter", sorted(OF_DDL))
def test_partitions_that_go_and_keys_that_change_lose_nothing(sandbox: SandboxProcess, tmp_path: Path, adapter: str) -> None:
    """Rows of a partition are read when it is gone, and have the key of their time; as far as the adapter can."""
    with sandbox.connect(service=sandbox.root_service) as admin:
        admin.cursor().execute("alter database add supplemental log data")
    subject = Subject(sandbox, adapter, f"conform{next(_numbers)}", tmp_path, tables=DDL_TABLES)
    abilities, of_ddl = subject.abilities, OF_DDL[adapter]
    history = of_ddl.phases()
    wanted = [expected(abilities, [phase.changes]) for phase in history]
    events: list[Event] = []
    with closing(subject.read(events, subject.start)) as stream:
        for phase, changes in zip(history, wanted, strict=True):
            write(subject.sessions, [("one", statement) for statement in (*phase.statements, "commit")])
            if not of_ddl.afterwards and changes:
                events += until(stream, 1)
            write(subject.sessions, [("one", statement) for statement in phase.ddl])
        if of_ddl.afterwards:
            events += until(stream, sum(map(len, wanted)))
    subject.close()
    assert comparable(abilities, transactions(events)) == comparable(
        abilities, [one for changes in wanted for one in changes]
    )
    keys = [key_of(event.schema) for event in events if isinstance(event, ChangeEvent) and event.schema.id.table == "KEYED"]
    meant = [phase.key for phase in history for change in phase.changes if change.table == "KEYED"]
    assert keys == meant


def key_of(schema: TableSchema) -> tuple[str, ...]:
    return tuple(schema.columns[place].name for place in schema.key)


def test_what_is_no_position_of_it_is_refused(subject: Subject) -> None:
    capture = subject.open(Tables()).capture
    others: list[dict[str, JsonValue]] = [{}, {"window": "1"}, {"c_scn": "1", "c_idx": 2}]
    for saved in others:
        with pytest.raises(ConfigError) as refused:
            capture.load_position(saved)
        assert isinstance(refused.value, MinerCdcError)
        assert "database.connection.adapter" in str(refused.value)


def _is_idle(event: Event) -> bool:
    return isinstance(event, Progress) and event.committed is None
