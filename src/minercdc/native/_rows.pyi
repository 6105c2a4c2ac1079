"""Types of the extension `_rows.pyx`, which has the meanings."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from minercdc.contracts import Record
from minercdc.events import ChangeEvent, TransactionInfo
from minercdc.native.plan import Decoder, PrintedCell, ScannedColumn
from minercdc.schema.table import TableId, TableSchema

CONSTANTS: Mapping[str, int]

class TableScan:
    @property
    def decoder(self) -> Decoder: ...
    def __init__(self, decoder: Decoder, columns: list[ScannedColumn], width: int) -> None: ...

class ScannedRows:
    def __len__(self) -> int: ...
    @property
    def tx(self) -> TransactionInfo: ...
    @property
    def first_seq(self) -> int: ...
    @property
    def tables(self) -> frozenset[TableId]: ...
    def event(self, i: int) -> ChangeEvent: ...

class RunScanner:
    def __init__(self, fields: Sequence[str], utc_us: Callable[[Any], int]) -> None: ...
    @property
    def scans(self) -> dict[tuple[str | None, str | None, int], TableScan]: ...
    def scan(
        self, rows: list[Any], begin: int, most: int, tx: TransactionInfo, first_seq: int
    ) -> tuple[ScannedRows, int]: ...

class TablePrint:
    def __init__(
        self,
        topic: str,
        columns: list[PrintedCell],
        key: list[PrintedCell],
        compared: tuple[int, ...],
        key_frame: tuple[bytes, bytes],
        frame: tuple[bytes, bytes],
        has_rowid_key: bool,
        pieces: Callable[[TransactionInfo, int], tuple[bytes, bytes, bytes, bytes]],
    ) -> None: ...

class RunPrinter:
    def __init__(self, print_of: Callable[[TableSchema], TablePrint | None], tombstones: bool, skipped: str) -> None: ...
    def print_run(
        self, run: ScannedRows, begin: int, most_records: int, most_bytes: int, end: bytes
    ) -> tuple[list[Record], int, int, tuple[int, int, int], dict[str, int], int]: ...
