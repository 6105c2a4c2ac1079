"""Keys and large values of few rows, changed again and again within one transaction: rows exchange their keys, come again under the key of
another, and are taken back to savepoints. What comes out amounts to the table, value by value, by both paths (`tests/native_pair.py`).

Seeded: what the statements are is chance, and the table says what they did.
"""

from __future__ import annotations

import random
from collections.abc import Sequence
from pathlib import Path
from typing import Any, TypeAlias

import oracledb
import pytest
from tests.examples import examples
from tests.fixtures.fix_sandbox import SandboxProcess
from tests.sandbox_capture.lab import Lab, Reader, canonical
from tests.sandbox_capture.test_capture import make_lab

from minercdc.stream.events import UNAVAILABLE, ChangeEvent, Value

Shown: TypeAlias = dict[str, Value]

_KEYS = range(1, 5)
_SIZES = (None, 4, 40, 2500, 5000, 9000)
_CHANGES = (
    *(
        "insert",
        "insert",
        "delete",
        "move",
        "exchange",
        "up",
        "down",
        "plain",
        "set",
        "set",
        "both",
        "none",
        "empty",
        "edit",
        "edit",
    ),
    "savepoint",
)
_EDITS = (
    "dbms_lob.writeappend(l, 3, 'xyz')",
    "dbms_lob.write(l, 2, 1, '?q')",
    "dbms_lob.trim(l, greatest(dbms_lob.getlength(l) - 2, 1))",
    "dbms_lob.trim(l, 0)",
    "dbms_lob.erase(l, n, 1)",
    "dbms_lob.writeappend(l, 3, 'end'); dbms_lob.write(l, 1, 2, 'w')",
)
_ANEW = "dbms_lob.trim(l, 0); dbms_lob.writeappend(l, 5, 'fresh')"
# What a statement may be refused for: a key that is there, no such row, a LOB that is NULL or too short.
_REFUSED = ("ORA-00001", "ORA-01403", "ORA-06502", "ORA-22275", "ORA-22926", "ORA-21560")


class Statements:
    """The statements of one session.

    :ivar script: those that were run, for the message of a failure.
    """

    def __init__(self, lab: Lab, chance: random.Random) -> None:
        self._lab, self._chance = lab, chance
        self.script: list[str] = []
        self._savepoints = 0
        self._known: set[str] = set()  # ROWIDs of the rows whose CLOB the transaction has set: redo holds it whole

    def transaction(self) -> None:
        """Some statements, and mostly a commit."""
        for _ in range(self._chance.randrange(1, 14)):
            self._step()
        self.script.append("rollback" if self._chance.random() < 0.12 else "commit")
        getattr(self._lab.app, self.script[-1])()
        self._savepoints = 0
        self._known.clear()

    def _step(self) -> None:
        key, other = self._chance.choice(_KEYS), self._chance.choice(_KEYS)
        change = self._chance.choice(_CHANGES)
        match change:
            case "insert":
                self._set(key, f"insert into doc values ({key}, 't', :1, :2)", self._large(), self._bytes())
            case "delete":
                self._run(f"delete from doc where id = {key}")
            case "move":
                self._run(f"update doc set id = {other} where id = {key}")
            case "exchange" if key != other:
                self._run(f"update doc set id = {key + other} - id where id in ({key}, {other})")
            case "up":
                self._run("update doc set id = id + 1")
            case "down":
                self._run("update doc set id = id - 1 where id > 1")
            case "plain":
                self._run(f"update doc set t = t || 'x' where id = {key}")
            case "set":
                self._set(key, f"update doc set c = :1 where id = {key}", self._large())
            case "both":
                self._set(other, f"update doc set c = :1, t = t || 'y', id = {other} where id = {key}", self._large())
            case "none":
                self._run(f"update doc set c = null where id = {key}")
            case "empty":
                self._run(f"update doc set c = empty_clob() where id = {key}")
            case "edit":
                edit = self._chance.choice(_EDITS) if self._row_id(key) in self._known else _ANEW
                select = f"select c into l from doc where id = {key} for update"
                self._set(key, f"declare l clob; n number := 2; begin {select}; {edit}; end;")
            case "savepoint":
                self._to_savepoint()

    def _to_savepoint(self) -> None:
        if self._savepoints and self._chance.random() < 0.6:
            self._savepoints = self._chance.randrange(self._savepoints) + 1
            self._run(f"rollback to savepoint s{self._savepoints}")
            self._known.clear()
        else:
            self._savepoints += 1
            self._run(f"savepoint s{self._savepoints}")

    def _set(self, key: int, statement: str, *binds: Any) -> None:
        """Run what sets the CLOB of the row that has this key afterwards."""
        if self._run(statement, *binds) and (row_id := self._row_id(key)) is not None:
            self._known.add(row_id)

    def _run(self, statement: str, *binds: Any) -> int:
        """How many rows it changed, 0 where it was refused."""
        self.script.append(f"{statement} {[None if bind is None else len(bind) for bind in binds] or ''}")
        with self._lab.app.cursor() as cursor:
            try:
                cursor.execute(statement, list(binds))
            except oracledb.DatabaseError as error:
                if not str(error).startswith(_REFUSED):
                    raise
                return 0
            return int(cursor.rowcount)

    def _row_id(self, key: int) -> str | None:
        with self._lab.app.cursor() as cursor:
            cursor.execute("select rowid from doc where id = :1", [key])
            row = cursor.fetchone()
            return None if row is None else str(row[0])

    def _large(self) -> str | None:
        size = self._chance.choice(_SIZES)
        return None if size is None else "".join(self._chance.choices("abc\n'é", k=size))

    def _bytes(self) -> bytes | None:
        text = self._large()
        return None if text is None else text.encode()


def shown(reader: Reader) -> list[Shown]:
    """What DOC amounts to after the events, in canonical text. Fails at a change of a row that is not there, or looked otherwise: where a
    statement moves keys, two rows may have one for a while."""
    rows: list[Shown] = []
    for event in reader.events:
        if not isinstance(event, ChangeEvent) or event.schema.id.table != "DOC":
            continue
        names = [column.name for column in event.schema.columns]
        before, after = (canonical(event.schema, row) for row in (event.before, event.after))
        was: Shown = {}
        if before is not None:
            like = [row for row in rows if _may_be(row, dict(zip(names, before, strict=True)))]
            assert like, f"{event.op} of a row that is not there: {before[:2]}"
            was = like[0]
            rows.remove(was)
        if after is not None:
            values = zip(names, after, strict=True)
            rows.append({name: was.get(name, value) if value is UNAVAILABLE else value for name, value in values})
    return rows


def _may_be(row: Shown, image: Shown) -> bool:
    return all(UNAVAILABLE in (row[name], value) or row[name] == value for name, value in image.items())


def held(lab: Lab) -> list[Shown]:
    """What DOC holds, without the BLOB."""
    with lab.app.cursor() as cursor:
        cursor.execute("select id, t, c from doc")
        return [{"ID": str(key), "T": t, "C": c.read() if c is not None else None} for key, t, c in cursor]


def comparable(rows: Sequence[Shown], unknown: set[Value]) -> list[tuple[str, ...]]:
    """The rows, sorted, without the CLOBs of these keys, which no event had; NULL and the empty value are one."""
    return sorted((str(row["ID"]), str(row["T"]), "?" if row["ID"] in unknown else str(row["C"] or "")) for row in rows)


@pytest.mark.parametrize("seed", range(examples(24)))
def test_rows_that_take_each_others_keys_keep_their_values(sandbox: SandboxProcess, tmp_path: Path, seed: int) -> None:
    chance = random.Random(seed)
    lobs = chance.random() < 0.7
    mining: dict[str, Any] = {
        "lob.enabled": lobs,
        "query.fetch.size": chance.choice([3, 7, 1000]),
        "log.mining.strategy": chance.choice(["online_catalog", "hybrid", "redo_log_catalog"]),
    }
    if chance.random() < 0.3:
        mining["minercdc.log.mining.buffer.memory.max.bytes"] = 1 << 20
    if chance.random() < 0.3 and not lobs:
        mining["minercdc.log.mining.buffer.durable.after.ms"] = 0
    lab = make_lab(sandbox, tmp_path, committed=chance.random() < 0.4, **mining)
    store = chance.choice(["", " lob (c) store as basicfile", " lob (c) store as securefile"])
    lab.run(
        f"create table doc (id number(10) primary key, t varchar2(400), c clob, b blob){store}",
        "alter table doc add supplemental log data (all) columns",
    )
    reader = Reader(lab).take_snapshot(with_rows=False)
    statements = Statements(lab, chance)
    for number in range(chance.randrange(4, 12)):
        statements.transaction()
        if chance.random() < 0.15:
            reader.until_marker(number + 100)
    reader.until_marker(1)
    rows = shown(reader)
    unknown = {row["ID"] for row in rows if row["C"] is UNAVAILABLE}
    assert comparable(rows, unknown) == comparable(held(lab), unknown), "\n".join([str(mining), store, *statements.script])
    lab.app.close()
