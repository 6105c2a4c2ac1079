"""Types of the extension `_rows.pyx`, which has the meanings."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any, overload

from minercdc.native.plan import Conversions, PrintedCell, ScannedColumn
from minercdc.schema.table import TableId, TableSchema
from minercdc.stream.contracts import Record
from minercdc.stream.events import ChangeEvent, Op, Progress, Row, TransactionInfo

CONSTANTS: Mapping[str, int]
OPERATION_CODES: Mapping[str, int]
SIZES: Mapping[str, int]
FIELDS: tuple[str, ...]
LARGE_CODES: frozenset[int]

class TableScan:
    def __init__(self, schema: TableSchema, columns: list[ScannedColumn], conversions: list[Conversions]) -> None: ...
    def decode(self, sql: str) -> tuple[Op, Row | None, Row | None] | None: ...

class ScannedRows:
    def __len__(self) -> int: ...
    @property
    def tables(self) -> frozenset[TableId]: ...
    @property
    def commit_scns(self) -> tuple[int, int]: ...
    def place(self, i: int) -> tuple[TransactionInfo, int]: ...
    def event(self, i: int) -> ChangeEvent: ...
    def ended(self, rows: int) -> int: ...
    def end(self, n: int) -> int: ...
    def progress(self, n: int) -> Progress: ...

class RunScanner:
    @property
    def scans(self) -> dict[tuple[str | None, str | None, int], TableScan]: ...
    def cursor(self, transaction: OpenTransaction) -> RunCursor: ...

class RunCursor:
    @property
    def is_done(self) -> bool: ...
    @property
    def is_stuck(self) -> bool: ...
    def scan(self, tx: TransactionInfo, first_seq: int, most: int, offset_us: int) -> ScannedRows: ...
    def row(self) -> Any: ...
    def skip(self) -> None: ...

class OpenTransaction: ...

class TransactionBuffer:
    given_up: set[bytes]
    def __init__(
        self,
        memory_max: int,
        make_spill: Callable[[], Any],
        make_row: Callable[[tuple[Any, ...]], Any],
        make_start: Callable[..., Any],
        undo_change: Callable[[Any, Any, Any], bool],
    ) -> None: ...

class Batch:
    def __init__(self, rows: Sequence[tuple[Any, ...]]) -> None: ...
    def __len__(self) -> int: ...
    def __getitem__(self, at: int) -> tuple[Any, ...]: ...

class ArrowBatch(Batch):
    def __init__(self, frame: Any) -> None: ...

MINED_FORMATS: list[str]

class RowSchema:
    def __init__(self, columns: Sequence[str], formats: Sequence[str]) -> None: ...
    def __arrow_c_schema__(self) -> object: ...

class Miner:
    def __init__(
        self, buffer: TransactionBuffer, scanner: RunScanner, make_address: Callable[[str, int], Any], lobs: bool
    ) -> None: ...
    def advance(
        self,
        batch: Batch,
        begin: int,
        threads: dict[int, Any],
        delivery: Any,
        bound: int,
        snapshot_scn: int,
        offset_us: int,
        progress: Callable[[TransactionInfo, tuple[str, int], tuple[str, int], int], Progress] | None,
    ) -> tuple[ScannedRows | None, int]: ...

class Records(Sequence[Record]):
    headers: tuple[tuple[str, bytes], ...]
    @property
    def own(self) -> dict[int, tuple[tuple[str, bytes], ...]]: ...
    def __len__(self) -> int: ...
    @overload
    def __getitem__(self, i: int) -> Record: ...
    @overload
    def __getitem__(self, i: slice) -> Sequence[Record]: ...
    @property
    def at(self) -> int: ...
    def new_topics(self, known: set[str]) -> set[str]: ...
    def lines(self, begin_of: Callable[[str], bytes], between: bytes, end: bytes) -> bytes: ...
    def produce(self, produce: Callable[..., None], begin: int) -> int: ...

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
        source: tuple[bytes, bytes, bytes, bytes],
        silent: tuple[tuple[int, bytes], ...],
    ) -> None: ...

class RunPrinter:
    def __init__(self, print_of: Callable[[TableSchema], TablePrint | None], tombstones: bool, skipped: str) -> None: ...
    def print_run(
        self, run: ScannedRows, begin: int, most_records: int, most_bytes: int, end: bytes, without_deletes: bool = False
    ) -> tuple[Records, int, int, tuple[int, int, int, int], dict[str, int], int]: ...

class ArrowRows(Sequence[tuple[Any, ...]]):
    def __init__(self, frame: Any, formats: Sequence[str], names: Sequence[str]) -> None: ...
    def __len__(self) -> int: ...
    @overload
    def __getitem__(self, at: int) -> tuple[Any, ...]: ...
    @overload
    def __getitem__(self, at: slice) -> ArrowRows: ...
    def row_id(self, at: int) -> str | None: ...
    def column(self, place: int) -> list[Any]: ...
    @property
    def size(self) -> int: ...

class ReadPrinter:
    def __init__(self, table: TablePrint, values: list[tuple[int, int]]) -> None: ...
    def print_rows(
        self, rows: Sequence[tuple[Any, ...]], begin: int, most_records: int, most_bytes: int, source: bytes, end: bytes
    ) -> tuple[Records, int]: ...

class PayloadWriter:
    def write(self, document: bytes, begin: int, end: int) -> bytes | None: ...

class AvroWriter(PayloadWriter):
    def __init__(self, fields: list[tuple[int, int, int, bytes, int]], header: bytes) -> None: ...

class CutWriter(PayloadWriter):
    def __init__(self, head: bytes, tail: bytes) -> None: ...

class Nodes:
    def __init__(self, nodes: list[tuple[int, bytes, int, bytes]]) -> None: ...

class PiecesWriter(PayloadWriter):
    def __init__(self, nodes: Nodes, choices: list[list[tuple[int, int, int, bytes]]]) -> None: ...

class ProtobufWriter(PayloadWriter):
    def __init__(self, fields: list[tuple[int, int, int, int, int, bool, bytes, int]], header: bytes) -> None: ...

class HeaderPrint:
    def __init__(
        self,
        nodes: Nodes,
        headers: tuple[tuple[str, bytes | int | list[list[tuple[int, int, int, bytes]]] | None], ...],
        with_nulls: bool = True,
    ) -> None: ...
    def headers_of(self, document: bytes, begin: int, end: int) -> tuple[tuple[str, bytes | None], ...] | None: ...

class RecordPlan:
    def __init__(
        self,
        nodes: Nodes,
        topic: str | None,
        key: bool | list[tuple[int, int, int, bytes]] | None,
        value: bool | list[tuple[int, int, int, bytes]] | None,
        headers: tuple[tuple[str, bytes | int | None], ...],
    ) -> None: ...

class RecordShape:
    def __init__(
        self,
        heads: tuple[bytes | None, bytes | None],
        nodes: Nodes,
        of_value: int,
        looks: tuple[bool, bool],
        rows: tuple[int, int] | tuple[()],
        plans: Sequence[RecordPlan | None],
    ) -> None: ...
    def made(
        self, key: bytes | None, value: bytes | None
    ) -> tuple[str | None, bytes | None, bytes | None, tuple[tuple[str, bytes | None], ...]] | None: ...

def transform_records(
    records: Records,
    shapes: dict[str, tuple[RecordShape | None, RecordShape | None]],
    otherwise: Callable[[Record], Record | None],
) -> Records | None: ...
def rewrite_records(
    records: Records,
    keys: dict[str, dict[int, PayloadWriter]] | None,
    values: dict[str, dict[int, PayloadWriter]] | None,
    headers: dict[str, dict[int, HeaderPrint]] | None = None,
) -> bool: ...
