"""Reads the query of CREATE TABLE .. AS, as far as it says the columns of the table.

    SELECT item, .. FROM source, ..     source: a table, a query in parentheses or of WITH, a join of these

Of conditions, groups and orders nothing is read but where they end. Where the text does not say which columns there are, `Unknown` is raised.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Final, TypeAlias

from minercdc.schema.ddl.statements import Query, Selected, TableName
from minercdc.schema.ddl.tokens import Tokens, Unknown

_Source: TypeAlias = TableName | Query | None  # None: its columns are not in the text
_Named: TypeAlias = dict[str, Query | None]

_SETS: Final = frozenset(["UNION", "INTERSECT", "MINUS", "EXCEPT"])
_AFTER_FROM: Final = frozenset(
    """WHERE START CONNECT GROUP HAVING MODEL WINDOW QUALIFY ORDER OFFSET FETCH FOR""".split()  # noqa: SIM905
).union(_SETS)
_JOIN: Final = frozenset("NATURAL INNER LEFT RIGHT FULL OUTER CROSS JOIN".split())  # noqa: SIM905
# What may follow a source, and is no alias.
_AFTER_SOURCE: Final = _AFTER_FROM | _JOIN | frozenset(["ON", "USING", "APPLY", "PARTITION", "SUBPARTITION", "SAMPLE"])
_RESHAPING: Final = ("PIVOT", "UNPIVOT", "MATCH_RECOGNIZE")
_COMBINING: Final = _SETS | {"GROUP", "CONNECT", "MODEL"}
_NO_NAMES: Final = frozenset(["END", "NULL"])


def query_of(tokens: Tokens) -> Query:
    """Read a query up to its end, which is that of the text, or of its parenthesis. Raises Unknown where the text does not say its
    columns."""
    return _query(tokens, {})


@dataclass(slots=True)
class _From:
    """The sources of one SELECT, with the names they go by.

    :ivar merges: a join has common columns once (USING, NATURAL).
    """

    sources: list[tuple[str, _Source]] = field(default_factory=list)
    merges: bool = False

    def expanded(self, name: str = "") -> list[Selected]:
        """What `*` means, or `name.*`."""
        found = [source for alias, source in self.sources if name in ("", alias)]
        if not found or any(source is None for source in found) or (self.merges and not name):
            raise Unknown("CREATE TABLE AS SELECT of all columns of what is no table")
        items: list[Selected] = []
        for source in found:
            items += source.items if isinstance(source, Query) else [Selected("", source)]
        return items

    def origin(self, parts: list[str]) -> tuple[TableName | None, str]:
        """Table and column that `column`, `table.column` or `schema.table.column` refers to, as far as the text says that."""
        *qualifier, column = parts
        found = [source for alias, source in self.sources if not qualifier or alias == qualifier[-1]]
        if len(found) != 1:
            return None, ""
        if isinstance(found[0], TableName):
            return found[0], column
        inner = [item for item in found[0].items if item.name == column] if found[0] is not None else []
        return (inner[0].table, inner[0].column) if len(inner) == 1 else (None, "")


def _query(tokens: Tokens, named: _Named) -> Query:
    """One query, with all that set operators join to it; the names of its columns are those of its first SELECT."""
    if tokens.word() == "WITH":
        named = {**named, **_with(tokens, named)}
    if tokens.take("("):
        found = _query(tokens, named)
        tokens.expect(")")
    else:
        found = _select(tokens, named)
    combines = False
    while not (tokens.peek()[0] == "end" or tokens.word() == ")"):
        combines = combines or tokens.word() in _COMBINING
        tokens.skip_balanced()
    return found._replace(is_plain=False) if combines else found


def _with(tokens: Tokens, named: _Named) -> _Named:
    """The queries of WITH, by their names; None for one whose columns are not in its text."""
    tokens.expect("WITH")
    found: _Named = {}
    while True:
        if tokens.word() in ("FUNCTION", "PROCEDURE"):
            raise Unknown("CREATE TABLE AS WITH a function")
        name = tokens.name()
        columns = tokens.names_in_parentheses() if tokens.word() == "(" else ()
        tokens.expect("AS", "(")
        start = tokens.at
        try:
            query = _query(tokens, {**named, **found})
            if columns and len(columns) == len(query.items) and not any(item.is_star for item in query.items):
                items = tuple(item._replace(name=new) for item, new in zip(query.items, columns, strict=True))
                query = query._replace(items=items)
            elif columns:
                query = Query(tuple(map(Selected, columns)), False)
            found[name] = query
        except Unknown:
            tokens.at = start
            while tokens.word() != ")":
                tokens.skip_balanced()
            found[name] = Query(tuple(map(Selected, columns)), False) if columns else None
        tokens.expect(")")
        while not (tokens.word() in (",", "SELECT", "(") or tokens.peek()[0] == "end"):  # SEARCH, CYCLE
            tokens.skip_balanced()
        if not tokens.take(","):
            return found


def _select(tokens: Tokens, named: _Named) -> Query:
    tokens.expect("SELECT")
    combines = tokens.take("DISTINCT") or tokens.take("UNIQUE")
    tokens.take("ALL")
    items = [_item(tokens)]
    while tokens.take(","):
        items.append(_item(tokens))
    found = _From()
    if tokens.take("FROM"):
        start = tokens.at
        try:
            _sources(tokens, found, named)
        except Unknown:
            if any(item[-1:] == [("other", "*")] for item in items):
                raise
            tokens.at, found = start, _From()
    selected: list[Selected] = []
    for item in items:
        selected += _selected(item, found)
    combines = combines or len(found.sources) != 1
    inner = found.sources[0][1] if len(found.sources) == 1 else None
    return Query(tuple(selected), not combines and not (isinstance(inner, Query) and not inner.is_plain))


def _item(tokens: Tokens) -> list[tuple[str, str]]:
    """Step over one item of SELECT, up to the comma or FROM after it, and return its tokens."""
    start = tokens.at
    while not (tokens.ends_item() or tokens.word() == "FROM"):
        tokens.skip_balanced()
    return tokens.items[start : tokens.at]


def _selected(item: list[tuple[str, str]], found: _From) -> list[Selected]:
    """The columns that an item of SELECT makes."""
    if item[-1:] == [("other", "*")]:
        return found.expanded(item[-3][1] if len(item) > 2 else "")
    if not item:
        raise Unknown("SELECT of nothing")
    if item[-1][0] not in ("word", "quoted") or item[-1] in {("word", word) for word in _NO_NAMES}:
        return [Selected("")]
    parts = [item[0][1]]
    at = 1
    while item[at : at + 1] == [("other", ".")] and len(item) > at + 1:
        parts.append(item[at + 1][1])
        at += 2
    rest = item[at:]
    is_reference = item[0][0] in ("word", "quoted") and (len(rest) < 2 or (len(rest) == 2 and rest[0] == ("word", "AS")))
    return [Selected(item[-1][1], *(found.origin(parts) if is_reference else (None, "")))]


def _sources(tokens: Tokens, found: _From, named: _Named) -> None:
    """Read what follows FROM, up to the clause after it."""
    while True:
        _source(tokens, found, named)
        while not (tokens.take(",") or _joins(tokens, found)):
            if tokens.peek()[0] == "end" or tokens.word() == ")" or tokens.word() in _AFTER_FROM:
                return
            tokens.skip_balanced()  # ON (..), and what is no join


def _joins(tokens: Tokens, found: _From) -> bool:
    """Step over the words of a join, or USING (..); whether a source follows them."""
    if tokens.take("USING"):
        found.merges = True
        return False
    if tokens.word() not in _JOIN:
        return False
    found.merges = found.merges or tokens.word() == "NATURAL"
    while tokens.word() in _JOIN or tokens.word() == "APPLY":
        if tokens.take("JOIN") or tokens.take("APPLY"):
            return True
        tokens.at += 1
    return False


def _source(tokens: Tokens, found: _From, named: _Named) -> None:
    """Read one source with its alias."""
    source: _Source = None
    alias = ""
    tokens.take("LATERAL")
    if tokens.word() == "(" and tokens.peek(1)[1] in ("SELECT", "WITH", "("):
        tokens.take("(")
        source = _query(tokens, named)
        tokens.expect(")")
    elif tokens.take("("):  # a join in parentheses
        _sources(tokens, found, named)
        tokens.expect(")")
        return
    else:
        is_only = tokens.take("ONLY")
        name = tokens.table_name()
        alias = name.table
        if not is_only and tokens.word() not in ("(", "@"):
            source = named[name.table] if name.schema is None and name.table in named else name
        if tokens.take("@"):
            tokens.skip_balanced()
            while tokens.take("."):
                tokens.skip_balanced()
        elif tokens.word() == "(":  # a function
            tokens.skip_balanced()
    source = _after_source(tokens, source)
    tokens.take("AS")
    kind, text = tokens.peek()
    if kind == "quoted" or (kind == "word" and text not in _AFTER_SOURCE):
        alias = tokens.name()
    found.sources.append((alias, source))


def _after_source(tokens: Tokens, source: _Source) -> _Source:
    """Step over what may stand between a source and its alias; the source after that."""
    while True:
        if tokens.take("AS", "OF"):
            tokens.skip_balanced()  # SCN, TIMESTAMP, PERIOD FOR
            while not (_ends_time(tokens) or tokens.ends_item()):
                tokens.skip_balanced()
        elif tokens.word() in ("PARTITION", "SUBPARTITION", "SAMPLE"):
            tokens.at += 1
            tokens.take("BLOCK")
            tokens.take("FOR")
            tokens.skip_balanced()
            if tokens.take("SEED"):
                tokens.skip_balanced()
        elif tokens.word() in _RESHAPING and tokens.peek(1)[1] in ("(", "XML", "INCLUDE", "EXCLUDE"):
            tokens.at += 1
            while tokens.word() != "(":
                tokens.skip_balanced()
            tokens.skip_balanced()
            source = None
        else:
            return source


def _ends_time(tokens: Tokens) -> bool:
    """Whether the expression after AS OF may end before the next token."""
    return tokens.word() in _AFTER_SOURCE
