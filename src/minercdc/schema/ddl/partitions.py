"""Reads what the text of a DDL says of partitions: which it makes, with which table it exchanges one, and what makes more of them."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from minercdc.schema.ddl.statements import OfParts
from minercdc.schema.ddl.tokens import Tokens, Unknown

_PARTS: Final = frozenset(["PARTITION", "SUBPARTITION"])
_NO_NAMES: Final = frozenset(
    ["VALUES", "TABLESPACE", "LOB", "STORE", "UPDATE", "PARALLEL", "NOPARALLEL", "INTERNAL", "EXTERNAL"]
)


def parts_changed(tokens: Tokens, begin: tuple[str, ...]) -> OfParts:
    """What a clause of partitions says, from its first word, at which the cursor stands and stays. Raises Unknown for an EXCHANGE that
    names no table.

    :param begin: its first words, as `alter_clauses.clause_of` gives them.
    """
    exchanged = None
    start, end = tokens.at, len(tokens.items)
    if begin[0] == "EXCHANGE":
        try:
            while not tokens.take("WITH", "TABLE"):
                tokens.skip_balanced()
            exchanged = tokens.table_name()
        except Unknown:
            raise Unknown("EXCHANGE without a table") from None
        finally:
            at, tokens.at = tokens.at, start
        cascades = end > at and tokens.items[-1] == ("word", "CASCADE")
    elif begin[0] == "TRUNCATE":
        # A partition may have this name.
        cascades = end - start > len(begin) + 1 and tokens.items[-1] == ("word", "CASCADE")
        cascades = cascades and tokens.items[-2] != ("other", ",")
    else:
        cascades = False
    source = source_of_parts(tokens) if begin[:3] == ("MODIFY", "PARTITION", "BY") else ""
    return OfParts(_made(tokens, begin), exchanged, cascades, source)


def interval_set(tokens: Tokens, begin: tuple[str, ...]) -> OfParts:
    """What SET INTERVAL or SET PARTITIONING says, from its first word; the cursor stays."""
    after = tokens.peek(len(begin))[1], tokens.peek(len(begin) + 1)[1]
    makes = after != ("(", ")") if begin[1] == "INTERVAL" else after[0] == "AUTOMATIC"
    return OfParts((), source="ROWS" if makes else "DDL")


def source_of_parts(tokens: Tokens) -> str:
    """What makes the partitions of the table that the statement makes or partitions: `TableSchema.parts_from`. The cursor stays."""
    source, depth, items = "DDL", 0, tokens.items
    for place, item in enumerate(items):
        depth += (item == ("other", "(")) - (item == ("other", ")"))
        following = items[place + 1][1] if place + 1 < len(items) else ""
        if depth or item[0] != "word":
            continue
        if item[1] == "BY" and following == "REFERENCE":
            return "PARENT"
        if item[1] == "AUTOMATIC" or (item[1] == "INTERVAL" and following == "("):
            source = "ROWS"
    return source


def _made(tokens: Tokens, begin: tuple[str, ...]) -> tuple[str, ...] | None:
    """Names of the partitions that a clause makes; None where it does not name them all."""
    items = tokens.items[tokens.at :]
    if begin[0] in ("SPLIT", "MERGE"):
        if ("word", "INTO") not in items:
            return None
        names = list(_named(items[items.index(("word", "INTO")) :]))
    elif begin[0] == "ADD":
        names = list(_named(items))
    elif begin[-1] in ("BY", "NONPARTITIONED"):
        return None
    elif begin[0] == "MODIFY":
        added = [place for place, item in enumerate(items) if item == ("word", "ADD")]
        if not added or items[added[-1] + 1 :][:1] == [("word", "VALUES")]:
            return ()
        names = list(_named(items[added[-1] :]))
    else:
        return ()
    return tuple(name for name in names if name) if names and all(names) else None


def _named(items: list[tuple[str, str]]) -> Iterator[str]:
    """The name after each PARTITION or SUBPARTITION; '' where none follows."""
    for place, (kind, text) in enumerate(items):
        if kind != "word" or text not in _PARTS:
            continue
        following = items[place + 1] if place + 1 < len(items) else ("end", "")
        if following[0] == "quoted" or (following[0] == "word" and following[1] not in _NO_NAMES | _PARTS):
            yield following[1]
        else:
            yield ""
