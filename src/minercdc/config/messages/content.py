"""Properties of what messages hold beside the row: transactions, headers, types of the source; and values that are hidden or
cut."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Literal

from pydantic import Field, field_validator

from minercdc.config.section import CommaList, Section
from minercdc.schema.patterns import configured_pattern

_RULES = (
    ("hash_v2", re.compile(r"column\.mask\.hash\.v2\.([^.]+)\.with\.salt\.(.+)")),
    ("hash", re.compile(r"column\.mask\.hash\.([^.]+)\.with\.salt\.(.+)")),
    ("mask", re.compile(r"column\.mask\.with\.(\d+)\.chars")),
    ("truncate", re.compile(r"column\.truncate\.to\.(\d+)\.chars")),
)
_TRACKED = "With `false`, the member of `source` is null; in Debezium that saves memory."


class MessageConfig(Section):
    """What messages hold beside the row, and which updates have none."""

    provide_transaction_metadata: bool = Field(
        False,
        description="Publish begin and end of each source transaction in a separate topic, and a `transaction` block in each of its changes.",
    )
    topic_transaction: str = Field(
        "transaction", pattern=r"^[A-Za-z0-9._-]+$", description="That topic is `<topic.prefix>.<this>`."
    )
    skip_messages_without_change: bool = Field(
        False,
        description="Leave out updates that change no published column; they need all columns in the redo. An update of a table with published LOBs is left out with `lob.enabled` only, where redo shows that none was set ([messages](messages.md#fewer-messages-and-more)).",
    )
    include_schema_comments: bool = Field(
        False,
        description="Include comments of tables and columns (`COMMENT ON`) in schema changes and in the schema history; comments of columns also as `doc` in the schemas of records. For tables that are already in the schema history, `snapshot.mode=recovery` adds the comments.",
    )
    extended_headers_enabled: bool = Field(
        True,
        description="Headers `__debezium.context.*` with prefix, task, connector and run in each change of a row or a table, as in Debezium. `false` makes each record 200 bytes smaller.",
    )
    legacy_decimal_handling_strategy: bool = Field(
        False,
        description="Whole NUMBERs of up to 18 digits stay integers in every `decimal.handling.mode`, as before Debezium 2.7.",
    )
    minercdc_source_sequence: bool = Field(
        False,
        description="`source.sequence` is a token that orders all changes of the connector, compared as text, and is the same when a change is delivered again ([messages](messages.md#an-order-of-all-changes)); else it is null, as in Debezium.",
    )
    column_propagate_source_type: CommaList = Field(
        (),
        description="Regular expressions of columns (`SCHEMA.TABLE.COLUMN`) whose schemas name type, length and scale of the source.",
    )
    datatype_propagate_source_type: CommaList = Field((), description="The same by type: `SCHEMA.TABLE.TYPE`.")
    log_mining_buffer_track_rs_id: bool = Field(True, alias="log.mining.buffer.track.rs_id", description=_TRACKED)
    log_mining_buffer_track_username: bool = Field(True, description=_TRACKED)
    log_mining_buffer_track_start_timestamp: bool = Field(
        True, alias="log.mining.buffer.track.start_timestamp", description=_TRACKED
    )
    log_mining_buffer_track_commit_timestamp: bool = Field(
        True, alias="log.mining.buffer.track.commit_timestamp", description=_TRACKED
    )

    @field_validator("column_propagate_source_type", "datatype_propagate_source_type", mode="after")
    @classmethod
    def _patterns(cls, value: tuple[str, ...]) -> tuple[str, ...]:
        for pattern in value:
            configured_pattern(pattern)
        return value

    @property
    def untracked(self) -> frozenset[str]:
        """Members of `source` that are null by `log.mining.buffer.track.*`."""
        members = {
            "rs_id": self.log_mining_buffer_track_rs_id,
            "user_name": self.log_mining_buffer_track_username,
            "start_ts_ms": self.log_mining_buffer_track_start_timestamp,
            "commit_ts_ms": self.log_mining_buffer_track_commit_timestamp,
        }
        return frozenset(member for member, tracked in members.items() if not tracked)


@dataclass(frozen=True, slots=True)
class ColumnRule:
    """What becomes of the values of some columns.

    :param kind: `mask` (asterisks), `truncate`, `hash` (of the value as Java serializes it) or `hash_v2` (of its text).
    :param patterns: regular expressions of the columns, `SCHEMA.TABLE.COLUMN`.
    :param length: of asterisks, or that a text is cut to; 0 for hashes.
    :param given_as: the property, without its salt.
    :param algorithm, salt: of the hash, as hashlib has it, and what comes before the value; '' for other kinds.
    """

    kind: Literal["mask", "truncate", "hash", "hash_v2"]
    patterns: tuple[str, ...]
    length: int = 0
    algorithm: str = ""
    salt: str = field(default="", repr=False)
    given_as: str = field(default="", compare=False)

    @property
    def is_hash(self) -> bool:
        """Whether values become hashes."""
        return self.kind in ("hash", "hash_v2")

    def matches(self, name: str) -> bool:
        """Whether it is about a column, `SCHEMA.TABLE.COLUMN`. Raises ConfigError when a pattern takes too long."""
        return any(configured_pattern(pattern).matches(name) for pattern in self.patterns)


def without_salt(name: str) -> str:
    """The name of a property as it may be shown: `column.mask.hash..` has its salt in it."""
    return re.sub(r"(\.with\.salt\.).+", r"\1***", name)


def take_column_rules(properties: dict[str, str], problems: list[str]) -> tuple[ColumnRule, ...]:
    """The rules of flat properties, which are taken out; what is wrong is added to the problems, without salts."""
    return tuple(_rules(properties, problems))


def _rules(properties: dict[str, str], problems: list[str]) -> Iterator[ColumnRule]:
    for name in [name for name in properties if name.startswith(("column.mask.", "column.truncate."))]:
        kind, match = next(((kind, found) for kind, pattern in _RULES if (found := pattern.fullmatch(name))), ("", None))
        patterns = tuple(part.strip() for part in properties.pop(name).split(",") if part.strip())
        shown = name.partition(".with.salt.")[0]
        if match is None:
            problems.append(
                f"{shown}: is not one of column.mask.with.N.chars, column.mask.hash.ALGORITHM.with.salt.SALT,"
                " column.mask.hash.v2.ALGORITHM.with.salt.SALT or column.truncate.to.N.chars"
            )
            continue
        try:
            for pattern in patterns:
                configured_pattern(pattern)
        except ValueError as error:
            problems.append(f"{shown}: {error}")
            continue
        if kind in ("mask", "truncate"):
            yield ColumnRule(kind, patterns, length=int(match[1]), given_as=shown)  # type: ignore[arg-type]
            continue
        if (algorithm := _algorithm(match[1])) is None:
            problems.append(f"{shown}: unknown hash {match[1]}; use for example MD5, SHA-1, SHA-256, SHA-512 or SHA3-256")
            continue
        yield ColumnRule(kind, patterns, algorithm=algorithm, salt=match[2], given_as=shown)  # type: ignore[arg-type]


def _algorithm(name: str) -> str | None:
    """hashlib's name of one of Java's: `SHA-256`, `SHA-512/256`, `SHA3-256`; None when hashlib does not have it."""
    plain = name.lower().replace("/", "_")
    plain = plain.replace("-", "_") if plain.startswith("sha3") else plain.replace("-", "")
    return plain if plain in hashlib.algorithms_available and not plain.startswith("shake") else None
