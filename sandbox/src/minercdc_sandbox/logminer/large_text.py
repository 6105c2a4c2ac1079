"""SQL_REDO of LOB, XML and extended string records (docs/reference/logminer-facts.md#b-7-2).

19c prints the locator's SELECT in the LOB_LOCATOR row and one statement per piece; 23ai prints nothing there and a whole
PL/SQL block per piece. Amounts and offsets count code points of CLOBs, bytes of BLOBs.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TypeAlias

from minercdc_sandbox.interfaces import Cell, LobKind, OraType
from minercdc_sandbox.lobs.locator import LobValue, unpack
from minercdc_sandbox.lobs.values import LobStore
from minercdc_sandbox.logminer.literals import Literal, quoted, raw_literal
from minercdc_sandbox.records import RedoOp, RedoRecord, StoredColumn
from minercdc_sandbox.redo.large_values import XML_CLOB, lob_kind

LOB_INFO, XML_INFO, XML_PARTS_INFO = (
    "LOB sql_redo not re-executable",
    "XML sql_redo not re-executable",
    "XML sql_redo needs assembly",
)
_MOST_COUNTED = 1 << 16
JSON_HINT = "/* JSON */ "
_BUFFERS = (
    "DECLARE \n loc_c CLOB; \n buf_c VARCHAR2(6174); \n loc_b BLOB; \n buf_b RAW(6174); \n loc_nc NCLOB; \n"
    " buf_nc NVARCHAR2(6174); \n"
)
_SUFFIX = {LobKind.CLOB: "c", LobKind.BLOB: "b", LobKind.NCLOB: "nc"}
Rendered: TypeAlias = "tuple[str | None, int, str | None]"
"""SQL_REDO, STATUS, INFO."""
Where = Callable[[RedoRecord, str], str]
"""` where ..` of a record's row; the second argument is put before each column."""


def lob_literal(column: StoredColumn, lobs: LobStore, text: Literal) -> Literal:
    """The literal of a LOB column as UPDATE sets it: its content up to 4000 bytes, `empty_lob` for a longer or empty one.

    :param text: the literal of the content, a str or bytes.
    """
    empty = empty_lob(column)

    def shown(cell: Cell) -> str:
        value = unpack(cell).value
        if not value.length or value.length * value.unit > 4000:
            return empty
        return text(lobs.read(value))

    return shown


def empty_lob(column: StoredColumn) -> str:
    """EMPTY_BLOB() for a BLOB column and, after a hint, for JSON; EMPTY_CLOB() for CLOB and NCLOB."""
    if column.type is OraType.JSON:
        return f"{JSON_HINT}EMPTY_BLOB()"
    return "EMPTY_BLOB()" if lob_kind(column) is LobKind.BLOB else "EMPTY_CLOB()"


@dataclass(frozen=True, slots=True)
class LargeText:
    """Text, STATUS and INFO of the records of one table version's large values.

    :param target: `"S"."T"`; `names` of the columns, quoted, by position.
    :param where: makes the WHERE clause.
    :param blocks: 23ai's form of LOB rows.
    :param end: the text that closes a statement; '' for none.
    :param counted: see `LobStore.low_surrogates`; filled by `render`, so an object serves one reading.
    """

    target: str
    names: Sequence[str]
    columns: Sequence[StoredColumn]
    lobs: LobStore
    where: Where
    blocks: bool
    end: str
    counted: dict[int, int]

    def render(self, record: RedoRecord) -> Rendered:
        """SQL_REDO, STATUS and INFO of the record of a large value (`LARGE_OPS`); None where there is no text or no INFO."""
        return _RENDER[record.op](self, record)

    # ---- LOBs ----

    def _kind(self, record: RedoRecord) -> LobKind:
        return lob_kind(self.columns[record.changed[0]])

    def _select(self, record: RedoRecord) -> str:
        name, suffix = self.names[record.changed[0]], _SUFFIX[self._kind(record)]
        return f" select {name} into loc_{suffix} from {self.target}{self.where(record, '')} for update;"

    def _locator(self, record: RedoRecord) -> Rendered:
        if self.blocks:
            return None, 0, None
        return f"{_BUFFERS}BEGIN\n{self._select(record)}", 2, LOB_INFO

    def _statement(self, record: RedoRecord, text: str) -> Rendered:
        if self.blocks:
            text = f"{_BUFFERS} e_len NUMBER; \nBEGIN\n{self._select(record)}\n\n{text}\nEND;"
        return text, 2, LOB_INFO

    def _write(self, record: RedoRecord) -> Rendered:
        assert record.after is not None
        assert record.lob is not None
        kind, value = self._kind(record), unpack(record.after[record.changed[0]]).value
        offset, amount = record.lob
        suffix = _SUFFIX[kind]
        if kind is LobKind.BLOB:
            data = self.lobs.raw(value, offset, amount)
            text, count, place = raw_literal(data), len(data), offset
        else:
            piece = self._whole_characters(value, offset, amount)
            text = quoted(piece)
            count, place = len(piece), self._characters_before(value, offset)
        return self._statement(
            record, f" buf_{suffix} := {text}; \n  dbms_lob.write(loc_{suffix}, {count}, {place + 1}, buf_{suffix});"
        )

    def _whole_characters(self, value: LobValue, offset: int, amount: int) -> str:
        """The piece of a text of `amount` units from the 0-based `offset` on, with a surrogate pair that its end cuts and without
        the half of one at its beginning."""
        piece = str(self.lobs.read(value, offset, amount))
        if piece and "\ud800" <= piece[-1] <= "\udbff":
            piece = str(self.lobs.read(value, offset, amount + 1))
        return piece[1:] if piece and "\udc00" <= piece[0] <= "\udfff" and offset else piece

    def _characters_before(self, value: LobValue, offset: int) -> int:
        """Code points before the 0-based unit `offset` of a text."""
        if len(self.counted) > _MOST_COUNTED:
            self.counted.clear()
        return offset - self.lobs.low_surrogates(value, offset, self.counted)

    def _trim(self, record: RedoRecord) -> Rendered:
        assert record.lob is not None
        assert record.after is not None
        length, kind = record.lob[1], self._kind(record)
        if kind is not LobKind.BLOB:
            length = self._characters_before(unpack(record.after[record.changed[0]]).value, length)
        return self._statement(record, f"  dbms_lob.trim(loc_{_SUFFIX[kind]}, {length});")

    def _erase(self, record: RedoRecord) -> Rendered:
        assert record.lob is not None
        assert record.after is not None
        offset, amount = record.lob
        kind = self._kind(record)
        if kind is not LobKind.BLOB:
            offset = self._characters_before(unpack(record.after[record.changed[0]]).value, offset)
        suffix = _SUFFIX[kind]
        return self._statement(record, f"  e_len :=  {amount};\n  dbms_lob.erase(loc_{suffix}, e_len, {offset + 1});")

    # ---- XML ----

    def _xml_begin(self, record: RedoRecord) -> Rendered:
        at = record.changed[0]
        if self.columns[at].storage == XML_CLOB:
            text = f"update {self.target} a set a.{self.names[at]} = XMLType(:1){self.where(record, 'a.')}{self.end}"
            return text, 5, XML_PARTS_INFO
        return f"XML DOC BEGIN:  select {self.names[at]} from {self.target}{self.where(record, '')}", 2, XML_INFO

    def _xml_write(self, record: RedoRecord) -> Rendered:
        assert record.after is not None
        assert record.lob is not None
        at = record.changed[0]
        cell = record.after[at]
        text = None if cell is None else self._whole_characters(unpack(cell).value, *record.lob)
        if self.columns[at].storage == XML_CLOB:
            return text, 5, XML_PARTS_INFO
        if text is None:
            return "XML_REDO := NULL", 2, XML_INFO
        raw = text.encode("utf-8", "replace")
        return f"XML_REDO := {raw_literal(raw)}:{len(raw)}", 2, XML_INFO

    # ---- extended strings ----

    def _long_begin(self, record: RedoRecord) -> Rendered:
        at = record.changed[0]
        name = self.names[at]
        lob, buffer = ("CLOB", "buf_c   VARCHAR2") if _is_text(record) else ("BLOB", "buf_b   RAW")
        statement = f"update {self.target} a set a.{name} = :{name.strip(chr(34))}{self.where(record, 'a.')};"
        quoted = statement.replace("'", "''")
        text = (
            f"DECLARE\n TempLob {lob};\n {buffer}(32767);\n Stmt    CLOB;\nBEGIN\n"
            f" DBMS_LOB.CreateTemporary(TempLob, FALSE);\n Stmt := '{quoted}';"
        )
        return text, 0, None

    def _long_write(self, record: RedoRecord) -> Rendered:
        """The row of a piece of an extended string. Quotes in the data are not doubled, as in the values of these columns
        elsewhere (DBZ-8034)."""
        assert record.after is not None
        assert record.lob is not None
        cell, (start, size) = record.after[record.changed[0]], record.lob
        assert cell is not None
        piece = cell[start : start + size]
        buffer, text = ("buf_c", f"'{piece}'") if isinstance(piece, str) else ("buf_b", raw_literal(piece))
        return f"  {buffer} := {text}; \n  DBMS_LOB.WriteAppend(TempLob, {len(piece)}, {buffer});", 0, None


def _is_text(record: RedoRecord) -> bool:
    return record.after is not None and isinstance(record.after[record.changed[0]], str)


_RENDER: Mapping[RedoOp, Callable[[LargeText, RedoRecord], Rendered]] = {
    RedoOp.LOB_LOCATOR: LargeText._locator,
    RedoOp.LOB_WRITE: LargeText._write,
    RedoOp.LOB_TRIM: LargeText._trim,
    RedoOp.LOB_ERASE: LargeText._erase,
    RedoOp.XML_BEGIN: LargeText._xml_begin,
    RedoOp.XML_WRITE: LargeText._xml_write,
    RedoOp.XML_END: lambda text, record: (None, 0, None),
    RedoOp.LONG_BEGIN: LargeText._long_begin,
    RedoOp.LONG_WRITE: LargeText._long_write,
    RedoOp.LONG_END: lambda text, record: ("  EXECUTE IMMEDIATE Stmt USING TempLob;\nEND;", 0, None),
}
"""How each record of a large value is shown."""
LARGE_OPS = frozenset(_RENDER)
