"""A block's DECLARE section, by turning its variables into binds behind those of the client.

    declare n varchar2(9) := :1; c sys_refcursor; begin open c for select n from dual; :2 := c; end;
    begin :"n" := :1; open :"c" for select :"n" from dual; :2 := :"c"; end;         binds 1, 2, "n", "c"

A name of a table's column that is also a variable's is taken for the variable, where PL/SQL takes the column.
"""

from __future__ import annotations

from dataclasses import dataclass

from minercdc.sandbox.interfaces import BindType, OraError, OraType
from minercdc.sandbox.sql.tokens import Token, tokenize

_TYPES = {
    "VARCHAR2": OraType.VARCHAR2,
    "VARCHAR": OraType.VARCHAR2,
    "CHAR": OraType.CHAR,
    "NUMBER": OraType.NUMBER,
    "INTEGER": OraType.NUMBER,
    "PLS_INTEGER": OraType.NUMBER,
    "BINARY_INTEGER": OraType.NUMBER,
    "DATE": OraType.DATE,
    "TIMESTAMP": OraType.TIMESTAMP,
    "RAW": OraType.RAW,
    "CLOB": OraType.CLOB,
    "NCLOB": OraType.CLOB,
    "BLOB": OraType.BLOB,
    "XMLTYPE": OraType.XMLTYPE,
    "SYS_REFCURSOR": OraType.CURSOR,
}
_LONGEST = 32767


@dataclass(frozen=True, slots=True)
class Block:
    """A block without DECLARE.

    :param binds: names of the client's binds in order of appearance, then of the variables.
    :param variables: types of the variables.
    """

    sql: str
    binds: tuple[str, ...]
    variables: tuple[BindType, ...] = ()


def without_locals(sql: str) -> Block:
    """Raises PLS-00103 within ORA-06550 for declarations that are not variables of a known type."""
    tokens = tokenize(sql)
    client = tuple(dict.fromkeys(token.text for token in tokens if token.kind == "B"))
    if tokens[0].text != "DECLARE" or tokens[0].kind != "W":
        return Block(sql, client)
    variables: dict[str, BindType] = {}
    first: list[tuple[str, int, int]] = []
    at = 1
    while tokens[at].text != "BEGIN":
        at = _declaration(sql, tokens, at, variables, first)
    begin = tokens[at]
    assignments = "".join(f"{_reference(name)} := {_rewritten(sql, tokens, a, b, variables)}; " for name, a, b in first)
    rest = _rewritten(sql, tokens, at + 1, len(tokens) - 1, variables)
    text = f"{sql[begin.start : begin.end]} {assignments}{rest}"
    return Block(text, client + tuple(map(_bind_name, variables)), tuple(variables.values()))


def _bind_name(name: str) -> str:
    return f"LOCAL {name}"  # a client's bind cannot have a blank


def _reference(name: str) -> str:
    return f':"{_bind_name(name)}"'


def _unknown(sql: str, token: Token) -> OraError:
    line = sql.count("\n", 0, token.start) + 1
    return OraError(
        6550, f"line {line}:\nPLS-00103: the sandbox does not know the declaration at {token.text!r}", token.start
    )


def _declaration(
    sql: str, tokens: list[Token], at: int, variables: dict[str, BindType], first: list[tuple[str, int, int]]
) -> int:
    """Read `name type[(size)] [:= expression];`; the place behind it."""
    name, kind = tokens[at], tokens[min(at + 1, len(tokens) - 1)]
    if name.kind not in "WQ" or kind.kind != "W" or kind.text not in _TYPES:
        raise _unknown(sql, name if name.kind not in "WQ" else kind)
    at += 2
    size = 0
    if tokens[at].text == "(":
        while tokens[at].text not in (")", ";") and tokens[at].kind != "E":
            at += 1
            if tokens[at].kind == "N" and not size:
                size = int(tokens[at].text)
        at += 1
    variables[name.text] = BindType(_TYPES[kind.text], min(size or _LONGEST, _LONGEST), national=kind.text == "NCLOB")
    if tokens[at].text in (":=", "DEFAULT"):
        start = at + 1
        while tokens[at].text != ";" and tokens[at].kind != "E":
            at += 1
        first.append((name.text, start, at))
    if tokens[at].text != ";":
        raise _unknown(sql, tokens[at])
    return at + 1


def _rewritten(sql: str, tokens: list[Token], start: int, end: int, variables: dict[str, BindType]) -> str:
    """The text of these tokens, variables as binds."""
    pieces: list[str] = []
    at = tokens[start].start
    for n in range(start, end):
        token = tokens[n]
        if token.kind not in "WQ" or token.text not in variables:
            continue
        if tokens[n - 1].text == "." or tokens[n + 1].text in (".", "=>"):
            continue
        pieces += (sql[at : token.start], _reference(token.text))
        at = token.end
    return "".join(pieces) + sql[at : tokens[end].start]
