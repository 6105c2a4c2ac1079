"""Reads constraints in DDL text, as far as they say what identifies a row, or what is NOT NULL."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from minercdc.schema.ddl.tokens import Tokens, Unknown
from minercdc.schema.table import Key, NotNull

_KINDS: Final = ("PRIMARY", "UNIQUE", "FOREIGN", "CHECK")
_STATES: Final = frozenset(
    """ENABLE DISABLE VALIDATE NOVALIDATE RELY NORELY INITIALLY IMMEDIATE DEFERRED DEFERRABLE NOT EXCEPTIONS USING CASCADE PRECHECK
    NOPRECHECK KEEP""".split()  # noqa: SIM905
)


@dataclass(slots=True)
class State:
    """State of a constraint; None: not said.

    :ivar deferrable: it may be violated within a transaction, so Oracle calls its columns nullable.
    """

    enabled: bool | None = None
    validated: bool | None = None
    deferrable: bool = False

    @property
    def of_new(self) -> tuple[bool, bool]:
        """(Enabled, validated) of a constraint that is made: ENABLE VALIDATE unless it is said, DISABLE alone is NOVALIDATE."""
        enabled = self.enabled is not False
        return enabled, enabled if self.validated is None else self.validated

    def key(self, kind: str, columns: tuple[str, ...], name: str) -> Key:
        """The key of this state."""
        return Key(kind, columns, name, *self.of_new, deferrable=self.deferrable)

    def not_null(self, column: str, name: str) -> NotNull:
        """The NOT NULL constraint of this state."""
        return NotNull(column, name, *self.of_new, self.deferrable)


def begins_constraint(tokens: Tokens) -> bool:
    """Whether an out-of-line constraint comes next, and not a column of that name; the cursor stays."""
    words = tokens.words_ahead(4)
    first, second, third = (*words, "", "", "")[:3]
    match first:
        case "CONSTRAINT":
            return third in _KINDS and second not in (
                "DATE",
                "NUMBER",
                "FLOAT",
                "INTEGER",
                "SMALLINT",
                "LONG",
                "RAW",
                "CHAR",
            )
        case "PRIMARY" | "FOREIGN":
            return second == "KEY"
        case "UNIQUE" | "CHECK" | "REF":
            return second == "("
        case "SCOPE":
            return second == "FOR"
        case "SUPPLEMENTAL":
            return second == "LOG"
        case "PERIOD":
            return second == "FOR"
        case "DOMAIN":  # of several columns
            return tokens.peek(2) == ("other", "(") and tokens.peek(3)[0] in ("word", "quoted")
    return False


def table_constraint(tokens: Tokens) -> Key | None:
    """Step over an out-of-line constraint, or what stands in its place: a primary key or unique constraint, None for any other.
    Raises Unknown for text that is no constraint's."""
    name = tokens.name() if tokens.take("CONSTRAINT") else ""
    kind = "P" if tokens.take("PRIMARY", "KEY") else "U" if tokens.take("UNIQUE") else ""
    columns = tokens.names_in_parentheses() if kind else ()
    state = State()
    while not (tokens.ends_item() or tokens.at_clause()):
        if kind and at_state(tokens):
            take_state(tokens, state)
        else:
            tokens.skip_balanced()
    return state.key(kind, columns, name) if kind else None


def at_state(tokens: Tokens) -> bool:
    """Whether a part of a constraint's state comes next; the cursor stays."""
    if tokens.word() == "NOT":
        return tokens.peek(1) == ("word", "DEFERRABLE")
    return tokens.word() in _STATES and not tokens.at_clause()


def take_state(tokens: Tokens, state: State) -> None:
    """Step over one part of a constraint's state, and note it. Raises Unknown when the text ends early."""
    word = tokens.name()
    if word in ("ENABLE", "DISABLE"):
        state.enabled = word == "ENABLE"
    elif word in ("VALIDATE", "NOVALIDATE"):
        state.validated = word == "VALIDATE"
    elif word == "DEFERRABLE":
        state.deferrable = True
    elif word == "NOT":
        tokens.expect("DEFERRABLE")
    elif word == "EXCEPTIONS":
        tokens.expect("INTO")
        tokens.table_name()
    elif word == "USING":
        tokens.expect("INDEX")
        # What may follow is an index's name, a whole CREATE INDEX in parentheses, or any of its attributes.
        while not (tokens.ends_item() or tokens.at_clause() or at_state(tokens) or _at_further(tokens)):
            if tokens.take("TABLESPACE"):
                tokens.name()
            else:
                tokens.skip_balanced()


def _at_further(tokens: Tokens) -> bool:
    """Whether a further constraint of the column comes next, which no index has as an attribute."""
    word, following = tokens.word(), tokens.peek(1)[1]
    if word in ("NOT", "PRIMARY", "CHECK"):
        return following == {"NOT": "NULL", "PRIMARY": "KEY", "CHECK": "("}[word]
    return word in ("NULL", "CONSTRAINT", "UNIQUE", "REFERENCES")


def constraint_meant(tokens: Tokens) -> tuple[str, tuple[str, ...], str]:
    """Step over `PRIMARY KEY`, `UNIQUE (..)` or `CONSTRAINT name`: kind, columns and name as of Key; kind '' for a name alone.
    Raises Unknown for anything else."""
    if tokens.take("PRIMARY", "KEY"):
        return "P", (), ""
    if tokens.take("UNIQUE"):
        return "U", tokens.names_in_parentheses(), ""
    tokens.expect("CONSTRAINT")
    return "", (), tokens.name()


def unknown_state(tokens: Tokens) -> Unknown:
    """The error for text after a constraint that is no state."""
    return Unknown(f"{tokens.peek()[1]} after a constraint")
