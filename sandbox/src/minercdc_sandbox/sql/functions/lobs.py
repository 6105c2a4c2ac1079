"""Translations of functions on LOBs, XML, JSON, VECTOR and BOOLEAN values; DBMS_LOB's functions are among them."""

from __future__ import annotations

from minercdc_sandbox.sql import ast, number
from minercdc_sandbox.sql.functions.arguments import count_arguments
from minercdc_sandbox.sql.functions.rules import Plain, Rule, Translate, converted
from minercdc_sandbox.sql.scope import Typed
from minercdc_sandbox.sql.translate.conditions import Conditions
from minercdc_sandbox.sql.translate.environment import blob
from minercdc_sandbox.sql.types import BLOB, BOOLEAN, CLOB, NCLOB, NUMBER, TEXT, Family, SqlType, inconsistent, varchar


def as_clob(text: str, national: bool) -> Typed:
    """SQL that makes a new temporary CLOB, or NCLOB when `national`, of the text that the SQL `text` results in."""
    return Typed(f"o_to_lob({text},'{'NCLOB' if national else 'CLOB'}')", NCLOB if national else CLOB)


def empty(kind: str, result: SqlType) -> Rule:
    """The rule of EMPTY_CLOB or EMPTY_BLOB, which take no argument. `kind`: CLOB or BLOB; `result`: its type."""
    return lambda x, expr, args: Typed(f"o_empty_lob('{kind}')", result, False), 0, 0


def to_clob(kind: str, result: SqlType) -> Rule:
    """The rule of TO_CLOB or TO_NCLOB (value [, character set id]). `kind`: CLOB or NCLOB; `result`: its type.

    A CLOB stays the same LOB; other values become a new temporary one. Only a BLOB or RAW may be followed by its character set's
    id: translating raises ORA-00939 for other values with an id, and as `Conditions.to`.
    """

    def translate(x: Conditions, expr: ast.Call, args: list[Typed]) -> Typed:
        if args[0].type.family in (Family.BLOB, Family.RAW):
            charset = x.to(args[1], Family.NUMBER, expr.at) if len(args) > 1 else blob(number.integer(0))
            content = f"o_lob_decoded({x.to(args[0], Family.BLOB, expr.at)},{charset})"
            return Typed(f"o_to_lob({content},'{kind}')", result)
        count_arguments(expr, args, 1, 1)
        if args[0].type.family is Family.CLOB:
            return Typed(args[0].sql, result, args[0].nullable)
        return Typed(f"o_to_lob({x.to(args[0], Family.VARCHAR, expr.at)},'{kind}')", result)

    return translate, 1, 2


def to_lob(x: Conditions, expr: ast.Call, args: list[Typed]) -> Typed:
    """TO_LOB: a new temporary CLOB of a LONG, or BLOB of a LONG RAW. Raises ORA-00932 for any other type."""
    if args[0].type.family is Family.LONG:
        return Typed(f"o_to_lob({args[0].sql},'CLOB')", CLOB)
    if args[0].type.family is Family.LONG_RAW:
        return Typed(f"o_to_lob({args[0].sql},'BLOB')", BLOB)
    raise inconsistent("LONG", args[0].type.family, expr.at)


def json_value(x: Conditions, expr: ast.Call, args: list[Typed]) -> Typed:
    """JSON_VALUE, with the arguments that the parser makes of its clauses: (json, path, 'N' for NUMBER or 'T' for VARCHAR2(4000),
    ERROR or NULL on error). Raises as `Conditions.json_text`."""
    rest = ",".join(arg.sql for arg in args[1:])
    kind = NUMBER if args[2].literal == "N" else varchar(4000)
    return Typed(f"o_json_value({x.json_text(args[0], expr.at)},{rest})", kind)


def json_query(x: Conditions, expr: ast.Call, args: list[Typed]) -> Typed:
    """JSON_QUERY, with the arguments that the parser makes of its clauses: (json, path, ERROR or NULL on error). Returns
    VARCHAR2(4000). Raises as `Conditions.json_text`."""
    return Typed(f"o_json_query({x.json_text(args[0], expr.at)},{args[1].sql},{args[2].sql})", varchar(4000))


def lob_of(x: Conditions, typed: Typed, at: int) -> str:
    """SQL of a LOB argument of DBMS_LOB: a CLOB or BLOB as it is, RAW converted to BLOB, any other type to CLOB. Raises as
    `Conditions.to`."""
    if typed.type.family in (Family.CLOB, Family.BLOB):
        return typed.sql
    return x.to(typed, Family.BLOB if typed.type.family is Family.RAW else Family.CLOB, at)


def _numbers(x: Conditions, args: list[Typed], at: int, *defaults: int) -> str:
    given = [x.to(arg, Family.NUMBER, at) for arg in args]
    return ",".join([*given, *(blob(number.integer(default)) for default in defaults[len(given) :])])


def length(x: Conditions, expr: ast.Call, args: list[Typed]) -> Typed:
    """LENGTH, a NUMBER: characters of a text, bytes of a BLOB, UTF-16 units of a CLOB as DBMS_LOB.GETLENGTH. Raises as
    `Conditions.to`."""
    if args[0].type.family in (Family.CLOB, Family.BLOB):
        return Typed(f"o_lob_length({args[0].sql})", NUMBER)
    return Typed(f"o_length({x.to(args[0], Family.VARCHAR, expr.at)})", NUMBER)


def substr(x: Conditions, expr: ast.Call, args: list[Typed]) -> Typed:
    """DBMS_LOB.SUBSTR(lob [, amount [, offset]]), by default 32767 characters or bytes from 1. A BLOB or RAW results in RAW,
    other types in VARCHAR2. Raises as `lob_of`."""
    text = args[0].type.family not in (Family.BLOB, Family.RAW)
    result = varchar(32767) if text else SqlType(Family.RAW, size=32767)
    tail = _numbers(x, args[1:], expr.at, 32767, 1)
    return Typed(f"o_lob_substr({lob_of(x, args[0], expr.at)},{tail})", result)


def instr(x: Conditions, expr: ast.Call, args: list[Typed]) -> Typed:
    """DBMS_LOB.INSTR(lob, pattern [, offset [, nth]]), by default the first match from 1; a NUMBER. The pattern is RAW for a BLOB
    or RAW, else text. Raises as `lob_of`."""
    text = args[0].type.family not in (Family.BLOB, Family.RAW)
    pattern = x.to(args[1], Family.VARCHAR if text else Family.RAW, expr.at)
    tail = _numbers(x, args[2:], expr.at, 1, 1)
    return Typed(f"o_lob_instr({lob_of(x, args[0], expr.at)},{pattern},{tail})", NUMBER)


def compare(x: Conditions, expr: ast.Call, args: list[Typed]) -> Typed:
    """DBMS_LOB.COMPARE(lob, lob [, amount [, offset [, offset]]]), a NUMBER; by default all 4294967295 characters or bytes from 1
    and 1. Raises as `lob_of`."""
    tail = _numbers(x, args[2:], expr.at, (1 << 32) - 1, 1, 1)
    return Typed(f"o_lob_compare({lob_of(x, args[0], expr.at)},{lob_of(x, args[1], expr.at)},{tail})", NUMBER)


def clob_of_xml(x: Conditions, expr: ast.Call, args: list[Typed]) -> Typed:
    """The method getClobVal of an XMLTYPE, whose cell is a CLOB's already. Raises ORA-00932 for any other type."""
    if args[0].type.family is not Family.XML:
        raise inconsistent(Family.XML, args[0].type.family, expr.at)
    return Typed(args[0].sql, CLOB)


def string_of_xml(x: Conditions, expr: ast.Call, args: list[Typed]) -> Typed:
    """The method getStringVal of an XMLTYPE, a VARCHAR2(4000). Raises as `clob_of_xml`; the SQL raises for a longer text."""
    return Typed(x.to(clob_of_xml(x, expr, args), Family.VARCHAR, expr.at), varchar())


def to_boolean(x: Conditions, expr: ast.Call, args: list[Typed]) -> Typed:
    """TO_BOOLEAN of a text, NUMBER or BOOLEAN. Raises as `Conditions.to` for any other type; the SQL raises for a text that is no
    truth value."""
    family = args[0].type.family
    if family in TEXT or family is Family.NUMBER:
        return Typed(f"o_{'text' if family in TEXT else 'number'}_boolean({args[0].sql})", BOOLEAN)
    return Typed(x.to(args[0], Family.BOOLEAN, expr.at), BOOLEAN)


def text_of(family: Family, function: str) -> Rule:
    """The rule of JSON_SERIALIZE or FROM_VECTOR, with the arguments that the parser makes of their clauses: (value, VARCHAR2,
    CLOB or BLOB, ERROR or NULL, size or 0). `family`: that of the value; `function`: SQLite's, which makes text of it.

    ERROR or NULL, and size, count for VARCHAR2 only: a text beyond the size raises an error or is NULL; size 0 is 4000.
    Translating raises as `Conditions.to`.
    """

    def translate(x: Conditions, expr: ast.Call, args: list[Typed]) -> Typed:
        kind, on_error, size = (str(arg.literal) for arg in args[1:])
        text = f"{function}({x.to(args[0], family, expr.at)})"
        if kind == "VARCHAR2":
            return Typed(f"o_short_text({text},{int(on_error == 'ERROR')},{size})", varchar(int(size) or 4000))
        if kind == "BLOB":
            return Typed(f"o_to_lob(cast({text} as blob),'BLOB')", BLOB)
        return Typed(f"o_to_lob({text},'CLOB')", CLOB)

    return translate, 4, 4


XML_METHODS: dict[str, Translate] = {"GETCLOBVAL": clob_of_xml, "GETSTRINGVAL": string_of_xml}
"""Methods of an XMLTYPE value, `x.getClobVal()`."""

PLAIN: dict[str, Plain] = {
    "DBMS_LOB.GETLENGTH": ("lob_length", "L", 1, NUMBER),
    "DBMS_LOB.GETCHUNKSIZE": ("lob_chunk_size", "L", 1, NUMBER),
    "DBMS_LOB.ISOPEN": ("lob_is_open", "L", 1, NUMBER),
    "DBMS_LOB.ISTEMPORARY": ("lob_is_temporary", "L", 1, NUMBER),
    "BFILENAME": ("bfilename", "VV", 2, SqlType(Family.BFILE)),
}
SINCE_23 = frozenset(["TO_BOOLEAN", "JSON", "TO_VECTOR", "VECTOR", "FROM_VECTOR", "VECTOR_SERIALIZE"])
"""Functions of 23ai; ORA-00904 before."""
RULES: dict[str, Rule] = {
    "LENGTH": (length, 1, 1),
    "EMPTY_CLOB": empty("CLOB", CLOB),
    "EMPTY_BLOB": empty("BLOB", BLOB),
    "TO_CLOB": to_clob("CLOB", CLOB),
    "TO_NCLOB": to_clob("NCLOB", NCLOB),
    "TO_BLOB": converted(BLOB),
    "TO_LOB": (to_lob, 1, 1),
    "DBMS_LOB.SUBSTR": (substr, 1, 3),
    "DBMS_LOB.INSTR": (instr, 2, 4),
    "DBMS_LOB.COMPARE": (compare, 2, 5),
    "XMLTYPE": converted(SqlType(Family.XML)),
    **{f"XMLTYPE.{method}": (translate, 1, 1) for method, translate in XML_METHODS.items()},
    "TO_BOOLEAN": (to_boolean, 1, 1),
    "JSON": converted(SqlType(Family.JSON)),
    "JSON_VALUE": (json_value, 4, 4),
    "JSON_QUERY": (json_query, 3, 3),
    "JSON_SERIALIZE": text_of(Family.JSON, "o_json_text"),
    **dict.fromkeys(("TO_VECTOR", "VECTOR"), converted(SqlType(Family.VECTOR))),
    **dict.fromkeys(("FROM_VECTOR", "VECTOR_SERIALIZE"), text_of(Family.VECTOR, "o_vector_text")),
}
