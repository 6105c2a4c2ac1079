"""Debezium's offset of one connector, out of an offset file's or topic's entries.

    key      ["<name>", {"server": "<topic.prefix>"}]
    value    {"scn": "2000381", "commit_scn": "2000380:1:0500070082010000", "txId": "0600070093010000", "txSeq": 1, ...}

`commit_scn` names, per redo thread, the SCN of the last commit that was handled before the last event, and the transactions with that SCN.
`txId` and `txSeq` are the last event's: its transaction may be delivered in part.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from minercdc.capture.logminer.imported import DeliveredElsewhere, LastCommit
from minercdc.errors import ConfigError
from minercdc.stream.offset import AdHocSnapshot, TableRead


@dataclass(frozen=True, slots=True)
class DebeziumOffset:
    """A connector's offset.

    :param name: of the connector in Debezium.
    :param scn: Debezium's own restart point.
    :param commits: how far each redo thread is delivered, by its number; {} while nothing was committed since the snapshot.
    :param snapshot_scn: of the initial snapshot, 0 when not known.
    :param tx_id: transaction of the last event as hex, '' for none; `tx_seq` is its number in it.
    :param incremental: the incremental snapshot that was under way, None for none.
    """

    name: str
    scn: int
    commits: Mapping[int, LastCommit]
    snapshot_scn: int
    tx_id: str = ""
    tx_seq: int = 0
    incremental: AdHocSnapshot | None = None

    def delivered(self, ddl_scn: int, *, committed: bool, filtered: bool = False) -> DeliveredElsewhere:
        """What Debezium has delivered.

        :param ddl_scn: of the last DDL in its schema history, 0 for none.
        :param committed: it ran with `logminer_unbuffered`, which counts a transaction's START, and the changes of all tables.
        :param filtered: its query selected the captured tables only (`log.mining.query.filter.mode`), so it counted only theirs.
        """
        seq = self.tx_seq - 1 if committed else self.tx_seq
        if not self.commits:
            return DeliveredElsewhere(self.snapshot_scn + 1, {}, ddl_scn, self.tx_id, seq, committed and not filtered)
        newest = max(commit.scn for commit in self.commits.values())
        since = max(min(commit.scn for commit in self.commits.values()), min(self.scn, newest))
        return DeliveredElsewhere(
            max(since, self.snapshot_scn + 1), self.commits, ddl_scn, self.tx_id, seq, committed and not filtered
        )


def offset_of(entries: Mapping[bytes, bytes | None], where: str, *, server: str, name: str) -> DebeziumOffset:
    """The offset of the connector with this `topic.prefix`; of several, the one with this name.

    :raises ConfigError: there is none, or it cannot be resumed from.
    """
    found = dict(_of_server(entries, server, where))
    if not found:
        servers = sorted({server for server, _, _ in _keys(entries, where)})
        raise ConfigError(
            [f"{where}: no offset of topic.prefix {server}" + (f", only of {', '.join(servers)}" if servers else "")],
            hint="topic.prefix must be that of the Debezium connector (database.server.name before 2.0).",
        )
    if len(found) > 1 and name not in found:
        raise ConfigError([f"{where}: offsets of connectors {', '.join(sorted(found))}; set `name` to one of them"])
    chosen = name if name in found else next(iter(found))
    return _parsed(found[chosen], f"{where}: connector {chosen}", chosen)


def _keys(entries: Mapping[bytes, bytes | None], where: str) -> list[tuple[str, str, bytes]]:
    """(Server, name, key) of each entry of a Debezium connector for a relational database; other entries are left out."""
    found = []
    for key in entries:
        try:
            name, partition = json.loads(key)
            found.append((str(partition["server"]), str(name), key))
        except (ValueError, TypeError, KeyError):
            continue  # another connector's
    return found


def _of_server(entries: Mapping[bytes, bytes | None], server: str, where: str) -> list[tuple[str, dict[str, Any]]]:
    found = []
    for its_server, name, key in _keys(entries, where):
        value = entries[key]
        if its_server != server or value is None:
            continue
        try:
            document = json.loads(value)
        except ValueError:
            document = None
        if not isinstance(document, dict):
            raise ConfigError([f"{where}: the offset of connector {name} is not a JSON object"])
        found.append((name, document))
    return found


def _parsed(document: Mapping[str, Any], where: str, name: str) -> DebeziumOffset:
    for member, adapter in (("lcr_position", "XStream"), ("scn_idx", "OpenLogReplicator")):
        if document.get(member) is not None:
            raise ConfigError(
                [f"{where}: a position of {adapter}, which does not refer to redo logs"],
                hint="Start minercdc with its own snapshot; or first switch Debezium to database.connection.adapter=LogMiner first.",
            )
    if document.get("snapshot_completed") is False or (document.get("snapshot") and "snapshot_completed" not in document):
        kind = str(document.get("snapshot")).lower()
        raise ConfigError(
            [f"{where}: its {kind} snapshot is not complete; Debezium would also start it over"],
            hint="Let Debezium finish it, or start minercdc without an imported offset.",
        )
    try:
        commits = _commits(document.get("commit_scn"))
        snapshot_scn = int(document.get("snapshot_scn") or 0)
        scn = int(document["scn"])
        if not commits and not snapshot_scn:
            snapshot_scn = scn
        return DebeziumOffset(
            name,
            scn,
            commits,
            snapshot_scn,
            str(document.get("txId") or "").lower(),
            int(document.get("txSeq") or 0),
            _incremental(document),
        )
    except (ValueError, TypeError, KeyError) as error:
        raise ConfigError(
            [f"{where}: the offset is not of a form that Debezium's Oracle connector writes: {error!r}"]
        ) from None


def _commits(value: object) -> dict[int, LastCommit]:
    """Thread -> last commit, from `SCN:thread:xid-xid,...`; from `SCN:RS_ID:SSN:thread,...` of older versions, and a
    bare SCN, of thread 1, of the oldest. {} for no text."""
    if value is None or value == "":
        return {}
    found: dict[int, LastCommit] = {}
    for entry in str(value).split(","):
        parts = entry.strip().split(":")
        if len(parts) == 1:
            found[1] = LastCommit(int(parts[0]))
        elif len(parts) == 3:
            xids = frozenset(xid.lower() for xid in parts[2].split("-") if xid)
            found[int(parts[1])] = LastCommit(int(parts[0]), xids)
        elif len(parts) == 4:
            found[int(parts[3])] = LastCommit(int(parts[0]), rs_id=parts[1].strip())
        else:
            raise ValueError(f"commit_scn {entry}")
    return found


def _incremental(document: Mapping[str, Any]) -> AdHocSnapshot | None:
    """The incremental snapshot that was under way, whose first table is read from the beginning again; None for none."""
    text = document.get("incremental_snapshot_collections")
    collections = json.loads(text) if text else []
    if not collections:
        return None
    names = [str(one["incremental_snapshot_collections_id"]) for one in collections]
    tables = tuple(
        TableRead(
            ".".join(name.split(".")[-2:]),
            condition=str(one.get("incremental_snapshot_collections_additional_condition") or ""),
        )
        for name, one in zip(names, collections, strict=True)
    )
    keys = {str(one.get("incremental_snapshot_collections_surrogate_key") or "") for one in collections}
    if len(keys) > 1:
        raise ValueError("several surrogate keys in one incremental snapshot")
    identity = str(document.get("incremental_snapshot_correlation_id") or "imported")
    return AdHocSnapshot(identity, blocking=False, collections=tuple(names), tables=tables, surrogate_key=keys.pop())
