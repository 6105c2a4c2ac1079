"""Reads the definition of a column in DDL text: type, NULL or not, DEFAULT, identity, whether it is the primary key."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from minercdc.schema.ddl_tokens import Tokens, Unknown
from minercdc.schema.table import Column

# Type words that are spelled otherwise in the dictionary: dictionary's name, and precision and scale it implies.
_TYPE_ALIASES: Final[dict[str, tuple[str, int | None, int | None]]] = {
    "VARCHAR": ("VARCHAR2", None, None),
    "CHARACTER": ("CHAR", None, None),
    "INTEGER": ("NUMBER", None, 0),
    "INT": ("NUMBER", None, 0),
    "SMALLINT": ("NUMBER", None, 0),
    "DECIMAL": ("NUMBER", None, 0),
    "DEC": ("NUMBER", None, 0),
    "NUMERIC": ("NUMBER", None, 0),
    "REAL": ("FLOAT", 63, None),
    "DOUBLE": ("FLOAT", 126, None),
    "FLOAT": ("FLOAT", 126, None),
}
# What may follow the expression of a DEFAULT.
_AFTER_DEFAULT: Final = frozenset(
    """NOT NULL PRIMARY CONSTRAINT UNIQUE CHECK REFERENCES ENABLE DISABLE VISIBLE INVISIBLE ENCRYPT DECRYPT ANNOTATIONS""".split()  # noqa: SIM905
)
# States of a constraint without which NOT NULL does not hold for all rows, so that the dictionary calls the column nullable.
_NOT_ENFORCED: Final = frozenset(["DISABLE", "NOVALIDATE", "DEFERRABLE"])
_STATES: Final = _NOT_ENFORCED | {"ENABLE", "VALIDATE", "RELY", "NORELY", "INITIALLY", "IMMEDIATE", "DEFERRED"}


def column_definition(tokens: Tokens) -> tuple[Column, bool]:
    """Read the definition at the cursor, and step over it: the column, and whether it is the primary key.

    :raises Unknown: as `data_type` and `column_properties` do, and when no name comes first.
    """
    name = tokens.name()
    type_name, length, scale = data_type(tokens)
    found = column_properties(tokens)
    nullable = found.nullable is not False and not found.is_key
    return Column(name, type_name, length, scale, nullable, found.default), found.is_key


def data_type(tokens: Tokens) -> tuple[str, int | None, int | None]:
    """Read a type: its name in the dictionary; length, or precision; scale. None: not given, and Oracle has no default.

    :raises Unknown: no type, or no whole numbers in its parentheses.
    """
    if tokens.peek()[0] != "word":
        raise Unknown(f"a type was expected before {tokens.peek()[1]!r}")
    word = tokens.name()
    if word == "TIMESTAMP":
        scale = _arguments(tokens)[0] if tokens.word() == "(" else 6
        if tokens.take("WITH", "LOCAL", "TIME", "ZONE"):
            return "TIMESTAMP WITH LOCAL TIME ZONE", None, scale
        return ("TIMESTAMP WITH TIME ZONE" if tokens.take("WITH", "TIME", "ZONE") else "TIMESTAMP"), None, scale
    if word == "INTERVAL":
        return _interval(tokens)
    if word in ("NATIONAL", "LONG"):
        if word == "LONG":
            return ("LONG RAW" if tokens.take("RAW") else "LONG"), None, None
        tokens.at += 1
        word = "NCHAR"
    if word == "DOUBLE":
        tokens.expect("PRECISION")
    if word in ("CHAR", "CHARACTER", "NCHAR") and tokens.take("VARYING"):
        word = "NVARCHAR2" if word == "NCHAR" else "VARCHAR2"
    type_name, length, scale = _TYPE_ALIASES.get(word, (word, None, None))
    if tokens.take("."):  # an object type of some schema
        return tokens.name(), None, None
    if tokens.word() == "(":
        arguments = _arguments(tokens)
        length = arguments[0]
        scale = arguments[1] if len(arguments) > 1 else 0 if type_name == "NUMBER" and length is not None else scale
    elif type_name in ("CHAR", "NCHAR"):
        length = 1
    return type_name, length, scale


def _arguments(tokens: Tokens) -> list[int | None]:
    """Step over `(10,2)`, `(*,0)` or `(20 CHAR)`, and return its one or two numbers; a star is None. Raises Unknown for anything
    else."""
    tokens.expect("(")
    arguments: list[int | None] = [None if tokens.take("*") else tokens.number()]
    if tokens.take(","):
        arguments.append(tokens.number())
    if tokens.word() in ("CHAR", "BYTE"):
        tokens.at += 1
    tokens.expect(")")
    return arguments


def _interval(tokens: Tokens) -> tuple[str, int | None, int | None]:
    unit = tokens.name()
    precision = _arguments(tokens)[0] if tokens.word() == "(" else 2
    if unit == "YEAR":
        tokens.expect("TO", "MONTH")
        return "INTERVAL YEAR TO MONTH", precision, 0
    tokens.expect("TO", "SECOND")
    return "INTERVAL DAY TO SECOND", precision, _arguments(tokens)[0] if tokens.word() == "(" else 6


@dataclass(slots=True)
class _Properties:
    """What the clauses after the type of a column say.

    :ivar nullable: None when it is not said.
    :ivar default: None for DEFAULT NULL, and when it is not said.
    :ivar default_given: there is a DEFAULT, be it NULL.
    :ivar is_key: the column is the primary key, by a clause of its own.
    """

    nullable: bool | None = None
    default: str | None = None
    default_given: bool = False
    is_key: bool = False


def column_properties(tokens: Tokens) -> _Properties:
    """Read the clauses up to the end of the column's definition, and step over them; those that say nothing of the shape are
    passed over.

    :raises Unknown: a virtual column, a primary key that is disabled, or text that ends early.
    """
    found = _Properties()
    while not tokens.at_definition_end():
        if tokens.take("NOT", "NULL"):
            found.nullable = not _not_null_holds(tokens)
        elif tokens.take("NULL"):
            found.nullable = True
        elif tokens.take("PRIMARY", "KEY"):
            found.is_key = True
        elif tokens.take("DEFAULT"):
            found.default, on_null = _default(tokens)
            found.default_given = True
            found.nullable = False if on_null else found.nullable
        elif tokens.word() in ("GENERATED", "AS", "VIRTUAL"):
            if not (tokens.peek(1) == ("word", "BY") or tokens.peek(3) == ("word", "IDENTITY")):
                # LogMiner does not show virtual columns, and identity columns only look alike.
                raise Unknown("a generated column")
            _identity(tokens)
            found.nullable = False
        elif found.is_key and tokens.word() == "DISABLE":
            raise Unknown("a primary key that is disabled")
        else:
            tokens.skip_balanced()
    return found


def _not_null_holds(tokens: Tokens) -> bool:
    """Step over the state of a NOT NULL constraint. True when the constraint is enforced for all rows."""
    holds = True
    while tokens.word() in _STATES or (tokens.word() == "NOT" and tokens.peek(1) == ("word", "DEFERRABLE")):
        if tokens.take("NOT", "DEFERRABLE"):
            continue
        holds = holds and tokens.word() not in _NOT_ENFORCED
        tokens.at += 1
    return holds


def _identity(tokens: Tokens) -> None:
    """Step over `GENERATED .. AS IDENTITY (..)`. The column's default, a sequence that Oracle names, is not in the text. Raises
    Unknown for anything else."""
    tokens.at += 1
    if not tokens.take("ALWAYS"):
        tokens.expect("BY", "DEFAULT")
        if tokens.take("ON", "NULL"):
            _for_insert(tokens)
    tokens.expect("AS", "IDENTITY")
    if tokens.word() == "(":
        tokens.skip_balanced()


def _for_insert(tokens: Tokens) -> None:
    """Step over `FOR INSERT ONLY` or `FOR INSERT AND UPDATE`, if it comes next: when an ON NULL default holds."""
    if tokens.take("FOR", "INSERT"):
        tokens.take("ONLY")
        tokens.take("AND", "UPDATE")


def _default(tokens: Tokens) -> tuple[str | None, bool]:
    """Step over what follows DEFAULT: its expression as it is written, as the dictionary keeps it, None for NULL; and whether
    it is ON NULL. Raises Unknown when a parenthesis is not closed."""
    on_null = tokens.take("ON", "NULL")
    if on_null:
        _for_insert(tokens)
    start = tokens.at
    cases = 0  # NOT and NULL within CASE are part of it
    while tokens.peek()[0] != "end":
        word = tokens.word()
        ends = tokens.at_definition_end() or (word in _AFTER_DEFAULT and tokens.at > start)
        if ends and not cases:
            break
        cases += (word == "CASE") - (word == "END")
        tokens.skip_balanced()
    text = tokens.text_since(start)
    return None if text.upper() in ("", "NULL") else text, on_null
