"""What the driver's process merges into a Delta table: random histories with other writers and DDL between, beside a model of the rows."""

from __future__ import annotations

import json
import random
from collections.abc import Callable, Mapping
from contextlib import suppress
from datetime import UTC, datetime, timedelta
from decimal import Decimal
from pathlib import Path
from typing import Any, cast

import pyarrow as pa  # type: ignore[import-untyped]
import pyarrow.parquet as pq  # type: ignore[import-untyped]
import pytest
from tests.examples import examples
from tests.unit.lake.delta_directory import VECTORS, Conflict, Directory, LocalFiles, Transaction

from minercdc.lake.table.columns import CDC, TableColumn
from minercdc.lake.table.format import LastChanges
from minercdc.lake.table.native import parquet, small_files
from minercdc.lake.table.native_delta import merge
from minercdc.lake.table.native_delta.data_file import added
from minercdc.lake.table.native_delta.log import LiveFiles
from minercdc.lake.table.native_delta.merge import DeltaMerge
from minercdc.lake.table.native_delta.schema import statistics_of

ARROW = {
    "INT": pa.int32(),
    "BIGINT": pa.int64(),
    "DECIMAL(9,4)": pa.decimal128(9, 4),
    "DECIMAL(38,0)": pa.decimal128(38, 0),
    "STRING": pa.string(),
    "TIMESTAMP_NTZ": pa.timestamp("us"),
    "TIMESTAMP": pa.timestamp("us", "UTC"),
    "BINARY": pa.binary(),
    "BOOLEAN": pa.bool_(),
    "DOUBLE": pa.float64(),
}
LONG = "x" * 31
FIRST, LAST = datetime(1, 1, 1), datetime(9999, 12, 31, 23, 59, 59, 999_999)
VALUES: Mapping[str, list[Any]] = {
    "INT": [0, -1, 1, -(2**31), 2**31 - 1, 7, 8, 9, 10, 11],
    "BIGINT": [0, -1, 1, -(2**63), 2**63 - 1, 2**53, 2**53 + 1, -(2**53) - 1, 9, 10],
    "DECIMAL(9,4)": [
        Decimal(text) for text in ("0", "-0.0001", "0.0001", "-99999.9999", "99999.9999", "1", "2", "3", "4", "5")
    ],
    "DECIMAL(38,0)": [Decimal("9" * 38), Decimal("-" + "9" * 38), *(Decimal(2**63 + number) for number in range(8))],
    "STRING": [
        *("", "a", "A", "é", "𝄞", "\U0010ffff"),
        *(f"{LONG}{end}" for end in ("y", "yz", "\U0010ffff\U0010ffffz", "\ud7ffz")),
    ],
    "TIMESTAMP_NTZ": [FIRST, LAST, *(FIRST + timedelta(days=400_000 + n, microseconds=n) for n in range(8))],
    "TIMESTAMP": [one.replace(tzinfo=UTC) for one in (FIRST, LAST, *(FIRST + timedelta(days=9 * n + 1) for n in range(8)))],
    "BINARY": [b"", b"\0", b"\0\0", b"\xff", *(bytes([n]) * 40 for n in range(6))],
    "BOOLEAN": [True, False] * 5,
    "DOUBLE": [0.0, -0.0, float("inf"), -float("inf"), 1.5, -2.5, 1e300, 5e-324, 0.1, 3.0],
}
KEYS: Mapping[str, list[str]] = {
    "small": ["INT"],
    "large": ["BIGINT"],
    "text": ["STRING"],
    "several": ["DECIMAL(38,0)", "STRING", "BIGINT"],
    "times": ["TIMESTAMP_NTZ", "TIMESTAMP"],
    "bytes": ["BINARY"],
    "decimal": ["DECIMAL(9,4)"],
    "ROWID": [],
}
NAMES = ("A.B", "A", "a b", 'q"`x', "ünï", f"{CDC}.seq", "seq", "file", "row", "change", "k0", "t_scn")
EPOCH = datetime(2024, 2, 29, 23, 59, 59, 999_999, tzinfo=UTC)
MEMBERS = ("op", "scn", "commit_scn", "seq", "commit_time", "row_id")


class History:
    """One table, and what it should hold: by what identifies a row, the change that made it, with values by column id."""

    def __init__(self, root: Path, seed: int) -> None:
        self.chance = chance = random.Random(seed)
        kinds = KEYS[list(KEYS)[seed % len(KEYS)]]
        names = iter(chance.sample(NAMES, len(NAMES)))
        self.key = [f"key{i}" for i in range(len(kinds))]
        columns = [TableColumn(next(names), kind, number) for number, kind in zip(self.key, kinds, strict=True)]
        for i in range(3):
            columns.insert(chance.randrange(len(columns) + 1), TableColumn(next(names), chance.choice(list(ARROW)), f"v{i}"))
        self.table = Directory(root, columns, marks=chance.random() < 0.7)
        self.rows: dict[tuple[Any, ...], dict[str, Any]] = {}
        self.live = LiveFiles()
        self.scn, self._columns, self._names = 100, 3, names
        self.done: list[LastChanges] = []
        self.script: list[str] = []

    def step(self) -> None:
        steps: list[tuple[int, Callable[[], None]]] = [
            (12, self.merge),
            (2, self.merge_again),
            (1, self.merge_while_another_commits),
            (1, lambda: self.table.optimize(ordered=self.chance.random() < 0.5)),
            (2, self.delete),
            (1, self.table.checkpoint),
            (1, self.table.vacuum),
            (1, self.restart),
            (1, self.table.make_again),
            (1, self.table.map_columns),
            (3, self.alter),
        ]
        (chosen,) = self.chance.choices([one for _, one in steps], [weight for weight, _ in steps])
        self.script.append(getattr(chosen, "__name__", "step"))
        chosen()

    def merge(self) -> None:
        self.scn += 10
        changes = self.changes()
        self.done.append(changes)
        self.run(changes)

    def merge_again(self) -> None:
        """The changes of one of the last merges, as after a kill; they may be older than what is there. Not after a column went."""
        there = [one for one in self.done[-3:] if one.target == self.table.columns]
        if there:
            self.run(self.chance.choice(there))

    def changes(self) -> LastChanges:
        chance, found = self.chance, []
        for number in chance.sample(range(10), chance.randrange(1, 8)):
            row: dict[str, Any] = {
                "op": chance.choice("ccuudr"),
                "scn": self.scn,
                "commit_scn": self.scn - chance.choice((0, 0, 0, 10, 25)),
                "seq": chance.randrange(3),
                "commit_time": EPOCH,
                "row_id": f"AAA{number:04}",
            }
            for i, column in enumerate(self.table.columns):
                place = number if column.id in self.key else chance.randrange(10)
                values = VALUES[column.type]
                row[f"c{i}"] = None if column.id not in self.key and chance.random() < 0.2 else values[place]
            of_id = {column.id: row[f"c{i}"] for i, column in enumerate(self.table.columns)}
            found.append(row | {f"k{i}": of_id[part] for i, part in enumerate(self.key)})
        kinds = {column.id: ARROW[column.type] for column in self.table.columns}
        types = {
            "op": pa.string(),
            **dict.fromkeys(("scn", "commit_scn", "seq"), pa.int64()),
            "commit_time": pa.timestamp("us", "UTC"),
            "row_id": pa.string(),
            **{f"c{i}": ARROW[column.type] for i, column in enumerate(self.table.columns)},
            **{f"k{i}": kinds[part] for i, part in enumerate(self.key)},
        }
        schema = pa.schema(list(types.items()))
        cut = chance.randrange(len(found) + 1)  # several micro-batches, one of which may be empty
        rows = pa.concat_tables([pa.Table.from_pylist(part, schema) for part in (found[:cut], found[cut:], [])])
        return LastChanges(rows, self.table.columns, self.key)

    def run(self, changes: LastChanges) -> None:
        version, before, live = self.table.version, dict(self.table.properties), self.table.live()
        assert self.merged(changes)
        assert self.table.version <= version + 1
        if self.table.properties != before:
            assert any(one not in self.table.live() for one in live)
        self.follow(changes)

    def merged(self, changes: LastChanges) -> bool:
        transaction, files = cast(Any, Transaction(self.table)), cast(Any, self.table.files)
        return DeltaMerge(transaction, files, self.live, {VECTORS: "true"}, codec="zstd", spark="4.0.0").run(changes, "said")

    def merge_while_another_commits(self) -> None:
        """Between the reading and the commit; the merge is tried again."""
        self.scn += 10
        changes = self.changes()
        with pytest.MonkeyPatch.context() as patch, suppress(Conflict):

            def late(rows: pa.Table) -> str:
                patch.undo()
                self.table.optimize(ordered=False)
                return statistics_of(rows)

            patch.setattr(merge, "statistics_of", late)
            self.merged(changes)
        self.run(changes)

    def follow(self, changes: LastChanges) -> None:
        """What `modes.mirror_clauses` says."""
        for change in changes.rows.to_pylist():
            identity = tuple(change[f"k{i}"] for i in range(len(self.key))) or (change["row_id"],)
            there = self.rows.get(identity)
            if there is not None and (there["commit_scn"], there["seq"]) > (change["commit_scn"], change["seq"]):
                continue
            self.rows.pop(identity, None)
            if change["op"] != "d":
                values = {column.id: change[f"c{i}"] for i, column in enumerate(changes.target)}
                self.rows[identity] = {**{name: change[name] for name in MEMBERS}, "values": values}

    def delete(self) -> None:
        """As a user does."""
        if not self.table.live():
            return
        (*_, one) = self.table.live()
        there = pq.read_table(self.table.files.root / one["path"]).num_rows
        before = shown(self.table.rows())
        self.table.delete(self.chance.sample(range(there), self.chance.randrange(1, there + 1)))
        left = set(shown(self.table.rows()))
        gone = {row for row in before if row not in left}
        self.rows = {identity: row for identity, row in self.rows.items() if shown([self.expected(row)])[0] not in gone}

    def restart(self) -> None:
        self.live = LiveFiles()

    def alter(self) -> None:
        chance, table = self.chance, self.table
        others = [one for one in table.columns if one.id not in self.key]
        kind = chance.choice(("add", "drop", "rename", "widen"))
        if kind == "add" or not others:
            self._columns += 1
            table.add_column(
                TableColumn(next(self._names, f"C{self._columns}"), chance.choice(list(ARROW)), f"v{self._columns}")
            )
        elif kind == "drop":
            table.drop_column(chance.choice(others))
        elif kind == "rename":
            self._columns += 1
            table.rename_column(chance.choice(table.columns), f"C{self._columns}")
        elif wide := [one for one in table.columns if one.type == "INT"]:
            table.widen_column(chance.choice(wide), "BIGINT")

    def expected(self, row: Mapping[str, Any]) -> dict[str, Any]:
        found = {column.name: row["values"].get(column.id) for column in self.table.columns}
        return found | {CDC: {**{name: row[name] for name in MEMBERS}, "deleted": False}}

    def check(self) -> None:
        assert shown(self.table.rows()) == shown(map(self.expected, self.rows.values())), "\n".join(self.script)
        self.table.check_statistics()


def shown(rows: Any) -> list[str]:
    return sorted(str(sorted(row.items())) for row in rows)


@pytest.mark.parametrize("seed", range(examples(40)))
def test_the_rows_are_those_of_a_mirror_after_any_history(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, seed: int
) -> None:
    monkeypatch.setattr(small_files, "_MOST_SMALL", seed % 4 + 1)
    monkeypatch.setattr(parquet, "_ROWS_OF_GROUP", 3)
    history = History(tmp_path, seed)
    for _ in range(10):
        for _ in range(3):
            history.step()
        history.check()


@pytest.mark.parametrize("end", ["", "y", "\U0010ffff", "\U0010ffff\U0010ffffy", "\U0010ffffy\U0010ffff"])
def test_a_long_text_is_not_greater_than_the_log_says(end: str) -> None:
    text = "é" * 32 + end
    told = json.loads(statistics_of(pa.table({"T": [text, "a"]})))
    assert told["maxValues"]["T"].encode() >= text.encode()
    assert told["minValues"]["T"] == "a"


def test_a_file_says_nothing_of_numbers_by_which_readers_miss_nan_and_zero(tmp_path: Path) -> None:
    """Bounds leave out NaN, and a dictionary with -0.0 has no 0.0."""
    numbers = pa.array([1.0, float("nan"), -0.0])
    rows = pa.table(
        {"A.B": [1, 2, 3], "D": numbers, "S": pa.StructArray.from_arrays([numbers, pa.array("xyz")], ["F", "T"])}
    )
    made = added(cast(Any, LocalFiles(tmp_path)), rows, "{}", "zstd", dictionaries=True, spark="4.0.0")
    with pq.ParquetFile(tmp_path / made["path"]) as parquet:
        group = parquet.metadata.row_group(0)
        columns = [group.column(i) for i in range(4)]
    assert [one.is_stats_set for one in columns] == [True, False, False, True]
    assert [one.has_dictionary_page for one in columns] == [True, False, False, True]
