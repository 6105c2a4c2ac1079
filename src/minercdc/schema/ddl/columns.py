"""Reads the definition of a column in DDL text: type, NULL or not, DEFAULT, identity, keys that are declared with it."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Final

from minercdc.schema.ddl.constraints import State, at_state, begins_constraint, take_state
from minercdc.schema.ddl.tokens import Tokens, Unknown
from minercdc.schema.table import Column, Key, NotNull

UNSAID: Final = ""
"""`type_name` of a column whose type the text does not say: it refers to another column, or has a domain."""

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
    "BOOL": ("BOOLEAN", None, None),
}
_TYPES: Final = frozenset(
    """CHAR NCHAR VARCHAR2 NVARCHAR2 NUMBER LONG RAW DATE TIMESTAMP INTERVAL BINARY_FLOAT BINARY_DOUBLE CLOB NCLOB BLOB BFILE ROWID
    UROWID XMLTYPE JSON VECTOR BOOLEAN NATIONAL REF ANYDATA ANYTYPE ANYDATASET SDO_GEOMETRY""".split()  # noqa: SIM905
) | frozenset(_TYPE_ALIASES)
# Second words of types.
_GO_ON: Final[dict[str, tuple[str, ...]]] = {
    "CHAR": ("VARYING",),
    "CHARACTER": ("VARYING",),
    "NCHAR": ("VARYING",),
    "NATIONAL": ("CHAR", "CHARACTER"),
    "LONG": ("RAW", "VARCHAR"),
    "DOUBLE": ("PRECISION",),
}
# Begin a property of a column. As the type of a column no such word is possible but by a quoted name.
_PROPERTIES: Final = frozenset(
    """NOT NULL DEFAULT CONSTRAINT VISIBLE INVISIBLE PRIMARY UNIQUE CHECK REFERENCES ENCRYPT DECRYPT COLLATE GENERATED AS VIRTUAL SORT
    ANNOTATIONS DOMAIN RESERVABLE SCOPE WITH ENABLE DISABLE DROP ADD MODIFY RENAME SET VALIDATE""".split()  # noqa: SIM905
)


@dataclass(slots=True)
class Defined:
    """What the definition of a column says.

    :ivar type_given: a type is written, be it one that the text does not explain (`UNSAID`).
    :ivar type_implied: the column takes its type from an expression, from the column that it refers to, or from its domain.
    :ivar nulled: NULL is said.
    :ivar default: None for DEFAULT NULL, and when it is not said.
    :ivar default_given: there is a DEFAULT, be it NULL.
    :ivar is_virtual: its values are in no row.
    :ivar keys, not_nulls: the constraints that are declared with it.
    :ivar has_domain: it has a domain, or may have one: only the dictionary knows whether that makes it NOT NULL.
    :ivar loses_identity: DROP IDENTITY, in MODIFY.
    """

    name: str
    type_name: str = UNSAID
    length: int | None = None
    scale: int | None = None
    type_given: bool = False
    type_implied: bool = False
    nulled: bool = False
    default: str | None = None
    default_given: bool = False
    is_virtual: bool = False
    has_domain: bool = False
    loses_identity: bool = False
    keys: list[Key] = field(default_factory=list)
    not_nulls: list[NotNull] = field(default_factory=list)

    def require_type(self) -> None:
        """Raise Unknown where a new column has no type (ORA-02263): the words mean something else then."""
        if not (self.type_given or self.type_implied):
            raise Unknown(f"the column {self.name} has no type")

    @property
    def column(self) -> Column:
        """The column that it makes, nullable whatever its constraints are."""
        return Column(self.name, self.type_name, self.length, self.scale, default=self.default)

    def imply_not_null(self, *, on_null: bool = False) -> None:
        """Note that the column has a NOT NULL constraint, which Oracle names, if it has none yet."""
        if not self.not_nulls:
            self.not_nulls.append(NotNull(self.name, on_null=on_null))


def is_column(tokens: Tokens, ahead: int = 0) -> bool:
    """Whether the name so many tokens after the next one is followed by a type of Oracle's and what may follow a type: so it is a
    column, whatever word it is. The cursor stays."""
    kind, text = tokens.peek(ahead + 1)
    if kind != "word" or text not in _TYPES:
        return False
    after = tokens.after_balanced(ahead + 2)
    following = tokens.peek(after)[1]
    if text == "INTERVAL":
        return following in ("YEAR", "DAY")
    return text == "REF" or tokens.ends_item(after) or following in _PROPERTIES or following in _GO_ON.get(text, ())


def is_constraint(tokens: Tokens) -> bool:
    """Whether an out-of-line constraint comes next, and no column. A constraint may be named like a type whose word is not reserved:
    `CONSTRAINT json CHECK (..)`. The cursor stays."""
    return begins_constraint(tokens) and (tokens.word() == "CONSTRAINT" or not is_column(tokens))


def defined_column(tokens: Tokens) -> Defined:
    """Read the definition at the cursor, of CREATE, ADD or MODIFY, and step over it.

    :raises Unknown: no name comes first, the type has no whole numbers in its parentheses, or the text ends early.
    """
    found = Defined(tokens.name())
    kind, text = tokens.peek()
    if kind == "quoted" or (kind == "word" and (text not in _PROPERTIES or _is_type_named(tokens, text))):
        found.type_given = True
        found.type_name, found.length, found.scale = data_type(tokens)
        found.has_domain = found.type_name == UNSAID
    _properties(tokens, found)
    return found


def _is_type_named(tokens: Tokens, word: str) -> bool:
    """Whether a word that also begins a property is the schema of a type here."""
    return word not in ("AS", "NOT", "NULL") and tokens.peek(1) == ("other", ".")


def data_type(tokens: Tokens) -> tuple[str, int | None, int | None]:
    """Read a type: its name in the dictionary; length, or precision; scale. None: not given, and Oracle has no default. The name
    is UNSAID for one that is none of Oracle's: it is an object type or a domain, which only the dictionary knows.

    :raises Unknown: no whole numbers in its parentheses.
    """
    quoted = tokens.peek()[0] == "quoted"
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
    if tokens.take("."):  # a type of some schema
        named = tokens.name()
        return (named if word in ("SYS", "PUBLIC", "XDB", "MDSYS") else UNSAID), None, None
    if quoted or word not in _TYPES or word == "REF":
        if tokens.word() == "(":
            tokens.skip_balanced()
        if word == "REF":
            tokens.table_name()
        return UNSAID, None, None
    if tokens.word() == "(":
        if type_name in ("JSON", "VECTOR", "XMLTYPE"):
            tokens.skip_balanced()
            return type_name, None, None
        arguments = _arguments(tokens)
        length = arguments[0]
        scale = arguments[1] if len(arguments) > 1 else 0 if type_name == "NUMBER" and length is not None else scale
    elif type_name in ("CHAR", "NCHAR"):
        length = 1
    return type_name, length, scale


def _arguments(tokens: Tokens) -> list[int | None]:
    """Step over `(10,2)`, `(*,0)` or `(20 CHAR)`, and return its one or two numbers; a star is None."""
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


def _properties(tokens: Tokens, found: Defined) -> None:
    """Read the clauses up to the end of the column's definition, and step over them; those that say nothing of the shape
    are passed over."""
    while True:
        if tokens.word() in ("ADD", "DROP") and tokens.peek(1)[1] in ("DOMAIN", "IDENTITY", "ANNOTATIONS"):
            _added_or_dropped(tokens, found)
        elif tokens.ends_item() or tokens.at_clause() or _at_storage(tokens):
            return
        elif tokens.take("DEFAULT"):
            found.default, on_null = _default(tokens)
            found.default_given = True
            if on_null:
                found.imply_not_null(on_null=True)
        elif tokens.word() in ("GENERATED", "AS"):
            _generated(tokens, found)
            found.type_implied = True
        elif tokens.take("DOMAIN"):
            tokens.table_name()
            found.has_domain = found.type_implied = True
        else:
            _constraint(tokens, found)


def _at_storage(tokens: Tokens) -> bool:
    """Whether the storage of large values comes next, which follows the columns: `LOB (c) STORE AS (..)`, `XMLTYPE COLUMN c ..`."""
    word, following = tokens.word(), tokens.peek(1)[1]
    if word in ("LOB", "JSON"):
        return following == "("
    return (word, following) in (("XMLTYPE", "COLUMN"), ("OPAQUE", "TYPE"), ("NESTED", "TABLE")) or word == "VARRAY"


def _added_or_dropped(tokens: Tokens, found: Defined) -> None:
    """Step over ADD or DROP of a property, in MODIFY."""
    tokens.at += 1
    if tokens.take("IDENTITY"):
        found.default, found.default_given, found.loses_identity = None, True, True
    elif tokens.take("DOMAIN"):
        if tokens.peek()[0] in ("word", "quoted") and not (tokens.at_clause() or tokens.take("PRESERVE", "CONSTRAINTS")):
            tokens.table_name()
        found.has_domain = True
    else:
        tokens.take("ANNOTATIONS")
        tokens.skip_balanced()


def _constraint(tokens: Tokens, found: Defined) -> None:
    """Step over an inline constraint, or another property."""
    name = tokens.name() if tokens.take("CONSTRAINT") else ""
    kind = ""
    if tokens.take("NOT", "NULL"):
        kind = "NOT NULL"
    elif tokens.take("NULL"):
        found.nulled = True
    elif tokens.take("PRIMARY", "KEY"):
        kind = "P"
    elif tokens.take("UNIQUE"):
        kind = "U"
    elif tokens.take("REFERENCES"):
        _references(tokens)
        found.type_implied = True
    else:
        tokens.skip_balanced()
        return
    state = State()
    while at_state(tokens):
        take_state(tokens, state)
    if kind == "NOT NULL":
        found.not_nulls = [state.not_null(found.name, name)]  # the one that is implied is no second one
    elif kind:
        found.keys.append(state.key(kind, (found.name,), name))


def _references(tokens: Tokens) -> None:
    tokens.table_name()
    if tokens.word() == "(":
        tokens.skip_balanced()
    if tokens.take("ON", "DELETE"):
        tokens.take("CASCADE")
        tokens.take("SET", "NULL")


def _generated(tokens: Tokens, found: Defined) -> None:
    """Step over what makes a column virtual, or an identity column, whose default, a sequence that Oracle names, is not
    in the text."""
    if tokens.take("GENERATED") and not tokens.take("ALWAYS") and tokens.take("BY", "DEFAULT") and tokens.take("ON", "NULL"):
        _for_insert(tokens)
    tokens.expect("AS")
    if tokens.take("IDENTITY"):
        found.imply_not_null()
        if tokens.word() == "(":
            tokens.skip_balanced()
        return
    if tokens.word() != "(":
        raise Unknown(f"AS {tokens.peek()[1]} of a column")
    tokens.skip_balanced()
    tokens.take("VIRTUAL")
    found.is_virtual = not tokens.take("MATERIALIZED")


def _for_insert(tokens: Tokens) -> None:
    """Step over `FOR INSERT ONLY` or `FOR INSERT AND UPDATE`, if it comes next: when an ON NULL default holds."""
    if tokens.take("FOR", "INSERT"):
        tokens.take("ONLY")
        tokens.take("AND", "UPDATE")


# What may follow the expression of a DEFAULT.
_AFTER_DEFAULT: Final = frozenset(
    """NOT NULL PRIMARY CONSTRAINT UNIQUE CHECK REFERENCES ENABLE DISABLE VISIBLE INVISIBLE ENCRYPT DECRYPT ANNOTATIONS DOMAIN
    RESERVABLE""".split()  # noqa: SIM905
)


def _default(tokens: Tokens) -> tuple[str | None, bool]:
    """Step over what follows DEFAULT: its expression as it is written, as the dictionary keeps it, None for NULL; and
    whether it is ON NULL."""
    on_null = tokens.take("ON", "NULL")
    if on_null:
        _for_insert(tokens)
    start = tokens.at
    cases = 0  # NOT and NULL within CASE are part of it
    while tokens.peek()[0] != "end":
        word = tokens.word()
        ends = tokens.ends_item() or tokens.at_clause() or (word in _AFTER_DEFAULT and tokens.at > start)
        if ends and not cases:
            break
        cases += (word == "CASE") - (word == "END")
        tokens.skip_balanced()
    text = tokens.text_since(start)
    return None if text.upper() in ("", "NULL") else text, on_null
