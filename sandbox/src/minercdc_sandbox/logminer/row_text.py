"""Texts of row changes: one function per statement form, put together from its constant pieces.

    insert of ("A" NUMBER, "B" VARCHAR2)      v0 = row[0]
                                              t0 = 'NULL' if v0 is None else l0(v0)
                                              ..
                                              return f"{k0}{t0}{k1}{t1}{k2}"

The functions are compiled because they run once per mined row: there is no loop over columns left in them. Texts, with the
table's names, and literals are in the namespace of the source, not in it, so nothing of a table is ever read as code.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any, TypeAlias, cast

from minercdc_sandbox.interfaces import Cell
from minercdc_sandbox.logminer.literals import Literal, quoted

Row: TypeAlias = "tuple[Cell, ...]"
RowText: TypeAlias = "Callable[[str | None, Row, Row], str]"
"""Text made of ROWID, values by which a row is found, and new values."""

_INLINE_QUOTED = '{q} + {v} + "\'" if "\'" not in {v} else {p} + {l}({v})'


@dataclass(slots=True)
class TextTemplate:
    """A statement being put together: constant texts and values in their order, added one by one; `compiled` makes the function."""

    _pieces: list[str] = field(default_factory=list)
    _lines: list[str] = field(default_factory=list)
    _names: dict[str, Any] = field(default_factory=dict)

    def constant(self, text: str) -> None:
        """Add a text that is the same for all rows."""
        self._pieces.append(self._named("k", text))

    def value(self, row: str, at: int, literal: Literal, present: str, absent: str) -> None:
        """Add a column: `present` and its literal, or `absent` when it is NULL.

        :param row: `old`, values by which the row is found, or `new`; `at` the column's position in it.
        """
        n = len(self._lines)
        value, text = f"v{n}", f"t{n}"
        known, shown = self._named("l", literal), self._named("p", present)
        if literal is quoted:
            made = _INLINE_QUOTED.format(v=value, l=known, p=shown, q=self._named("q", f"{present}'"))
        else:
            made = f"{shown} + {known}({value})" if present else f"{known}({value})"
        self._lines.append(
            f"    {value} = {row}[{at}]\n    {text} = {self._named('n', absent)} if {value} is None else {made}\n"
        )
        self._pieces.append(text)

    def row_id(self, before: str) -> None:
        """Add `before` and a condition on the ROWID, `ROWID = '..'`."""
        self.constant(f"{before}ROWID = '")
        self._pieces.append("row_id")
        self.constant("'")

    def compiled(self) -> RowText:
        """The function that makes the text of a row; it raises as the literals. Call it once, at the end."""
        pieces = "".join(f"{{{piece}}}" for piece in self._pieces)
        source = f"def text(row_id, old, new):\n{''.join(self._lines)}    return f'{pieces}'\n"
        exec(compile(source, "<row text>", "exec"), self._names)
        return cast(RowText, self._names["text"])

    def _named(self, kind: str, thing: object) -> str:
        name = f"{kind}{len(self._names)}_"
        self._names[name] = thing
        return name


@dataclass(frozen=True, slots=True)
class Layout:
    """The fixed texts between the parts of statements.

    :param values: after the table of an INSERT that pairs columns with values; None where it lists both.
    """

    values: str | None
    set: str
    comma: str
    where: str
    delete_where: str
    and_: str


PLAIN = Layout(None, " set ", ", ", " where ", " where ", " and ")
PRETTY = Layout("\n values\n    ", "\n  set\n    ", ",\n    ", "\n  where\n    ", "\n where\n    ", " and\n    ")
"""PRINT_PRETTY_SQL: such an INSERT is not SQL any more (Database Utilities, "Formatting Reconstructed SQL Statements")."""


@dataclass(frozen=True, slots=True)
class Columns:
    """The fixed texts of the statements on a table; its methods compile a function for each form of statement, at each call.

    :param target: `"OWNER"."TABLE"`.
    :param names: in quotes, by position, as `literals`.
    :param end: the text that closes a statement; '' for none.
    :param alias: an UPDATE names its columns `a."C"`, as of tables with XMLTYPE that is not binary
        (docs/reference/logminer-facts.md#b-6-1).
    :param hidden: positions of columns that an INSERT does not show.
    """

    target: str
    names: Sequence[str]
    literals: Sequence[Literal]
    end: str
    layout: Layout = PLAIN
    alias: bool = False
    hidden: frozenset[int] = frozenset()

    def insert(self) -> RowText:
        """`insert into .. values ..` of all new values; pretty layouts pair columns with values."""
        template = TextTemplate()
        if self.layout.values is not None:
            return self._paired_insert(template, self.layout.values)
        shown = [at for at in range(len(self.names)) if at not in self.hidden]
        template.constant(f"insert into {self.target}({','.join(self.names[at] for at in shown)}) values (")
        for at in shown:
            if at != shown[0]:
                template.constant(",")
            template.value("new", at, self.literals[at], "", "NULL")
        template.constant(")" + self.end)
        return template.compiled()

    def _paired_insert(self, template: TextTemplate, values: str) -> RowText:
        template.constant(f"insert into {self.target}{values}")
        for at, literal in enumerate(self.literals):
            if at in self.hidden:
                continue
            comma = self.layout.comma if at else ""
            template.value("new", at, literal, f"{comma}{self.names[at]} = ", f"{comma}{self.names[at]} IS NULL")
        template.constant(self.end)
        return template.compiled()

    def delete(self, found_by: Sequence[int], *, row_id: bool) -> RowText:
        """`delete from .. where ..` the columns at `found_by` have their old values and, with `row_id`, the ROWID is the row's;
        without WHERE for none of these."""
        template = TextTemplate()
        template.constant(f"delete from {self.target}")
        self._where(template, found_by, row_id, self.layout.delete_where)
        return template.compiled()

    def update(self, changed: Sequence[int], found_by: Sequence[int], *, row_id: bool) -> RowText:
        """`update .. set ..` the columns at `changed` to their new values `where ..`, as `delete`."""
        template = TextTemplate()
        alias, prefix = (" a", "a.") if self.alias else ("", "")
        template.constant(f"update {self.target}{alias}{self.layout.set}")
        for n, at in enumerate(changed):
            comma = self.layout.comma if n else ""
            name = f"{comma}{prefix}{self.names[at]} = "
            template.value("new", at, self.literals[at], name, f"{name}NULL")
        self._where(template, found_by, row_id, self.layout.where, prefix)
        return template.compiled()

    def _where(self, template: TextTemplate, found_by: Sequence[int], row_id: bool, word: str, prefix: str = "") -> None:
        for at in found_by:
            name = prefix + self.names[at]
            template.value("old", at, self.literals[at], f"{word}{name} = ", f"{word}{name} IS NULL")
            word = self.layout.and_
        if row_id:
            template.row_id(word)
        template.constant(self.end)
