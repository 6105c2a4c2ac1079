"""Types of PL/SQL: of a declaration, of a parameter, and those that TYPE and SUBTYPE define."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from minercdc_sandbox.interfaces import OraError, OraType
from minercdc_sandbox.sql.declare import LONGEST, declare
from minercdc_sandbox.sql.plsql.compilation import Compilation
from minercdc_sandbox.sql.plsql.errors import undeclared
from minercdc_sandbox.sql.plsql.program import DeclaredCursor, record_of
from minercdc_sandbox.sql.plsql.variables import (
    BOOLEAN,
    INTEGER,
    TEXT,
    Collection,
    Record,
    RefCursor,
    Scalar,
    Type,
    Variable,
)
from minercdc_sandbox.sql.tokens import TokenKind
from minercdc_sandbox.tables import Column

_OWN_TYPES: dict[str, Type] = {
    **dict.fromkeys(("PLS_INTEGER", "BINARY_INTEGER", "SIMPLE_INTEGER", "NATURAL", "POSITIVE", "SIGNTYPE"), INTEGER),
    "BOOLEAN": BOOLEAN,
    "SYS_REFCURSOR": RefCursor(),
    "STRING": TEXT,
    "LONG": TEXT,
}
"""Types that only PL/SQL has, or has differently."""
_PACKAGED_TYPES = {"DBMS_OUTPUT.CHARARR": Collection(TEXT, True), "DBMSOUTPUT_LINESARRAY": Collection(TEXT, False)}
_SIZED = frozenset(("VARCHAR2", "VARCHAR", "STRING", "NVARCHAR2", "RAW"))


class TypeReader:
    """Reads types, and the declarations TYPE and SUBTYPE, which go into the present scope. Its methods raise PLS- errors within
    ORA-06550."""

    def __init__(self, block: Compilation) -> None:
        self._parser, self._names, self._slots = block.parser, block.names, block.slots
        self._session = block.session

    def datatype(self) -> Type:
        """Read a type: a name with size, %TYPE or %ROWTYPE. Raises PLS-00201 for an unknown type, variable, table or column,
        PLS-00215 for a text type without size, PLS-00103 for another word after `%`, and as `NameResolver.slot_of`."""
        token = self._parser.token
        parts = self._path()
        if self._parser.op("%"):
            return self._like(parts, token.start)
        known = self._names.find(parts[0]) if len(parts) == 1 else None
        if isinstance(known, Scalar | Record | Collection | RefCursor):
            return known
        if ".".join(parts[-2:]) in _PACKAGED_TYPES:
            return _PACKAGED_TYPES[".".join(parts[-2:])]
        if len(parts) == 1 and parts[0] in _OWN_TYPES and self._parser.token.text != "(":
            return _OWN_TYPES[parts[0]]
        self._parser.at -= 2 * len(parts) - 1
        if parts[0] == "STRING":
            self._parser.tokens[self._parser.at] = replace(self._parser.tokens[self._parser.at], text="VARCHAR2")
        try:
            named = self._parser.type_name()
            if named.name in _SIZED and not named.numbers:
                raise self._parser.wrong(
                    token.start, f"PLS-00215: String length constraints must be in range (1 .. {LONGEST})"
                )
            return Scalar(declare(parts[0], named))
        except OraError as error:
            if error.number == 6550:
                raise
            raise undeclared(self._parser.sql, token.start, ".".join(parts)) from None

    def _path(self) -> list[str]:
        parts = [self._parser.take().text]
        while self._parser.token.text == "." and self._parser.token.kind is TokenKind.OPERATOR:
            self._parser.at += 1
            parts.append(self._parser.take().text)
        return parts

    def _like(self, parts: list[str], at: int) -> Type:
        """Read TYPE or ROWTYPE after `%`: `variable%TYPE`, `table.column%TYPE`, `cursor%ROWTYPE`, `table%ROWTYPE`; `parts`: the
        name before it. Raises as `datatype`."""
        word = self._parser.take().text
        if word == "TYPE":
            variable, rest = self._names.variable_of(parts)
            if variable is not None and not rest:
                return variable.type
            if variable is not None:
                slot = self._names.slot_of(tuple(parts), at)
                assert slot is not None
                return self._slots.scalars[slot] or TEXT
            *path, column = parts
            return self._row(path, at, column).fields[0][1] if path else self._missing(parts, at)
        if word != "ROWTYPE":
            raise self._parser.unexpected()
        cursor = self._names.find(parts[0])
        if isinstance(cursor, DeclaredCursor):
            return record_of(cursor.columns)
        if isinstance(cursor, Variable) and isinstance(cursor.type, Record):
            return cursor.type
        return self._row(parts, at)

    def _missing(self, parts: list[str], at: int) -> Any:
        raise undeclared(self._parser.sql, at, ".".join(parts))

    def _row(self, path: list[str], at: int, column: str | None = None) -> Record:
        """The record of the columns of a table or view, or of one of them. Raises PLS-00201 for a table or column that the user
        cannot query."""
        table = ".".join(f'"{part}"' for part in path)
        wanted = "*" if column is None else f'"{column}"'
        try:
            columns = self._session.statements.check(f"select {wanted} from {table}")
        except OraError:
            raise undeclared(self._parser.sql, at, ".".join([*path, *([column] if column else [])])) from None
        return record_of(columns or ())

    def declaration(self) -> None:
        """Read `TYPE name IS ..;` or `SUBTYPE name IS type;` and declare the name. Raises PLS-00103 for types that the sandbox
        does not have, PLS-00371 for a name declared twice, ORA-02017 for a VARRAY without a limit, and as `datatype`."""
        subtype = self._parser.take().text == "SUBTYPE"
        name = self._parser.take()
        self._parser.need("IS")
        if subtype:
            kind: Type = self.datatype()
        elif self._parser.word("RECORD"):
            kind = self._record_type()
        elif self._parser.word("TABLE"):
            self._parser.need("OF")
            element = self._element_type()
            kind = Collection(element, False)
            if self._parser.word("INDEX", "BY"):
                index = self.datatype()
                text = isinstance(index, Scalar) and index.column.type is OraType.VARCHAR2
                kind = Collection(element, True, text)
        elif self._parser.any_word("VARRAY", "VARYING"):
            self._parser.word("ARRAY")
            self._parser.need("(")
            limit = self._parser.integer()
            self._parser.need(")")
            self._parser.need("OF")
            kind = Collection(self._element_type(), False, limit=limit)
        elif self._parser.word("REF", "CURSOR"):
            if self._parser.word("RETURN"):
                self.datatype()
            kind = RefCursor()
        else:
            raise self._parser.refused(f"TYPE {name.text} IS {self._parser.token.text}", self._parser.token.start)
        self._parser.need(";")
        self._names.declare(name.text, name.start, kind)

    def _element_type(self) -> Scalar | Record:
        at = self._parser.token.start
        kind = self.datatype()
        self._parser.word("NOT", "NULL")
        if not isinstance(kind, Scalar | Record):
            raise self._parser.refused("collections of collections", at)
        return kind

    def _record_type(self) -> Record:
        self._parser.need("(")
        fields = self._parser.listed(self._field)
        self._parser.need(")")
        return Record(tuple(fields))

    def _field(self) -> tuple[str, Scalar]:
        token = self._parser.take()
        kind = self.datatype()
        if not isinstance(kind, Scalar):
            raise self._parser.refused("records within records", token.start)
        if self._parser.token.text in (":=", "DEFAULT", "NOT"):
            raise self._parser.refused("defaults of a record's fields", self._parser.token.start)
        return token.text, kind

    def unsized(self) -> Type:
        """Read the type of a parameter or of a function's result, where a text type or RAW has no size and gets the longest.
        Raises as `datatype`."""
        if self._parser.token.text in _SIZED and self._parser.peek().text != "(":
            national = self._parser.token.text == "NVARCHAR2"
            raw = self._parser.take().text == "RAW"
            kind = OraType.RAW if raw else OraType.VARCHAR2
            return Scalar(Column("PARAMETER", kind, size=LONGEST, char_length=LONGEST, national=national))
        return self.datatype()
