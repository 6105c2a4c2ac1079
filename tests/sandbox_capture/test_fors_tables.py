"""`fors_olr`: LOBs and XML in pieces, lists of tables, and DDL, which the server does not follow."""

from __future__ import annotations

import random
import re
import struct
from collections.abc import Callable, Sequence

import oracledb
import pytest
from tests.conformance.history import STATEMENTS, write
from tests.conformance.subject import Subject
from tests.examples import one_of_each
from tests.fors_server import wire
from tests.fors_server.printing import Style
from tests.fors_server.server import Faults
from tests.sandbox_capture.test_fors_olr import Opened, opened, server_of
from tests.sandbox_capture.test_olr import Run, changes

from minercdc.errors import SchemaMismatchError, SourceError, TransientSourceError
from minercdc.stream.events import UNAVAILABLE, ChangeEvent, Event, SchemaChange, UndecodableRow

__all__ = ["opened"]

LOBS = ("create table doc (id number(9) primary key, c clob, b blob)",)


@pytest.mark.parametrize("size", [0, 1, 10_000_000])
def test_lobs_are_joined_from_their_pieces(opened: Opened, size: int) -> None:
    subject = opened(
        tables=LOBS, settings={"lob.enabled": "true", "minercdc.lob.reselect": "none"}, style=Style(piece=32_000)
    )
    text, data = "Ж" * size, random.Random(size).randbytes(size)
    with subject.sessions["one"].cursor() as cursor:
        if size:
            cursor.setinputsizes(oracledb.DB_TYPE_CLOB, oracledb.DB_TYPE_BLOB)
            cursor.execute("insert into doc values (1, :1, :2)", [text, data])
        else:
            cursor.execute("insert into doc values (1, empty_clob(), empty_blob())")
    subject.sessions["one"].commit()
    inserted = changes(Run(subject).to(1).kept)[-1]
    # The protocol says NULL by the size 0.
    assert inserted.after == ("1", text or None, data.hex() or None)


def at(place: int, byte: int) -> Callable[[bytes], bytes]:
    """Sets a byte of an answer."""
    return lambda answer: answer[:place] + bytes([byte]) + answer[place + 1 :]


DAMAGES: dict[str, Callable[[bytes], bytes]] = {
    "a piece of column X, which was not expected": at(36, ord("X")),
    "with type 99": at(37, 99),
    "which was not expected|without the last ones of|a piece of column": at(39, 3),
    "with the flags 4": at(39, 4),
    "3 is not an operation code": at(6, 3),
    "before the last piece|an operation of": lambda answer: wire.Writer().frame(
        wire.DATA, wire.Writer().commit(*numbers(answer))
    ),
}


@pytest.mark.parametrize(("reason", "number"), one_of_each(list(DAMAGES), [2, 3, 4]))
def test_pieces_that_do_not_fit_together(opened: Opened, reason: str, number: int) -> None:
    """Begin, the row, two pieces of C, one of B, Commit; damaged is the first piece of C, its last one, or the last of the row."""
    subject = opened(
        tables=LOBS,
        settings={"lob.enabled": "true", "minercdc.lob.reselect": "none"},
        style=Style(piece=10),
        faults=Faults(damage={number: DAMAGES[reason]}),
    )
    with subject.sessions["one"].cursor() as cursor:
        cursor.execute("insert into doc values (1, 'eight ch', hextoraw('ff'))")
    subject.sessions["one"].commit()
    run = Run(subject).to(1, restarts=1)
    if not (run.errors or number == 4):  # flags 3 are right for the last piece
        raise AssertionError("no error")
    for error in run.errors:
        assert re.search(reason, str(error)), error
    (inserted,) = changes(run.kept)
    assert inserted.after == ("1", "eight ch", "ff")


def numbers(answer: bytes) -> tuple[int, int, int, int]:
    """SCN, CommitSCN, XID and time of an operation."""
    scn, commit_scn, xid, time_ = struct.unpack_from("<QQQI", answer, 7)
    return scn, commit_scn, xid, time_


def test_lobs_that_the_server_does_not_read_are_null(opened: Opened) -> None:
    """DEDUPLICATE, COMPRESS and ENCRYPT: the server sends NULL, which looks like a NULL of the table."""
    subject = opened(
        tables=LOBS,
        settings={"lob.enabled": "true", "minercdc.lob.reselect": "none"},
        style=Style(deduplicated=frozenset({"C"})),
    )
    with subject.sessions["one"].cursor() as cursor:
        cursor.execute("insert into doc values (1, 'text', hextoraw('ff'))")
    subject.sessions["one"].commit()
    (inserted,) = changes(Run(subject).to(1).kept)
    assert inserted.after == ("1", None, "ff")


def test_without_lob_enabled_pieces_are_passed_over(opened: Opened) -> None:
    subject = opened(tables=LOBS)
    with subject.sessions["one"].cursor() as cursor:
        cursor.execute("insert into doc values (1, 'text', hextoraw('ff'))")
    subject.sessions["one"].commit()
    (inserted,) = changes(Run(subject).to(1).kept)
    assert inserted.after == ("1", UNAVAILABLE, UNAVAILABLE)


def other_list(opened: Opened, **settings: str) -> tuple[Subject, Run]:
    """A connector that restarts, and has one more table, beside a server that runs on."""
    subject = opened(settings=settings)
    write(subject.sessions, STATEMENTS[:4])
    run = Run(subject).to(1)
    with subject.sessions["one"].cursor() as cursor:
        cursor.execute("create table later (id number(9) primary key)")
    return subject, run


def test_a_server_with_another_list_of_tables_is_refused(opened: Opened) -> None:
    subject, run = other_list(opened)
    with pytest.raises(SourceError, match="was started with a list of tables that differs") as refused:
        run.to(2)
    assert "Restart the server" in str(refused.value)
    server_of(subject).restart()
    with subject.sessions["one"].cursor() as cursor:
        cursor.execute("insert into later values (1)")
    subject.sessions["one"].commit()
    run.to(2)
    assert [change.schema.id.table for change in changes(run.kept)][-1] == "LATER"


def test_or_is_ended_by_log_off(opened: Opened) -> None:
    subject, run = other_list(opened, **{"minercdc.fors.log.off": "true"})
    with subject.sessions["one"].cursor() as cursor:
        cursor.execute("insert into later values (1)")
    subject.sessions["one"].commit()
    run.to(2, restarts=1)
    assert isinstance(run.errors[0], TransientSourceError)
    assert [code for code, _ in server_of(subject).requests].count(wire.LOG_OFF) == 1
    assert [change.schema.id.table for change in changes(run.kept)][-1] == "LATER"


DDL = ["alter table note add (n number)", "alter table note drop column text", "drop table note"]


@pytest.mark.parametrize("ddl", DDL)
def test_ddl_is_noticed_before_a_row_of_after_it(opened: Opened, ddl: str) -> None:
    subject = opened(
        tables=("create table note (text varchar2(40), kept number)", *LOBS),
        settings={"event.processing.failure.handling.mode": "fail"},
    )
    one = subject.sessions["one"]
    with one.cursor() as cursor:
        cursor.execute("insert into note values ('a', 1)")
        one.commit()
        run = Run(subject).to(1)
        cursor.execute("insert into note values ('b', 1)")
        one.commit()
        cursor.execute(ddl)
        if "drop table" in ddl:
            cursor.execute("create table note (text varchar2(40), kept number)")
            cursor.execute("alter table note add supplemental log data (all) columns")
        cursor.execute("insert into note (kept) values (2)")
        one.commit()
    with pytest.raises(SchemaMismatchError, match=r"has columns|was altered|has the object id|lacks") as refused:
        run.until(lambda run: False)
    assert "does not follow DDL" in str(refused.value)


def test_an_altered_table_is_suspended_and_has_its_new_shape_once_the_server_restarts(opened: Opened) -> None:
    subject = opened(settings={"event.processing.failure.handling.mode": "warn"})
    one = subject.sessions["one"]
    with one.cursor() as cursor:
        cursor.execute("insert into note values ('a')")
        one.commit()
        run = Run(subject).to(1)
        cursor.execute("alter table note add (n number)")
        cursor.execute("insert into note values ('b', 1)")
        one.commit()
        cursor.execute("insert into orders values (1, 1, 1)")
        one.commit()
        run.until(
            lambda run: any(isinstance(event, ChangeEvent) and event.schema.id.table == "ORDERS" for event in run.kept)
        )
        (left_out,) = (event for event in run.kept if isinstance(event, UndecodableRow))
        assert left_out.code == "MC-4301" or "altered" in left_out.reason or "columns" in left_out.reason
        server_of(subject).restart()
        cursor.execute("insert into note values ('c', 2)")
        one.commit()
    run.until(lambda run: changes_of(run.kept)[-1].after == ("c", "2"))
    assert [event.table.table for event in run.kept if isinstance(event, SchemaChange)] == ["NOTE"]


def changes_of(events: Sequence[Event]) -> list[ChangeEvent]:
    return [event for event in events if isinstance(event, ChangeEvent)]


@pytest.mark.parametrize("is_binary", [False, True], ids=["as CLOB", "as tokens"])
def test_xml(opened: Opened, is_binary: bool) -> None:
    """XMLTYPE in compressed tokens is not available; NULL is."""
    subject = opened(
        tables=("create table doc (id number(9) primary key, x xmltype)",),
        settings={"lob.enabled": "true", "minercdc.lob.reselect": "none"},
        style=Style(binary_xml=is_binary),
    )
    with subject.sessions["one"].cursor() as cursor:
        cursor.execute("insert into doc values (1, xmltype('<a>Ж</a>'))")
        cursor.execute("insert into doc values (2, null)")
    subject.sessions["one"].commit()
    one, two = changes(Run(subject).to(1).kept)
    assert one.after is not None
    assert one.after[1] is UNAVAILABLE if is_binary else "<a>Ж</a>" in str(one.after[1])
    assert two.after == ("2", None)
