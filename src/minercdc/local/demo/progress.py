"""Measures the progress of topics and lake from outside: topic ends, and the rows of tables by their own metadata."""

from __future__ import annotations

import gzip
import json
import logging
from pathlib import Path
from typing import Any, Protocol

from confluent_kafka import IsolationLevel, TopicPartition
from confluent_kafka.admin import AdminClient, OffsetSpec


class TopicEnds:
    """End offsets of a connector's table topics: those whose names begin with `prefix` and a dot. Silences the logger
    `librdkafka`."""

    def __init__(self, bootstrap_servers: str, prefix: str) -> None:
        self._prefix = prefix + "."
        quiet = logging.getLogger("librdkafka")
        quiet.setLevel(logging.CRITICAL)
        self._admin = AdminClient({"bootstrap.servers": bootstrap_servers, "logger": quiet})

    def read(self) -> dict[str, dict[str, int]]:
        """Topic -> partition -> offset after the last committed record (transaction markers count); {} when there is no topic.

        :raises KafkaException: the broker does not answer.
        """
        topics = self._admin.list_topics(timeout=10).topics
        wanted = [
            TopicPartition(name, p) for name, t in topics.items() if name.startswith(self._prefix) for p in t.partitions
        ]
        if not wanted:
            return {}
        requested = self._admin.list_offsets(
            {partition: OffsetSpec.latest() for partition in wanted},
            isolation_level=IsolationLevel.READ_COMMITTED,
            request_timeout=10,
        )
        ends: dict[str, dict[str, int]] = {}
        for partition, answer in requested.items():
            ends.setdefault(partition.topic, {})[str(partition.partition)] = answer.result().offset
        return ends


class Rows(Protocol):
    """Counts the rows of one table of the lake."""

    def count(self) -> int:
        """Rows as of the newest commit; 0 while there is no table."""


class IcebergRows:
    """Row count of one Iceberg table in directories, from the summary of its newest snapshot."""

    def __init__(self, table: Path) -> None:
        self._metadata = table / "metadata"

    def count(self) -> int:
        """See `Rows`."""
        try:
            version = (self._metadata / "version-hint.text").read_text().strip()
            metadata = json.loads(gzip.decompress((self._metadata / f"v{version}.gz.metadata.json").read_bytes()))
        except FileNotFoundError:  # no table, or a file that the next commit has removed
            return 0
        newest = metadata.get("current-snapshot-id", -1)
        summary: dict[str, str] = next((one["summary"] for one in metadata["snapshots"] if one["snapshot-id"] == newest), {})
        return int(summary.get("total-records", 0)) - int(summary.get("total-position-deletes", 0))


class DeltaRows:
    """Row count of one Delta table, from the statistics in its log's JSON commits."""

    def __init__(self, table: Path) -> None:
        self._log = table / "_delta_log"
        self._version = 0
        self._files: dict[tuple[object, ...], int] = {}

    def count(self) -> int:
        """See `Rows`. Each call reads the commits since the last one."""
        while (commit := self._log / f"{self._version:020d}.json").exists():
            for line in commit.read_text().splitlines():
                self._apply(json.loads(line))
            self._version += 1
        return sum(self._files.values())

    def _apply(self, action: dict[str, Any]) -> None:
        if add := action.get("add"):
            deleted = (add.get("deletionVector") or {}).get("cardinality", 0)
            self._files[_identity(add)] = json.loads(add.get("stats") or "{}").get("numRecords", 0) - deleted
        elif remove := action.get("remove"):
            self._files.pop(_identity(remove), None)


def _identity(file: dict[str, Any]) -> tuple[object, ...]:
    """Path and deletion vector: a commit that deletes rows of a file adds it with the new vector and removes it with the old one,
    in any order (Delta's protocol, "Add File and Remove File")."""
    vector = file.get("deletionVector") or {}
    return file["path"], *map(vector.get, ("storageType", "pathOrInlineDv", "offset"))
