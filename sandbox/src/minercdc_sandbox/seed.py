"""Seed scripts: files in the form of SQL*Plus scripts, run before clients may connect.

    -- a comment
    connect app/app@orclpdb1
    create table item (id number primary key);      a statement ends at the ; that ends a line
    begin
      null;
    end;
    /                                                a block ends at a line with / alone

A script begins connected as SYSTEM to the first PDB service, and commits before each CONNECT and at its end.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

from minercdc_sandbox.interfaces import Database, OraError, Session

_CONNECT = re.compile(
    r'conn(?:ect)?\s+("?[^/\s"]+"?)/("[^"]*"|[^@\s;]+)(?:@(?:.*/)?([\w$#.]+))?(?:\s+as\s+sysdba)?\s*;?\s*$', re.I
)
_BLOCK = re.compile(r"(begin|declare|create\s+(or\s+replace\s+)?(trigger|procedure|function|package|type)\b)", re.I)
_IGNORED = re.compile(r"(set|prompt|whenever|spool|exit|quit|rem)\b", re.I)
_QUOTED = re.compile(r"'(?:[^']|'')*'|--[^\n]*|/\*.*?\*/", re.S)


class SeedError(Exception):
    """A seed script cannot be read or one of its statements failed; the text names the file, and the line and Oracle's error."""


class ScriptStatement(NamedTuple):
    """A statement of a script, without its end mark, and the 1-based line it begins on."""

    line: int
    text: str


def statements(script: str) -> Iterator[ScriptStatement]:
    """The statements of a script in order, without their end marks; a CONNECT line is a statement. Left out are the SQL*Plus
    commands SET, PROMPT, WHENEVER, SPOOL, EXIT, QUIT and REM, which do nothing. What follows the last end mark is a statement,
    too."""
    pending: list[str] = []
    start = 0
    for number, line in enumerate(script.splitlines(), 1):
        stripped = line.strip()
        if not pending:
            if not stripped or stripped.startswith("--") or stripped == "/":
                continue
            if _IGNORED.match(stripped) and not re.match(r"set\s+(transaction|role|constraint)", stripped, re.I):
                continue
            start = number
        if stripped == "/" or (not pending and _CONNECT.match(stripped)):
            text = "\n".join(pending) if stripped == "/" else stripped
            pending = []
            yield ScriptStatement(start, text)
            continue
        pending.append(line)
        text = "\n".join(pending)
        if not _BLOCK.match(text.lstrip()) and _ends(text):
            pending = []
            yield ScriptStatement(start, text.rstrip()[:-1])
    if any(line.strip() for line in pending):
        text = "\n".join(pending).rstrip()
        yield ScriptStatement(start, text if _BLOCK.match(text.lstrip()) else text.removesuffix(";"))


def _ends(text: str) -> bool:
    """Whether the text ends with a ; outside quotes and comments."""
    bare = _QUOTED.sub(lambda match: "x" if match[0].startswith("'") else "", text)
    return bare.rstrip().endswith(";") and text.rstrip().endswith(";") and bare.count("'") == 0


def run_script(database: Database, path: Path, service: str) -> None:
    """Run one script in a new session, first connected as SYSTEM to `service`, each CONNECT in another, and commit. Statements
    that ran before one that fails stay done as far as they were committed.

    :raises SeedError: the file cannot be read, or a statement or the COMMIT at the end failed, with file, line and Oracle's
        error.
    :raises OraError: SYSTEM cannot connect to `service`, which the database does not know, for example.
    """
    try:
        script = path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise SeedError(f"seed {path}: {error}") from None
    session = database.open_session("SYSTEM", service, {"program": "seed"})
    statement = ScriptStatement(1, "")
    try:
        for statement in statements(script):
            session = _run(database, session, statement.text, service)
        session.commit()
    except OraError as error:
        raise SeedError(f"{path}:{statement.line}: {error}") from None
    finally:
        session.close()


def _run(database: Database, session: Session, text: str, service: str) -> Session:
    connect = _CONNECT.match(text)
    if connect is None:
        session.execute(text)
        return session
    name, password = (part.strip('"') for part in (connect[1], connect[2]))
    user = name if connect[1].startswith('"') else name.upper()
    if database.password_of(user, (connect[3] or service).upper()) != password:
        raise OraError(1017, "invalid credential or not authorized; logon denied")
    session.commit()
    fresh = database.open_session(user, (connect[3] or service).upper(), {"program": "seed"})
    session.close()
    return fresh
