"""Types of the extension `_decode.pyx`, which has the meanings."""

from collections.abc import Mapping
from typing import Any

KINDS: Mapping[str, int]

class Texts:
    def __init__(self, count: int, offset: int, valid: Any, offsets: Any, data: Any) -> None: ...

class ColumnReader:
    def __init__(
        self,
        columns: list[tuple[bytes, int, int, int, int]],
        keys: list[tuple[bytes, int, int, int, int]],
        value_wrapped: bool,
        key_wrapped: bool,
    ) -> None: ...
    def read(
        self, keys: Texts, values: Texts, ops: Texts, before: bool
    ) -> list[tuple[bytes, bytes | None, bytes, int]] | int: ...

def last_changes(parts: list[tuple[Texts, Texts, Texts, Any, Any, Any]], by_row: bool) -> bytes: ...

class EnvelopeScan:
    def __init__(
        self, placeholders: tuple[bytes, bytes], rowid_member: bytes, value_wrapped: bool, key_wrapped: bool
    ) -> None: ...
    def add(
        self,
        partition: int,
        offset: int,
        key: bytes | None,
        value: bytes,
        old_key: bytes | None,
        unavailable: bytes | None,
    ) -> bool: ...
    @property
    def size(self) -> int: ...
    def taken(self) -> tuple[int, dict[str, tuple[bytes | None, bytes | None, bytes, int]]]: ...
