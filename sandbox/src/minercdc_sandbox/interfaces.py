"""The seams inside the sandbox: wire <-> sessions, SQL <-> views and packages, storage <-> redo <-> LogMiner.

A `Cell` is a value in Oracle's own encoding, the one the wire carries and LogMiner's HEXTORAW shows: NUMBER (base 100), DATE (7
bytes), TIMESTAMP (7 bytes without a fraction, else 11; 13 WITH TIME ZONE), intervals, binary floats and RAW as bytes, character
types as str, NULL (and the empty string) as None.

    CLOB, NCLOB, BLOB   a locator of 40 bytes (`lobs.locator`); an empty LOB has one, NULL is None
    XMLTYPE             the locator of a CLOB with the document's text
    JSON                the locator of a BLOB with the value's OSON image
    VECTOR, BFILE       the locator of a BLOB with the vector's image; a locator of another form (`lobs.files`)
    LONG, LONG RAW      the text or the bytes themselves
    BOOLEAN             one byte, 0 or 1
    ROWID, UROWID       text
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from enum import IntEnum, StrEnum
from typing import Protocol, TypeAlias

Cell: TypeAlias = bytes | str | None


class OraError(Exception):
    """An error as Oracle reports it: number, text without the ORA- prefix, and the offset into the statement.

    :param position: 0-based character offset of the error in the SQL text; 0 also where it is not known.
    :ivar rows_done: rows that array DML had changed before the iteration that failed, or runs of a block before the one that
        failed; they stay done. 0 for any other error.
    :ivar row_counts: rows of each iteration of array DML before the one that failed, when the client wants them, else None.
    """

    def __init__(self, number: int, text: str, position: int = 0) -> None:
        super().__init__(f"ORA-{number:05d}: {text}")
        self.number = number
        self.text = text
        self.position = position
        self.rows_done = 0
        self.row_counts: list[int] | None = None


class OraType(IntEnum):
    """Types of columns and binds, by their numbers in the wire (TTC) protocol."""

    VARCHAR2 = 1
    NUMBER = 2
    LONG = 8
    ROWID = 11
    DATE = 12
    RAW = 23
    LONG_RAW = 24
    CHAR = 96
    BINARY_FLOAT = 100
    BINARY_DOUBLE = 101
    CURSOR = 102
    XMLTYPE = 109
    CLOB = 112
    BLOB = 113
    BFILE = 114
    JSON = 119
    VECTOR = 127
    TIMESTAMP = 180
    TIMESTAMP_TZ = 181
    INTERVAL_YM = 182
    INTERVAL_DS = 183
    UROWID = 208
    TIMESTAMP_LTZ = 231
    BOOLEAN = 252


class LobKind(StrEnum):
    """Kinds of internal LOB: character, national character and binary."""

    CLOB = "CLOB"
    NCLOB = "NCLOB"
    BLOB = "BLOB"


@dataclass(frozen=True, slots=True)
class ColumnDescription:
    """One column of a result.

    :param precision: NUMBER's precision, 0 with scale -127 is unconstrained NUMBER; INTERVAL's leading digits; 0 of other types.
    :param scale: NUMBER's scale, or TIMESTAMP's and INTERVAL's fractional digits; 0 of other types.
    :param size: bytes; 0 stands for a default of the type.
    :param nullable: it may be NULL.
    :param national: of character types and CLOB: NCHAR, NVARCHAR2, NCLOB.
    """

    name: str
    type: OraType
    precision: int = 0
    scale: int = 0
    size: int = 0
    nullable: bool = True
    national: bool = False


@dataclass(frozen=True, slots=True)
class BindType:
    """The type of one bind variable.

    :param size: bytes; 0 for an unknown size.
    :param national: a character type in the national character set.
    :param elements: most elements of a PL/SQL index-by table, whose value is a tuple of Cells; 0 of a single value.
    """

    type: OraType
    size: int = 0
    national: bool = False
    elements: int = 0


class Rows(Protocol):
    """An open query result; stored rows are as of the moment the query began (statement-level read consistency). Whoever got it
    in a `Result` closes it, or reads it to the end."""

    def fetch(self, count: int) -> list[tuple[Cell, ...]]:
        """The next `count` rows; fewer mean the end. Raises OraError, and `faults.ConnectionLost` by a fault. After `close` it
        returns [] or raises ORA-01001."""

    def close(self) -> None:
        """End the query; safe to call twice."""


@dataclass(slots=True)
class BatchError:
    """One failed iteration of array DML with batch errors on; `offset` counts iterations from 0."""

    offset: int
    error: OraError


@dataclass(slots=True)
class Result:
    """The result of one execute.

    :param columns, rows: of a query; None otherwise.
    :param row_count: rows affected by DML, all iterations together; 0 of all other statements.
    :param row_counts: rows of each iteration of DML, when the client wants them; else empty.
    :param batch_errors: the iterations that failed, when the client wants them in the result; else empty.
    :param last_row_id: ROWID of the last row that INSERT .. VALUES, UPDATE or DELETE changed; None of no row and other statements.
    :param out: the binds that a PL/SQL block assigned, by bind position; a nested Result is a REF CURSOR, a tuple the elements
        of an index-by table.
    :param out_only: positions of binds that the block assigns and does not read.
    :param return_binds: bind positions of RETURNING .. INTO, whose values the client does not send.
    :param returned: RETURNING's values: for each row of binds the rows it affected, by `return_binds`.
    :param implicit: open queries a block returned by DBMS_SQL.RETURN_RESULT.
    """

    columns: tuple[ColumnDescription, ...] | None = None
    rows: Rows | None = None
    row_count: int = 0
    row_counts: list[int] = field(default_factory=list)
    batch_errors: list[BatchError] = field(default_factory=list)
    out: dict[int, Cell | Result] = field(default_factory=dict)
    out_only: frozenset[int] = frozenset()
    return_binds: tuple[int, ...] = ()
    returned: list[list[tuple[Cell, ...]]] = field(default_factory=list)
    implicit: list[Result] = field(default_factory=list)
    last_row_id: str | None = None


class LobCalls(Protocol):
    """A session's calls by LOB locator: offsets and lengths count UTF-16 code units of CLOB and NCLOB, bytes of BLOB.

    All calls with a locator raise ORA-22275 for bytes that are no locator and ORA-22285 for a BFILE's; `length`, `read`, `write`,
    `trim` and `chunk_size` raise ORA-22275 for a freed temporary LOB, too.
    """

    def length(self, locator: bytes) -> int:
        """Length of the LOB, in the units of the class."""

    def read(self, locator: bytes, offset: int, amount: int) -> str | bytes:
        """`amount` units or as many as there are from the 1-based `offset` on; '' or b'' after the end.

        Half of a surrogate pair at either end comes as that half (a lone surrogate in the str): encode the result with
        `utf-16-be` and `surrogatepass`. Raises ORA-21560 for an offset or amount out of range.
        """

    def write(self, locator: bytes, offset: int, data: str | bytes) -> bytes:
        """Overwrite or extend from the 1-based `offset` on; blanks or zero bytes fill a hole. Returns the locator of the new
        value, for the client; of a temporary LOB the same one. Raises ORA-22920 when the row is not locked by this session,
        ORA-21560 for an offset out of range, ORA-22294 for a row's LOB opened for reading only, ORA-00932 for text in a BLOB,
        ORA-22275 when the row's column is gone or NULL, ORA-01013 on cancel, ORA-00028 for a killed session."""

    def trim(self, locator: bytes, length: int) -> bytes:
        """Cut to `length` units; returns the locator of the new value, of a temporary LOB the same one. Raises ORA-22926 when the
        LOB is shorter, and as `write`."""

    def create_temporary(self, kind: LobKind) -> bytes:
        """The locator of a new, empty temporary LOB of this session, which is there until `free_temporary` or the session's end."""

    def free_temporary(self, locator: bytes) -> None:
        """Free a temporary LOB; does nothing for another LOB or a freed one."""

    def open(self, locator: bytes, *, read_only: bool = False) -> bytes:
        """Open the LOB; returns the locator for the client. Raises ORA-22293 when it is open already."""

    def close(self, locator: bytes) -> bytes:
        """Close the LOB; returns the locator for the client. Raises ORA-22289 when it is not open."""

    def is_open(self, locator: bytes) -> bool:
        """Whether the session has opened the LOB."""

    def chunk_size(self, locator: bytes) -> int:
        """Usable bytes of a chunk, as of DBMS_LOB.GETCHUNKSIZE."""


class Session(Protocol):
    """One client's session, from `Database.open_session` to `close`. Only `cancel` may be called from other threads than the
    client's own.

    `execute`, `commit` and `rollback` also raise the errors of the faults that hit them, and `faults.ConnectionLost`.

    :ivar sid, serial: its SID and SERIAL# in V$SESSION.
    :ivar user: name of the user who logged on, as the dictionary has it.
    """

    sid: int
    serial: int
    user: str

    @property
    def schema(self) -> str:
        """Name of the current schema, in which names without an owner are looked up."""

    def set_metrics(self, **names: str | None) -> None:
        """Set end-to-end metrics by name: `module`, `action`, `client_info`, `client_id`; None clears one, those not named stay.
        `client_id` goes into the redo."""

    def execute(
        self,
        sql: str,
        bind_types: Sequence[BindType] = (),
        bind_rows: Sequence[tuple[Cell, ...]] = ((),),
        *,
        batch_errors: bool = False,
        row_counts: bool = False,
        commit: bool = False,
    ) -> Result:
        """Run one statement or PL/SQL block; array DML has several `bind_rows`. Binds are positional, in order of the first
        appearance of each in PL/SQL, of every appearance in SQL (as drivers send them). Raises OraError, ORA-01012 after `close`;
        `OraError.rows_done` has what an array that fails leaves.

        :param batch_errors: errors of array DML go into the result, and the iterations after them run.
        :param row_counts: the result has the rows of each iteration.
        :param commit: commit afterwards, raising as `commit`.
        """

    def describe(self, sql: str) -> tuple[ColumnDescription, ...] | None:
        """Columns of a query without running it; None for another statement. Raises the syntax errors of queries and DML, and
        those of their names, privileges and numbers of values; ORA-00028 for a killed session, ORA-01012 after `close`."""

    def check_alive(self) -> None:
        """Raises ORA-00028 once another session has killed this one; else does nothing."""

    def commit(self) -> None:
        """Commit the transaction, if there is one. Raises ORA-00028, and ORA-02091 when a deferred constraint is violated: the
        transaction is then rolled back."""

    def rollback(self) -> None:
        """Roll the transaction back, if there is one. Raises ORA-00028."""

    def in_transaction(self) -> bool:
        """Whether a transaction has begun, be it by SET TRANSACTION only."""

    @property
    def lob_calls(self) -> LobCalls:
        """The calls that a client makes with LOB locators."""

    def cancel(self) -> None:
        """Any thread: the running statement raises ORA-01013 soon (also while it waits for a lock); void when none runs. Waits
        for the storage lock."""

    def close(self) -> None:
        """Roll back and free everything, temporary LOBs and cursors too; safe to call twice."""


class Database(Protocol):
    """The database as the wire sees it: it names services and opens sessions.

    :ivar banner: first line of V$VERSION, sent to clients.
    :ivar version: release number in five parts.
    """

    banner: str
    version: tuple[int, int, int, int, int]

    @property
    def name(self) -> str:
        """The database's name, as V$DATABASE has it."""

    @property
    def instance(self) -> str:
        """The instance's name, as V$INSTANCE has it."""

    def password_of(self, user: str, service: str) -> str | None:
        """The password in clear text, which O5LOGON needs; None for a user whom the service's container, of an unknown
        service the root, does not know. A user's name is given as the dictionary has it."""

    def services(self) -> Sequence[str]:
        """Service names, upper case; a connect to another is refused with ORA-12514, by SID with ORA-12505."""

    def open_session(self, user: str, service: str, client: Mapping[str, str], *, renewed: bool = False) -> Session:
        """Open a session of a user whose password was proved, or whose proxy's was. Raises ORA-12514, ORA-01017, ORA-28000,
        ORA-28001, ORA-01045, ORA-28150, the errors of the faults that hit the connect, and `faults.ConnectionLost`.

        :param client: program, machine, osuser, pid, terminal, driver; `proxy`: the user who logs on in the place of `user`.
        :param renewed: the password that was proved gets another one next, so it may have expired.
        """

    def change_password(self, user: str, service: str, password: str) -> None:
        """Set the password and end its expiry; the caller has proved the old one. Does nothing for an unknown user."""

    def close(self) -> None:
        """Close all sessions and the database; once only."""


@dataclass(frozen=True, slots=True)
class Restriction:
    """The part of a view that one query reads; the view may return more.

    :param columns: positions of the columns that the query reads; the others may be left None.
    :param first_record: called with a redo thread and the first and the last RS_ID of a log; returns one below which the query
        wants no record of the log: '' for no bound, a text above the last when it wants none.
    """

    columns: frozenset[int]
    first_record: Callable[[int, str, str], str]


@dataclass(frozen=True, slots=True)
class RowTest:
    """A condition on the rows of a view, checked by the view itself (`View.picked`).

    :param columns: positions of the columns it reads.
    :param holds: whether the condition is true, not false or unknown, of a row, given with all its columns; it looks at those
        cells only.
    """

    columns: frozenset[int]
    holds: Callable[[Sequence[Cell]], bool]


@dataclass(frozen=True, slots=True)
class View:
    """A dictionary or dynamic performance view.

    :param name: e.g. `V$LOG`, `ALL_TAB_COLS` (a public synonym; `SYS.V_$LOG` names it too).
    :param rows: called once per scan with the session that reads it; yields one tuple of Cells per row. May raise OraError
        (V$LOGMNR_CONTENTS before START_LOGMNR: ORA-01306).
    :param restricted: the same, for a query that reads a part of the view; None for views that always return all.
    :param picked: called with session, restriction, positions of columns and a test: yields these columns of the rows that pass
        the test, in batches (some may be empty); None for views that have no faster way to make them.
    """

    name: str
    columns: tuple[ColumnDescription, ...]
    rows: Callable[[Session], Iterator[tuple[Cell, ...]]]
    restricted: Callable[[Session, Restriction], Iterator[tuple[Cell, ...]]] | None = None
    picked: Callable[[Session, Restriction, Sequence[int], RowTest], Iterator[list[tuple[Cell, ...]]]] | None = None


@dataclass(frozen=True, slots=True)
class Argument:
    """An evaluated argument of a procedure, or the value of an OUT parameter, with its type."""

    value: Cell
    type: OraType


Procedure: TypeAlias = Callable[
    ["Session", Sequence[Argument], Mapping[str, Argument]], "Mapping[int | str, Argument] | None"
]
"""A packaged procedure, called with positional and named (upper case) arguments; it returns the values of OUT and IN OUT
parameters by 0-based position or name, or None when there are none. Raises OraError."""
