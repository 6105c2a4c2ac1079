"""Functions on LOBs, XML documents and BOOLEAN values in SQL; DBMS_LOB's functions are among them."""

from __future__ import annotations

from minercdc_sandbox.interfaces import OraError
from minercdc_sandbox.sql import ast, number
from minercdc_sandbox.sql.functions.arguments import count_arguments
from minercdc_sandbox.sql.functions.rules import Rule
from minercdc_sandbox.sql.scope import Typed
from minercdc_sandbox.sql.translate.conditions import Conditions
from minercdc_sandbox.sql.translate.environment import blob
from minercdc_sandbox.sql.types import BLOB, CLOB, NCLOB, NUMBER, TEXT, Family, SqlType, inconsistent, varchar


def as_clob(text: str, national: bool) -> Typed:
    """A CLOB of a text: what text functions make of one."""
    return Typed(f"o_to_lob({text},'{'NCLOB' if national else 'CLOB'}')", NCLOB if national else CLOB)


def empty(kind: str, result: SqlType) -> Rule:
    def rule(x: Conditions, expr: ast.Call, args: list[Typed]) -> Typed:
        count_arguments(expr, args, 0, 0)
        return Typed(f"o_empty_lob('{kind}')", result, False)

    return rule


def to_clob(kind: str, result: SqlType) -> Rule:
    def rule(x: Conditions, expr: ast.Call, args: list[Typed]) -> Typed:
        of_bytes = args and args[0].type.family in (Family.BLOB, Family.RAW)
        count_arguments(expr, args, 1, 2 if of_bytes else 1)
        if args[0].type.family is Family.CLOB:
            return Typed(args[0].sql, result, args[0].nullable)
        if of_bytes:
            charset = x.to(args[1], Family.NUMBER, expr.at) if len(args) > 1 else blob(number.integer(0))
            content = f"o_lob_decoded({x.to(args[0], Family.BLOB, expr.at)},{charset})"
            return Typed(f"o_to_lob({content},'{kind}')", result)
        return Typed(f"o_to_lob({x.to(args[0], Family.VARCHAR, expr.at)},'{kind}')", result)

    return rule


def to_blob(x: Conditions, expr: ast.Call, args: list[Typed]) -> Typed:
    count_arguments(expr, args, 1, 1)
    return Typed(x.to(args[0], Family.BLOB, expr.at), BLOB)


def to_lob(x: Conditions, expr: ast.Call, args: list[Typed]) -> Typed:
    """Of a LONG column only, as the select list of INSERT .. SELECT has it."""
    count_arguments(expr, args, 1, 1)
    if args[0].type.family is Family.LONG:
        return Typed(f"o_to_lob({args[0].sql},'CLOB')", CLOB)
    if args[0].type.family is Family.LONG_RAW:
        return Typed(f"o_to_lob({args[0].sql},'BLOB')", BLOB)
    raise inconsistent("LONG", args[0].type.family, expr.at)


def json_value(x: Conditions, expr: ast.Call, args: list[Typed]) -> Typed:
    """JSON_VALUE(json, path, kind, on error) as the parser has it: VARCHAR2(4000) or NUMBER."""
    rest = ",".join(arg.sql for arg in args[1:])
    kind = NUMBER if args[2].literal == "N" else varchar(4000)
    return Typed(f"o_json_value({x.json_text(args[0], expr.at)},{rest})", kind)


def json_query(x: Conditions, expr: ast.Call, args: list[Typed]) -> Typed:
    """JSON_QUERY(json, path, on error): VARCHAR2(4000)."""
    return Typed(f"o_json_query({x.json_text(args[0], expr.at)},{args[1].sql},{args[2].sql})", varchar(4000))


def _lob(x: Conditions, typed: Typed, at: int) -> str:
    """A LOB argument of DBMS_LOB; text and RAW are converted."""
    if typed.type.family in (Family.CLOB, Family.BLOB):
        return typed.sql
    return x.to(typed, Family.BLOB if typed.type.family is Family.RAW else Family.CLOB, at)


_ONE, _AMOUNT = blob(number.integer(1)), blob(number.integer(32767))


def length(x: Conditions, expr: ast.Call, args: list[Typed]) -> Typed:
    """LENGTH: characters of text, of LOBs what DBMS_LOB.GETLENGTH counts."""
    count_arguments(expr, args, 1, 1)
    if args[0].type.family in (Family.CLOB, Family.BLOB):
        return Typed(f"o_lob_length({args[0].sql})", NUMBER)
    return Typed(f"o_length({x.to(args[0], Family.VARCHAR, expr.at)})", NUMBER)


def substr(x: Conditions, expr: ast.Call, args: list[Typed]) -> Typed:
    """DBMS_LOB.SUBSTR(lob, amount, offset)."""
    count_arguments(expr, args, 1, 3)
    numbers = [x.to(arg, Family.NUMBER, expr.at) for arg in args[1:]]
    amount, offset = (*numbers, *(_AMOUNT, _ONE)[len(numbers) :])
    text = args[0].type.family not in (Family.BLOB, Family.RAW)
    result = varchar(32767) if text else SqlType(Family.RAW, size=32767)
    return Typed(f"o_lob_substr({_lob(x, args[0], expr.at)},{amount},{offset})", result)


def instr(x: Conditions, expr: ast.Call, args: list[Typed]) -> Typed:
    """DBMS_LOB.INSTR(lob, pattern, offset, nth)."""
    count_arguments(expr, args, 2, 4)
    text = args[0].type.family not in (Family.BLOB, Family.RAW)
    pattern = x.to(args[1], Family.VARCHAR if text else Family.RAW, expr.at)
    numbers = [x.to(arg, Family.NUMBER, expr.at) for arg in args[2:]]
    offset, nth = (*numbers, *(_ONE, _ONE)[len(numbers) :])
    return Typed(f"o_lob_instr({_lob(x, args[0], expr.at)},{pattern},{offset},{nth})", NUMBER)


def compare(x: Conditions, expr: ast.Call, args: list[Typed]) -> Typed:
    """DBMS_LOB.COMPARE(lob, lob, amount, offset, offset)."""
    count_arguments(expr, args, 2, 5)
    numbers = [x.to(arg, Family.NUMBER, expr.at) for arg in args[2:]]
    defaults = (blob(number.integer((1 << 32) - 1)), _ONE, _ONE)
    tail = ",".join((*numbers, *defaults[len(numbers) :]))
    return Typed(f"o_lob_compare({_lob(x, args[0], expr.at)},{_lob(x, args[1], expr.at)},{tail})", NUMBER)


def one_lob(function: str) -> Rule:
    def rule(x: Conditions, expr: ast.Call, args: list[Typed]) -> Typed:
        count_arguments(expr, args, 1, 1)
        return Typed(f"o_lob_{function}({_lob(x, args[0], expr.at)})", NUMBER)

    return rule


def xmltype(x: Conditions, expr: ast.Call, args: list[Typed]) -> Typed:
    count_arguments(expr, args, 1, 1)
    return Typed(x.to(args[0], Family.XML, expr.at), SqlType(Family.XML))


def clob_of_xml(x: Conditions, expr: ast.Call, args: list[Typed]) -> Typed:
    """getClobVal of an XMLTYPE."""
    count_arguments(expr, args, 1, 1)
    if args[0].type.family is not Family.XML:
        raise inconsistent(Family.XML, args[0].type.family, expr.at)
    return Typed(args[0].sql, CLOB)


def string_of_xml(x: Conditions, expr: ast.Call, args: list[Typed]) -> Typed:
    """getStringVal of an XMLTYPE: at most 4000 bytes."""
    return Typed(x.to(clob_of_xml(x, expr, args), Family.VARCHAR, expr.at), varchar())


def file_name(x: Conditions, expr: ast.Call, args: list[Typed]) -> Typed:
    """BFILENAME(directory, file)."""
    count_arguments(expr, args, 2, 2)
    directory, file = (x.to(arg, Family.VARCHAR, expr.at) for arg in args)
    return Typed(f"o_bfilename({directory},{file})", SqlType(Family.BFILE))


def to_boolean(x: Conditions, expr: ast.Call, args: list[Typed]) -> Typed:
    count_arguments(expr, args, 1, 1)
    family = args[0].type.family
    if family in TEXT:
        return Typed(f"o_text_boolean({args[0].sql})", SqlType(Family.BOOLEAN))
    if family is Family.NUMBER:
        return Typed(f"o_number_boolean({args[0].sql})", SqlType(Family.BOOLEAN))
    return Typed(x.to(args[0], Family.BOOLEAN, expr.at), SqlType(Family.BOOLEAN))


def since_23(rule: Rule) -> Rule:
    """A function of 23ai; ORA-00904 before."""

    def checked(x: Conditions, expr: ast.Call, args: list[Typed]) -> Typed:
        if x.env.release < 23:
            raise OraError(904, f'"{expr.name}": invalid identifier', expr.at)
        return rule(x, expr, args)

    return checked


def of_text(family: Family) -> Rule:
    """JSON(text) and TO_VECTOR(text)."""

    def rule(x: Conditions, expr: ast.Call, args: list[Typed]) -> Typed:
        count_arguments(expr, args, 1, 1)
        return Typed(x.to(args[0], family, expr.at), SqlType(family))

    return rule


def text_of(family: Family, function: str) -> Rule:
    """JSON_SERIALIZE and FROM_VECTOR (value, kind of text, what becomes of one that is too long, its size or 0); the parser gives all but the first."""

    def rule(x: Conditions, expr: ast.Call, args: list[Typed]) -> Typed:
        count_arguments(expr, args, 4, 4)
        _, kind, on_error, size = expr.args
        assert isinstance(kind, ast.Literal)
        assert isinstance(on_error, ast.Literal)
        assert isinstance(size, ast.Literal)
        text = f"{function}({x.to(args[0], family, expr.at)})"
        if kind.text == "VARCHAR2":
            return Typed(
                f"o_short_text({text},{int(on_error.text == 'ERROR')},{size.text})", varchar(int(size.text) or 4000)
            )
        if kind.text == "BLOB":
            return Typed(f"o_to_lob(cast({text} as blob),'BLOB')", BLOB)
        return Typed(f"o_to_lob({text},'CLOB')", CLOB)

    return rule


XML_METHODS: dict[str, Rule] = {"GETCLOBVAL": clob_of_xml, "GETSTRINGVAL": string_of_xml}
"""Methods of an XMLTYPE value, `x.getClobVal()`."""


RULES: dict[str, Rule] = {
    "LENGTH": length,
    "EMPTY_CLOB": empty("CLOB", CLOB),
    "EMPTY_BLOB": empty("BLOB", BLOB),
    "TO_CLOB": to_clob("CLOB", CLOB),
    "TO_NCLOB": to_clob("NCLOB", NCLOB),
    "TO_BLOB": to_blob,
    "TO_LOB": to_lob,
    "DBMS_LOB.GETLENGTH": one_lob("length"),
    "DBMS_LOB.SUBSTR": substr,
    "DBMS_LOB.INSTR": instr,
    "DBMS_LOB.COMPARE": compare,
    "DBMS_LOB.GETCHUNKSIZE": one_lob("chunk_size"),
    "DBMS_LOB.ISOPEN": one_lob("is_open"),
    "DBMS_LOB.ISTEMPORARY": one_lob("is_temporary"),
    "XMLTYPE": xmltype,
    **{f"XMLTYPE.{method}": rule for method, rule in XML_METHODS.items()},
    "BFILENAME": file_name,
    "TO_BOOLEAN": since_23(to_boolean),
    "JSON": since_23(of_text(Family.JSON)),
    "JSON_VALUE": json_value,
    "JSON_QUERY": json_query,
    "JSON_SERIALIZE": text_of(Family.JSON, "o_json_text"),
    "TO_VECTOR": since_23(of_text(Family.VECTOR)),
    "VECTOR": since_23(of_text(Family.VECTOR)),
    "FROM_VECTOR": since_23(text_of(Family.VECTOR, "o_vector_text")),
    "VECTOR_SERIALIZE": since_23(text_of(Family.VECTOR, "o_vector_text")),
}
