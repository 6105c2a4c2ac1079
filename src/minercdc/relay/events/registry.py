"""The schema registry: files in a directory, one for each version of a source's schema, and `sources.json` with their ids.

    com.example.person.Person.1.avsc
    sources.json     {"101": {"name": "com.example.person.Person", "table": "HR.PERSON"}}

A version counts up when the exported columns or their types change. Its file is never changed or deleted: events that clients
keep name their schema by its MD5.
"""

from __future__ import annotations

import json
import threading
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Any

from minercdc.errors import RelayError
from minercdc.relay.events.schemas import (
    AvroSchema,
    Types,
    base_type,
    column_of,
    compact,
    generated,
    record_name,
    schema_id,
)
from minercdc.schema.table import TableNames, TableSchema
from minercdc.sinks.durable_files import file_errors, replace_file

FIRST_SOURCE = 101
LAST_SOURCE = 32_767


@dataclass(frozen=True, slots=True)
class Version:
    """One version of a source's schema.

    :param text: compact JSON, as clients get it.
    :param id: by which events name it (`schemas.schema_id` of `text`).
    """

    number: int
    schema: AvroSchema
    text: str
    id: bytes


@dataclass(frozen=True, slots=True)
class Source:
    """What clients subscribe to.

    :param name: `namespace.Record`.
    :param table: `SCHEMA.TABLE`, a schema with a dot in its name in double quotes; '' when only an upstream relay knows it.
    """

    id: int
    name: str
    table: str


class SchemaRegistry:
    """The sources of a relay and the versions of their schemas, kept in files of a directory. May be used by any thread.

    :param directory: made, when it is missing, with the first file.
    :param namespace: of the names of sources that `names` does not have.
    :param types: which of the two columns of `schemas` the types are by.
    :param names: by `SCHEMA.TABLE`: id and name of a source, as configured; id 0: the next free one.
    :raises RelayError: a file there cannot be used.
    """

    def __init__(
        self,
        directory: Path,
        *,
        namespace: str = "",
        types: Types = "lossless",
        names: Mapping[str, tuple[int, str]] | None = None,
    ) -> None:
        self._directory = directory
        self._namespace = namespace
        self._types: Types = types
        self._names = names or {}
        self._lock = threading.RLock()
        self._sources: dict[int, Source] = {}
        self._versions: dict[str, list[Version]] = {}
        self._load()

    def _load(self) -> None:
        file = self._directory / "sources.json"
        try:
            found = json.loads(file.read_text()) if file.exists() else {}
            for number, one in found.items():
                self._sources[int(number)] = Source(int(number), one["name"], one["table"])
            for source in self._sources.values():
                self._versions[source.name] = self._read_versions(source.name)
        except (OSError, ValueError, KeyError, TypeError) as error:
            raise RelayError(
                f"the schema registry {self._directory.absolute()} cannot be read: {error!r}",
                hint="Restore its files; clients hold schemas by these ids.",
            ) from None

    def _read_versions(self, name: str) -> list[Version]:
        versions: list[Version] = []
        while (file := self.file(name, len(versions) + 1)).exists():
            schema = json.loads(file.read_text())
            versions.append(_version(len(versions) + 1, schema))
        return versions

    def file(self, name: str, version: int) -> Path:
        """The file of a version of a source's schema, whether it is there or not."""
        return self._directory / f"{name}.{version}.avsc"

    def sources(self) -> list[Source]:
        """All sources, in the order of their ids."""
        with self._lock:
            return sorted(self._sources.values(), key=lambda source: source.id)

    def source(self, number: int) -> Source | None:
        """The source with an id; None when there is none."""
        return self._sources.get(number)

    def versions(self, source: Source) -> list[Version]:
        """All versions of a source's schema, the oldest first; [] for a source without any."""
        with self._lock:
            return list(self._versions.get(source.name, ()))

    def source_of(self, table: str) -> Source:
        """The source of a table, as `Source.table` names it; it is made, and kept, when there is none.

        :raises RelayError: its id or name is taken, or no id is free.
        :raises SinkError: the registry cannot be written.
        """
        with self._lock:
            for known in self._sources.values():
                if known.table == table:
                    return known
            number, name = self._names.get(table) or self._names.get(table.replace('"', "")) or (0, "")
            name = name or self._name(table)
            if any(known.name == name for known in self._sources.values()):
                schema = table.replace('"', "").partition(".")[0].lower()
                name = ".".join((self._namespace, schema, record_name(table.rpartition(".")[2])))
            return self._add(Source(number or self._next(), name, table))

    def _name(self, table: str) -> str:
        return f"{self._namespace}.{record_name(table.rpartition('.')[2])}"

    def _next(self) -> int:
        reserved = {number for number, _ in self._names.values()}
        free = (n for n in range(FIRST_SOURCE, LAST_SOURCE + 1) if n not in self._sources and n not in reserved)
        number = next(free, None)
        if number is None:
            raise RelayError(f"there are no more than {LAST_SOURCE - FIRST_SOURCE + 1} sources")
        return number

    def _add(self, source: Source) -> Source:
        taken = self._sources.get(source.id)
        if taken is not None or any(known.name == source.name for known in self._sources.values()):
            raise RelayError(
                f"source {source.id} {source.name} of {source.table} is there already"
                + (f", of {taken.table}" if taken else ""),
                hint="Give the table another id and name in minercdc.relay.sources.",
            )
        self._sources[source.id] = source
        self._versions.setdefault(source.name, self._read_versions(source.name))
        content = {str(one.id): {"name": one.name, "table": one.table} for one in self.sources()}
        with file_errors(f"writing the schema registry {self._directory}"):
            self._directory.mkdir(parents=True, exist_ok=True, mode=0o700)
            replace_file(self._directory / "sources.json", json.dumps(content, indent=1).encode())
        return source

    def version_of(
        self,
        table: TableSchema,
        positions: Sequence[int],
        *,
        widen: Collection[str] = (),
        now: datetime | None = None,
    ) -> tuple[Source, Version]:
        """The source of a table, and the version of its schema that fits: the newest one, else a new one, which is kept.

        :param positions: of the columns that are exported.
        :param widen: columns whose numbers are strings from now on, beside those that are in the last version.
        :param now: time of generation in a new version; None for the present.
        :raises RelayError, SinkError: as `source_of`.
        """
        with self._lock:
            source = self.source_of(TableNames(table.id.database).of(table.id))
            known = self._versions[source.name]
            last = known[-1] if known else None
            made = generated(
                table,
                positions,
                name=source.name,
                version=len(known) + 1,
                types=self._types,
                widened={*widen, *self._widened(table, last)},
                now=now,
            )
            if last is not None and _shape(last.schema) == _shape(made):
                return source, last
            return source, self._keep(source, _version(len(known) + 1, made))

    def _widened(self, table: TableSchema, last: Version | None) -> set[str]:
        if last is None:
            return set()
        strings = {column_of(field) for field in last.schema["fields"] if base_type(field) == "string"}
        return {column.name for column in table.columns if may_widen(column.type_name) and column.name in strings}

    def _keep(self, source: Source, version: Version) -> Version:
        content = json.dumps(version.schema, indent=2, ensure_ascii=False).encode()
        with file_errors(f"writing the schema registry {self._directory}"):
            self._directory.mkdir(parents=True, exist_ok=True, mode=0o700)
            replace_file(self.file(source.name, version.number), content)
        self._versions[source.name].append(version)
        return version

    def adopt(self, source: Source, texts: Sequence[tuple[int, str]]) -> None:
        """Take over a source of an upstream relay, with its versions as (number, text).

        :raises RelayError: another source has its id or name, a version is there with another schema, or one before it is
            missing.
        :raises SinkError: the registry cannot be written.
        """
        with self._lock:
            if self._sources.get(source.id) != source:
                self._add(source)
            known = self._versions[source.name]
            for number, text in sorted(texts):
                version = _version(number, json.loads(text), text)
                if number <= len(known):
                    if known[number - 1].schema != version.schema:
                        raise RelayError(
                            f"version {number} of {source.name} differs from the upstream relay's",
                            hint=f"Remove {self._directory}, and the buffer with it: they are of another upstream relay.",
                        )
                elif number == len(known) + 1:
                    self._keep(source, version)
                else:
                    raise RelayError(f"the upstream relay has version {number} of {source.name}, but not {len(known) + 1}")


def may_widen(type_name: str) -> bool:
    """Whether values of a column of this type, declared as whole numbers, may turn out to be none."""
    return type_name == "NUMBER"


def _version(number: int, schema: AvroSchema, text: str = "") -> Version:
    text = text or compact(schema)
    return Version(number, schema, text, schema_id(text))


def _shape(schema: AvroSchema) -> list[tuple[Any, ...]]:
    return [(field["name"], json.dumps(field["type"]), field.get("meta")) for field in schema["fields"]]
