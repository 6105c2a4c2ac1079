"""Reads and runs SQL cases: text files in the manner of sqllogictest (`sandbox/tests/cases/*.test`).

Records are separated by blank lines; lines that begin with `#` before a record are comments. Each file begins with an empty database and one session of SHOP.

    statement ok                    the SQL on the next lines must succeed
    statement count 2               .. and affect so many rows
    statement error ORA-00942       .. or fail with this error
    query                           the SQL up to `----` must return the rows on the lines after it, in this order;
    query rowsort                   .. in any order. Values are separated by ` | `; NULL is NULL; a text is in '' when its end
                                    would not show or it reads as another value; RAW and other bytes are hexadecimal
    connection two [USER]           records from here on run in the session `two`, opened at first mention; a statement must not
                                    wait for another session, as one thread runs them all
    include company                 the records of `cases/include/company.test` run here
    reset [23ai]                    an empty database again, of 19c or of that release, with one session of SHOP
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from datetime import datetime
from decimal import Decimal
from pathlib import Path

from sandbox.tests.unit.sql.client import SqlClient, connect

from minercdc_sandbox.database import SandboxDatabase
from minercdc_sandbox.interfaces import OraError
from minercdc_sandbox.server import sandbox_database

CASES = Path(__file__).parents[2] / "cases"
_PLAIN = re.compile(r"[^\s'|](?:[^|\n]*[^\s'|])?")
_OTHER_VALUE = re.compile(r"NULL|[-+\d.].*")


@dataclass(frozen=True)
class Record:
    """A directive with its arguments, the SQL on the lines after it, and the rows that are expected."""

    line: int
    words: list[str]
    sql: str
    rows: list[str]


def read_records(path: Path) -> Iterator[Record]:
    block: list[str] = []
    for number, line in enumerate([*path.read_text().splitlines(), ""], 1):
        if line.strip() and (block or not line.startswith("#")):
            block.append(line)
        elif block and not line.strip():
            head, *rest = block
            at = rest.index("----") if "----" in rest else len(rest)
            yield Record(number - len(block), head.split(), "\n".join(rest[:at]), rest[at + 1 :])
            block = []


def shown(value: object) -> str:
    """A value as case files have it."""
    if value is None:
        return "NULL"
    if isinstance(value, bytes):
        return value.hex().upper()
    if isinstance(value, Decimal):
        text = format(value, "f")
        return text.rstrip("0").rstrip(".") if "." in text else text
    if isinstance(value, datetime):
        return value.isoformat(" ")
    text = str(value)
    if isinstance(value, str) and (not _PLAIN.fullmatch(text) or _OTHER_VALUE.fullmatch(text)):
        return "'" + text.replace("\n", "\\n") + "'"
    return text


@dataclass
class CaseRun:
    """Runs the records of one file.

    :ivar failures: what differs from the file, by line.
    """

    failures: list[str] = field(default_factory=list)
    _database: SandboxDatabase | None = None
    _clients: dict[str, SqlClient] = field(default_factory=dict)
    _client: str = ""
    _release: str = "19c"

    def run(self, path: Path) -> None:
        for record in read_records(path):
            match record.words:
                case ["connection", name, *user]:
                    self._connect(name, *user)
                case ["include", name]:
                    self.run(CASES / "include" / f"{name}.test")
                case ["reset", *release]:
                    self.close()
                    self._release = release[0] if release else "19c"
                case ["statement" | "query", *expected]:
                    found = self._found(record, expected)
                    wanted = [" ".join(expected)] if record.words[0] == "statement" else self._sorted(record.rows, expected)
                    if found != wanted:
                        self.failures.append(f"{path.name}:{record.line}: {record.sql}\nexpected {wanted}\nfound    {found}")
                case _:
                    raise ValueError(f"{path.name}:{record.line}: unknown directive {' '.join(record.words)}")

    def close(self) -> None:
        if self._database is not None:
            self._database.close()
        self._database, self._clients, self._client = None, {}, ""

    def _connect(self, name: str, user: str = "SHOP") -> SqlClient:
        if self._database is None:
            self._database = sandbox_database(self._release, now=lambda: 1_790_000_000.25)
        if name not in self._clients:
            self._clients[name] = connect(self._database, user)
        self._client = name
        return self._clients[name]

    def _sorted(self, rows: list[str], expected: list[str]) -> list[str]:
        return sorted(rows) if expected == ["rowsort"] else rows

    def _found(self, record: Record, expected: list[str]) -> list[str]:
        """The outcome as the file has it."""
        client = self._connect(self._client)
        try:
            if record.words[0] == "query":
                rows = [" | ".join(map(shown, row)) for row in client.rows(record.sql)]
                return self._sorted(rows, expected)
            result = client.run(record.sql)
            if result.rows is not None:
                while len(result.rows.fetch(100)) == 100:
                    pass
            return [f"count {result.row_count}" if expected[0] == "count" else "ok"]
        except OraError as error:
            return [f"error ORA-{error.number:05d}"]
