"""Parses Oracle DDL text, as far as it changes what is known of a table.

    CREATE [..] TABLE name (column | constraint, ..)     ALTER TABLE name clause ..     TRUNCATE TABLE | CLUSTER name
    DROP TABLE name                                      RENAME name TO name
    DROP USER name                                       DROP MATERIALIZED VIEW name
    DROP TABLESPACE name .. INCLUDING CONTENTS           DROP CLUSTER name INCLUDING TABLES
    CREATE UNIQUE INDEX name ON name (column, ..)        DROP INDEX name                ALTER INDEX name RENAME TO name
    COMMENT ON TABLE name IS text                        COMMENT ON COLUMN name.name IS text

`alter_clauses` has the clauses of ALTER TABLE. What is not understood yields `Unclear`: the caller reads the dictionary instead of
guessing. Statements on other kinds of objects, and a COMMENT ON that is not understood, yield None.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Final

from minercdc.schema.ddl.alter_clauses import Effect, clause_of, of_parts
from minercdc.schema.ddl.columns import Defined, defined_column, is_column, is_constraint
from minercdc.schema.ddl.constraints import State, at_state, constraint_meant, table_constraint, take_state
from minercdc.schema.ddl.create import create_table, unique_index
from minercdc.schema.ddl.partitions import interval_set, parts_changed
from minercdc.schema.ddl.statements import (
    NO_PARTS,
    AddColumns,
    AddKey,
    AddNotNull,
    AlterTable,
    Change,
    CommentOn,
    DropColumns,
    DropConstraint,
    DropContents,
    DropDomain,
    DropIdentity,
    DropMaterializedView,
    DropTable,
    DropUnused,
    DropUser,
    IndexChange,
    Meant,
    ModifyColumn,
    NullUnsaid,
    OfParts,
    RenameColumn,
    RenameConstraint,
    RenameTable,
    RowArchival,
    SetConstraint,
    Statement,
    TableName,
    TruncateCluster,
    TruncateTable,
    Unclear,
)
from minercdc.schema.ddl.tokens import Tokens, Unknown

_FAR: Final = 8  # words that are looked at, to know a clause
_AFTER_A_NAME: Final = frozenset(["DEFAULT", "NOT", "NULL", "UNIQUE", "CHECK"])  # reserved: no names themselves
_OF_PARTS: Final = Effect.PARTS | Effect.GONE | Effect.MOVED


def parse_ddl(sql: str) -> Statement | None:
    """The effect of a DDL statement on a table; None when it is about something else, creates a temporary table, or is a COMMENT
    ON that is not understood. Never raises.

    What else is not understood is Unclear. `RENAME .. TO ..` is taken as that of a table, though it may be of a view or sequence.
    """
    tokens = Tokens(sql)
    name: TableName | None = None
    try:
        if tokens.take("CREATE"):
            return unique_index(tokens) if tokens.take("UNIQUE", "INDEX") else create_table(tokens)
        if tokens.take("TRUNCATE", "TABLE"):
            tokens.take("IF", "EXISTS")
            return TruncateTable(tokens.table_name(), tokens.items[-1] == ("word", "CASCADE") and tokens.peek()[0] != "end")
        if tokens.take("TRUNCATE", "CLUSTER"):
            name = tokens.table_name()
            return TruncateCluster(name.schema, name.table)
        if tokens.take("DROP", "TABLE"):
            tokens.take("IF", "EXISTS")
            name = tokens.table_name()
            tokens.take("CASCADE", "CONSTRAINTS")
            return DropTable(name, tokens.name() if tokens.take("AS") else "")  # the text of redo has it
        if tokens.take("DROP", "USER"):
            tokens.take("IF", "EXISTS")
            return DropUser(tokens.name())
        if tokens.take("DROP", "MATERIALIZED", "VIEW") or tokens.take("DROP", "SNAPSHOT"):
            return _dropped_view(tokens)
        if tokens.take("DROP", "CLUSTER") or tokens.take("DROP", "TABLESPACE"):
            return _dropped_contents(tokens)
        if tokens.take("RENAME"):
            name = tokens.table_name()
            tokens.expect("TO")
            return RenameTable(name, tokens.name())
        if tokens.take("ALTER", "TABLE"):
            tokens.take("IF", "EXISTS")
            name = tokens.table_name()
            return _alter(tokens, name)
        if tokens.take("DROP", "DOMAIN") or tokens.take("DROP", "USECASE", "DOMAIN"):
            return _dropped_domain(tokens)
        if tokens.take("DROP", "INDEX") or tokens.take("ALTER", "INDEX"):
            return _index(tokens)
        if tokens.take("COMMENT", "ON"):
            return _comment(tokens)
        if tokens.take("FLASHBACK", "TABLE"):
            return _flashback(tokens)
        if tokens.take("UNDROP", "TABLE"):
            return Unclear(tokens.table_name(), "UNDROP TABLE", loses_rows=True)
    except Unknown as unknown:
        return Unclear(name, str(unknown))
    return None


def _dropped_view(tokens: Tokens) -> DropMaterializedView | None:
    """The rest of DROP MATERIALIZED VIEW; None for that of a log, and where its table is preserved."""
    if tokens.take("LOG", "ON"):
        return None
    tokens.take("IF", "EXISTS")
    name = tokens.table_name()
    return None if tokens.take("PRESERVE", "TABLE") else DropMaterializedView(name)


def _dropped_contents(tokens: Tokens) -> DropContents | None:
    """The rest of DROP CLUSTER or DROP TABLESPACE; None where no table goes with it."""
    words = tokens.words_ahead(len(tokens.items))
    goes = any(words[at] == "INCLUDING" and words[at + 1] in ("TABLES", "CONTENTS") for at in range(len(words) - 1))
    return DropContents() if goes else None


def _dropped_domain(tokens: Tokens) -> DropDomain | None:
    """The rest of DROP DOMAIN; None where it keeps what columns have of the domain, or there are none."""
    tokens.take("IF", "EXISTS")
    tokens.table_name()
    return DropDomain() if tokens.take("FORCE") and not tokens.take("PRESERVE") else None


def _flashback(tokens: Tokens) -> Statement:
    """The rest of FLASHBACK TABLE. To an SCN or time it changes rows, with redo of them, and no shape; TO BEFORE DROP brings a table back
    with rows that have no redo, under its name or a new one."""
    name = tokens.table_name()
    while tokens.take(","):
        tokens.table_name()
    if tokens.take("TO", "BEFORE", "DROP"):
        back: TableName | None = name
        if tokens.take("RENAME", "TO"):
            back = TableName(name.schema, tokens.name())
        elif name.table.startswith("BIN$"):  # it gets the name that it had
            back = None
        return Unclear(back, "FLASHBACK TABLE .. TO BEFORE DROP", loses_rows=True, undropped=name)
    tokens.expect("TO")
    return AlterTable(name, ())


def _comment(tokens: Tokens) -> CommentOn | None:
    """The rest of COMMENT ON a table or column; None where it is on something else, or is not understood: that changes no
    column. An empty text is None in it."""
    on_column = tokens.take("COLUMN")
    if not on_column and not tokens.take("TABLE"):
        return None
    try:
        names = [tokens.name()]
        while tokens.take("."):
            names.append(tokens.name())
        tokens.expect("IS")
        text = tokens.text()
    except Unknown:
        return None
    column = names.pop() if on_column else None
    if len(names) not in (1, 2):
        return None
    schema = names[0] if len(names) > 1 else None
    return CommentOn(TableName(schema, names[-1]), column, text or None)


def _index(tokens: Tokens) -> IndexChange | None:
    """The rest of DROP INDEX or ALTER INDEX; None where that changes no name, or is not understood: no table is changed by it."""
    dropped = tokens.items[0] == ("word", "DROP")
    try:
        tokens.take("IF", "EXISTS")
        name = tokens.table_name()
        if dropped:
            return IndexChange(name.schema, name.table)
        return IndexChange(name.schema, name.table, tokens.name()) if tokens.take("RENAME", "TO") else None
    except Unknown:
        return None


@dataclass(slots=True)
class _Altered:
    """What the clauses of one ALTER TABLE were found to change, as far as they are read."""

    changes: list[Change] = field(default_factory=list)
    effect: Effect = Effect.NOTHING
    parts: OfParts = NO_PARTS


def _alter(tokens: Tokens, name: TableName) -> Statement:
    found = _Altered()
    try:
        while tokens.peek()[0] != "end":
            if tokens.take("RENAME", "TO"):
                return RenameTable(name, tokens.name())
            _clause(tokens, found)
    except Unknown as unknown:
        return Unclear(name, str(unknown), *_of_rows(found.effect))
    loses, moves = _of_rows(found.effect)
    return AlterTable(name, tuple(found.changes), loses, moves, Effect.PARTS in found.effect, found.parts)


def _of_rows(effect: Effect) -> tuple[bool, bool]:
    return Effect.GONE in effect, Effect.MOVED in effect


def _clause(tokens: Tokens, found: _Altered) -> None:
    """Read one clause, and note what it changes."""
    words = tokens.words_ahead(_FAR)
    if words[0] in ("ADD", "MODIFY") and (is_column(tokens, 1) or (len(words) > 2 and words[2] in _AFTER_A_NAME)):
        begin: tuple[str, ...] = (words[0],)
        effect = Effect.COLUMNS | Effect.KEY
    elif (known := clause_of(words)) is not None:
        begin, effect = known
    else:
        raise Unknown(f"ALTER TABLE .. {tokens.peek()[1]}")
    if effect & _OF_PARTS:
        rest = tokens.words_ahead(len(tokens.items))
        found.effect |= of_parts(begin, effect, rest)
        found.parts = parts_changed(tokens, begin)
        tokens.at = len(tokens.items)  # it stands alone (ORA-14048)
    elif effect is Effect.UNKNOWN:
        _period(tokens, begin)
    elif effect is Effect.NOTHING:
        if begin in (("SET", "INTERVAL"), ("SET", "PARTITIONING")):
            found.parts = interval_set(tokens, begin)
        found.effect |= _skip_rest(tokens, begin)
    else:
        found.effect |= effect
        found.changes += _read(tokens, begin)


def _read(tokens: Tokens, begin: tuple[str, ...]) -> list[Change]:
    """The changes of a clause that begins with these words."""
    if begin in (("ADD",), ("MODIFY",)):
        tokens.at += 1
        return _add(tokens) if begin == ("ADD",) else _modify(tokens)
    if begin[-1] == "ARCHIVAL":
        tokens.at += len(begin)
        return [RowArchival(begin[0] != "NO")]
    if begin[0] in ("ENABLE", "DISABLE", "MODIFY"):
        return [_set_constraint(tokens, begin)]
    if begin[0] == "RENAME":
        tokens.at += 2
        old = tokens.name()
        tokens.expect("TO")
        return [RenameColumn(old, tokens.name()) if begin[1] == "COLUMN" else RenameConstraint(old, tokens.name())]
    if begin in (("SET", "UNUSED"), ("DROP", "COLUMN"), ("DROP", "(")):
        tokens.at += 2 if begin[0] == "SET" else 1
        return [_dropped_columns(tokens, unused=begin[0] == "SET")]
    if begin[1] in ("UNUSED", "COLUMNS"):
        _skip_rest(tokens, begin)
        return [DropUnused()]
    tokens.at += 1
    return [_drop_constraint(tokens)]


def _period(tokens: Tokens, begin: tuple[str, ...]) -> None:
    """Step over ADD PERIOD FOR name (start, end), which adds no stored column."""
    tokens.at += len(begin)
    tokens.name()
    if tokens.word() != "(":
        raise Unknown("a period whose columns Oracle makes")
    tokens.skip_balanced()


def _skip_rest(tokens: Tokens, begin: tuple[str, ...]) -> Effect:
    """Step over a clause that changes nothing, and return what the one that may follow changes: NOLOGGING MOVE."""
    effect = Effect.NOTHING
    tokens.at += len(begin) - (begin[-1] == "(")
    if begin == ("ILM",):
        tokens.take("ADD")
    while tokens.peek()[0] != "end":
        if tokens.word() in ("ADD", "DROP", "MODIFY", "RENAME"):
            raise Unknown(f"{tokens.word()} after another clause")
        if tokens.word() in ("MOVE", "SHRINK") and tokens.items[tokens.at - 1][1] not in ("TABLESPACE", "ARCHIVE"):
            effect = Effect.MOVED
        tokens.skip_balanced()
    return effect


def _add(tokens: Tokens) -> list[Change]:
    tokens.take("COLUMN")
    changes: list[Change] = []
    listed = tokens.take("(")
    while True:
        if is_constraint(tokens):
            changes += _out_of_line(tokens)
        else:
            changes += _added(defined_column(tokens))
        if not tokens.take(",") and not (not listed and tokens.word() == "CONSTRAINT"):
            break
        tokens.take("ADD")
    if listed:
        tokens.expect(")")
    # LOB (..) STORE AS .., and the storage of partitions.
    while not tokens.at_clause():
        tokens.skip_balanced()
    return changes


def _out_of_line(tokens: Tokens) -> list[Change]:
    if tokens.word() == "PERIOD":
        _period(tokens, ("PERIOD", "FOR"))
        return []
    key = table_constraint(tokens)
    return [AddKey(key)] if key else []


def _added(found: Defined) -> list[Change]:
    found.require_type()
    if found.is_virtual:
        return []
    return [AddColumns((found.column,)), *_constraints(found)]


def _constraints(found: Defined) -> list[Change]:
    """The constraints that are declared with a column, in the order of time: a domain's are those of the dictionary."""
    unsaid = [NullUnsaid(found.name)] if found.has_domain else []
    return [*unsaid, *map(AddNotNull, found.not_nulls), *map(AddKey, found.keys)]


def _modify(tokens: Tokens) -> list[Change]:
    changes: list[Change] = []
    listed = tokens.take("(")
    start = tokens.at
    while True:
        changes += _modified(defined_column(tokens))
        if not (listed and tokens.take(",")):
            break
    if listed:
        names = [name for kind, name in tokens.items[start : tokens.at] if kind in ("word", "quoted")]
        tokens.expect(")")
        if tokens.word() in ("ADD", "DROP") and tokens.peek(1)[1] == "DOMAIN" and not is_column(tokens, 1):
            return _domain(tokens, names)
        while not tokens.at_clause():
            tokens.skip_balanced()
    return changes


def _modified(found: Defined) -> list[Change]:
    if found.is_virtual:
        return []
    changes: list[Change] = [DropIdentity(found.name)] if found.loses_identity else []
    if found.type_given or found.nulled or found.default_given:
        changes.append(ModifyColumn(found.column, found.type_given, found.nulled, found.default_given))
    if found.default_given and not found.loses_identity:
        changes.append(NullUnsaid(found.name, on_null=True))
    return [*changes, *_constraints(found)]


def _domain(tokens: Tokens, names: list[str]) -> list[Change]:
    """The rest of MODIFY (column, ..) ADD DOMAIN name, or DROP DOMAIN."""
    if tokens.name() == "ADD":
        tokens.expect("DOMAIN")
        tokens.table_name()
    else:
        tokens.expect("DOMAIN")
        tokens.take("PRESERVE", "CONSTRAINTS")
    return [NullUnsaid(name) for name in names]


def _set_constraint(tokens: Tokens, begin: tuple[str, ...]) -> SetConstraint:
    """The rest of ENABLE, DISABLE or MODIFY of a constraint, from its first word on."""
    state = State()
    while tokens.word() != begin[-1] and (begin[-1] != "KEY" or tokens.word() != "PRIMARY"):
        if tokens.take("MODIFY"):
            continue
        take_state(tokens, state)
    meant = Meant(*constraint_meant(tokens))
    keeps = False
    while not tokens.at_clause() or tokens.take("DROP", "INDEX"):
        if tokens.ends_item():
            break
        if tokens.take("KEEP", "INDEX"):
            keeps = True
        else:
            _state_after(tokens, state)
    return SetConstraint(meant, state.enabled, state.validated, keeps)


def _state_after(tokens: Tokens, state: State) -> None:
    if tokens.take("CASCADE"):
        return
    if not at_state(tokens):
        raise Unknown(f"{tokens.peek()[1]} after a constraint")
    take_state(tokens, state)


def _drop_constraint(tokens: Tokens) -> DropConstraint:
    meant = Meant(*constraint_meant(tokens))
    keeps = False
    while tokens.take("CASCADE") or tokens.take("DROP", "INDEX") or tokens.word() in ("KEEP", "ONLINE"):
        if tokens.take("KEEP", "INDEX"):
            keeps = True
        else:
            tokens.take("ONLINE")
    return DropConstraint(meant, keeps)


def _dropped_columns(tokens: Tokens, *, unused: bool) -> DropColumns:
    if tokens.take("COLUMN"):
        names: tuple[str, ...] = (tokens.name(),)
    else:
        names = tokens.names_in_parentheses()
    while tokens.word() in ("CASCADE", "CONSTRAINTS", "INVALIDATE", "ONLINE"):
        tokens.at += 1
    if tokens.take("CHECKPOINT") and tokens.peek()[0] == "number":
        tokens.at += 1
    return DropColumns(names, unused)
