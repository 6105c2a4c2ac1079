"""What a read_committed reader of the topics has to find: every committed change once, in order, and the source's tables in the end."""

from __future__ import annotations

import json
from collections import Counter, defaultdict
from typing import Any

from tests.simulate.kafka import Cluster
from tests.simulate.source import ITEM, OWNER, PAIR, Source, Table, Values


class Judge:
    """Of one history."""

    def __init__(self, source: Source, cluster: Cluster, prefix: str) -> None:
        self._source, self._cluster, self._prefix = source, cluster, prefix

    def _topic(self, table: Table) -> str:
        return f"{self._prefix}.{OWNER}.{table.name}"

    def _expected(self, table: Table, snapshot_scn: int) -> list[tuple[Any, ...]]:
        """(operation, before, after, commit SCN, XID) in the order of the stream; a changed key is a delete and a create."""
        found: list[tuple[Any, ...]] = []
        for committed in self._source.committed:
            if committed.scn <= snapshot_scn:
                continue
            for change in committed.changes:
                if change.table is not table:
                    continue
                at = committed.scn, committed.xid
                moved = (
                    change.op == "u"
                    and change.before
                    and change.after
                    and change.key(change.before) != change.key(change.after)
                )
                if moved:
                    found += [("d", change.before, None, *at), ("c", None, change.after, *at)]
                else:
                    found.append((change.op, change.before, change.after, *at))
        return found

    def _read(self, table: Table) -> list[dict[str, Any]]:
        """Values of the records, without tombstones."""
        found = []
        for _, offset, entry in self._cluster.committed(self._topic(table)):
            if entry.value is not None:
                if entry.parsed is None:
                    document = json.loads(entry.value)
                    entry.parsed = {**document.get("payload", document), "offset": offset}
                found.append(entry.parsed)
        return found

    def _offset(self) -> dict[str, Any] | None:
        found = [e for _, _, e in self._cluster.committed(f"{self._prefix}-offsets") if e.key == self._prefix.encode()]
        return json.loads(found[-1].value or b"{}") if found else None

    def _snapshot_scn(self) -> int:
        offset = self._offset()
        if offset is None or offset.get("position") is None:
            return -1
        return int(offset["position"]["snapshot_scn"])

    def has_all(self) -> bool:
        """Whether nothing is missing any more."""
        return not self.missing()

    def missing(self) -> str:
        """What is, '' for nothing."""
        scn = self._snapshot_scn()
        if scn < 0:
            return "the snapshot is not complete"
        for table in (ITEM, PAIR):
            changes = sum(record["op"] != "r" for record in self._read(table))
            expected = len(self._expected(table, scn))
            if changes < expected:
                return f"{expected - changes} of {expected} changes of {table.name}"
        offset = self._offset() or {}
        state = offset.get("signals") or {}
        if state.get("snapshots"):
            return "a requested snapshot is not complete"
        delivered = max([int(m["last_commit_scn"]) for m in offset["position"]["threads"].values()], default=0)
        if any(signal_scn > max(delivered, scn) for _, signal_scn, _ in self._source.signals):
            return "a signal was not read"
        return ""

    def judge(self) -> None:
        """Raises AssertionError with what is wrong."""
        scn = self._snapshot_scn()
        assert scn > 0
        for table in (ITEM, PAIR):
            records = self._read(table)
            self._check_changes(table, records, scn)
            self._check_initial(table, records, scn)
            self._check_order(table, records)
            self._check_incremental(table, records, scn)

    def _check_changes(self, table: Table, records: list[dict[str, Any]], scn: int) -> None:
        expected = self._expected(table, scn)
        came = [
            (
                record["op"],
                _values(table, record["before"]),
                _values(table, record["after"]),
                int(record["source"]["commit_scn"]),
                record["source"]["txId"],
            )
            for record in records
            if record["op"] != "r"
        ]
        for number, (one, other) in enumerate(zip(came, expected, strict=False)):
            assert one == other, f"{table.name}: change {number} came as {one}, and not as {other}"
        assert len(came) >= len(expected), f"{table.name}: changes are missing: {expected[len(came) :]}"
        assert len(came) <= len(expected), f"{table.name}: more came than was committed: {came[len(expected) :]}"

    def _check_initial(self, table: Table, records: list[dict[str, Any]], scn: int) -> None:
        rows = sorted(values for _, values in self._source.rows_at(table.name, scn))
        came = sorted(
            _values(table, record["after"]) or ()
            for record in records
            if record["op"] == "r" and record["source"]["snapshot"] != "incremental"
        )
        assert came == rows, f"{table.name}: the snapshot at {scn} has {came}, and the table had {rows}"

    def _check_order(self, table: Table, records: list[dict[str, Any]]) -> None:
        """No image of a key is older than the one before it, and the last ones are the table."""
        numbers = self._numbers(table)
        newest: dict[Values, int] = {}
        rows: dict[Values, Values] = {}
        for record in records:
            before, after = _values(table, record["before"]), _values(table, record["after"])
            image = after or before
            assert image is not None
            key = image[: table.key]
            number = numbers[record["op"] == "d", image] if record["op"] == "d" else int(image[-1] or 0)
            assert number >= newest.get(key, 0), f"{table.name}: an older image of {key} came late: {record}"
            newest[key] = number
            if after is None:
                rows.pop(key, None)
            else:
                rows[key] = after
        there = sorted(values for _, values in self._source.rows_at(table.name, None))
        assert sorted(rows.values()) == there, (
            f"{table.name}: the topic comes to {sorted(rows.values())}, the table to {there}"
        )

    def _numbers(self, table: Table) -> dict[tuple[bool, Values], int]:
        """The number of the change that removed each image."""
        found = {}
        for committed in self._source.committed:
            for change in committed.changes:
                if change.table is table and change.before is not None:
                    found[True, change.before] = change.number
        return found

    def _check_incremental(self, table: Table, records: list[dict[str, Any]], scn: int) -> None:
        """A row that did not change after a request was read once for it."""
        wanted = [at for _, at, data in self._source.signals if f"DB.LAB.{table.name}" in data and at > scn]
        read: Counter[Values] = Counter()
        at_most = len(wanted)
        places: dict[Values, list[int]] = defaultdict(list)
        for record in records:
            if record["op"] == "r" and record["source"]["snapshot"] == "incremental":
                values = _values(table, record["after"])
                assert values is not None
                read[values] += 1
                places[values].append(record["offset"])
        for values, count in read.items():
            assert count <= at_most, (
                f"{table.name}: {values} was read {count} times for {at_most} requests, at {places[values]}"
            )
        for versions in self._source.versions[table.name].values():
            at, _, last = versions[-1]
            if last is None:
                continue
            least = sum(requested > at for requested in wanted)
            assert read[last] >= least, f"{table.name}: {last} was read {read[last]} times, and requested {least} times"


def _values(table: Table, row: dict[str, Any] | None) -> Values | None:
    if row is None:
        return None
    return tuple(None if row[name] is None else str(row[name]) for name in table.names)
