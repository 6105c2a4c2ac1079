"""Where a run works: a schema, made for it or given, the names of its tables, and the sessions. It removes what it made, and what a run
that was killed has left.

    schema      MINERCDC_Q_<run> where it is made; `run` is six hexadecimal digits, chosen at random
    tables      MQ_<run>_<case>, and MQ_<run>_<case>_U
    mark        MQ_<run>_MARK: the first table that is made, and the last that is dropped. The run holds a lock on it; so a later
                run tells what was left from what is in use.

Nothing is dropped but tables of a run whose mark is there and locked by nobody, and users of that name who own nothing else.
"""

from __future__ import annotations

import logging
import re
import secrets
from collections.abc import Iterator
from contextlib import closing, contextmanager, suppress
from dataclasses import dataclass
from typing import Any, Final

import oracledb
from pydantic import SecretStr

from minercdc.config.source.database import DatabaseConfig
from minercdc.errors import ConfigError, MinerCdcError, PrerequisiteError, SourceError
from minercdc.oracle.codes import oracle_errors
from minercdc.oracle.connect import connect

_log = logging.getLogger(__name__)

USER: Final = "MINERCDC_Q_"
_TABLE: Final = "MQ_"
_RUN = re.compile(r"[0-9A-F]{6}")
_MARK_COMMENT: Final = "of a qualification by minercdc: its tables may be dropped when this one is not locked"
_TABLES_OF = "SELECT TABLE_NAME FROM ALL_TABLES WHERE OWNER = :owner AND NESTED = 'NO' AND IOT_NAME IS NULL AND TABLE_NAME LIKE :name ESCAPE '!'"
_MARKS = (
    "SELECT C.TABLE_NAME FROM ALL_TAB_COMMENTS C WHERE C.OWNER = :owner AND C.TABLE_NAME LIKE 'MQ!_%!_MARK' ESCAPE '!'"
    " AND C.COMMENTS = :text"
)
_NOT_NEW = "SELECT 1 FROM ALL_USERS WHERE USERNAME = :name AND CREATED < SYSDATE - 10 / 1440"
_NOT_THERE = 942


@dataclass(frozen=True, slots=True)
class Access:
    """Who works where.

    :param capture: as the connector logs on, which reads redo and tables.
    :param admin: who may create users, and switch logs.
    :param owner: of the schema, when it is given; its user makes tables there. None: a user is created.
    :param service: of the pluggable database, where users of it log on; '' for the name of that.
    """

    capture: DatabaseConfig
    admin: DatabaseConfig
    owner: DatabaseConfig | None
    service: str = ""


@dataclass(frozen=True, slots=True)
class Place:
    """A schema in which a run works.

    :param capture_user: who gets SELECT and FLASHBACK on its tables.
    """

    run: str
    schema: str
    owner: DatabaseConfig
    capture_user: str

    def table(self, case: int, other: bool = False) -> str:
        """The name of a case's table, or of its other one."""
        return f"{self.prefix}{case:02d}{'_U' if other else ''}"

    @property
    def prefix(self) -> str:
        """What the names of all tables of the run begin with."""
        return f"{_TABLE}{self.run}_"

    def names(self, case: int) -> dict[str, str]:
        """What `{t}` and `{u}` stand for in a case."""
        return {"t": self.table(case), "u": self.table(case, other=True)}


@contextmanager
def working_place(access: Access) -> Iterator[Place]:
    """A place of its own, which is gone after the context, with all that is in it; before, what earlier runs left is removed.

    :raises PrerequisiteError: the user may neither create users, nor was a schema given; or may not create tables in it.
    :raises SourceError, ConfigError: the database cannot be reached, or refuses.
    """
    run = secrets.token_hex(3).upper()
    if access.owner is not None:
        place = Place(run, schema_of(access.owner), access.owner, access.capture.session_user)
        remove_tables_left(access.owner)
        with _marked(place):
            yield place
        return
    remove_users_left(access)
    place = _with_new_user(access, run)
    try:
        with _marked(place):
            yield place
    finally:
        with closing(connect(access.admin)) as admin:
            _drop_user(admin, place.schema)


def schema_of(owner: DatabaseConfig) -> str:
    """The schema of a user, as the dictionary spells it."""
    name = owner.session_user
    return name.strip('"') if name.startswith('"') else name.upper()


def in_pdb(database: DatabaseConfig, user: str, password: str, service: str) -> DatabaseConfig:
    """How a user of the pluggable database logs on.

    :param service: '' for the name of the pluggable database; `database` itself where no such is named.
    :raises ConfigError: `database.url` names no service that could be replaced.
    """
    given: dict[str, Any] = {
        "database_user": user,
        "database_password": SecretStr(password),
        "minercdc_database_token_location": None,
        "database_pdb_name": None,
        "database_initial_statements": "",
    }
    target = service or (database.database_pdb_name or "").strip('"')
    if target and database.database_url:
        given["database_url"] = _with_service(database.database_url, target)
    elif target:
        given["database_dbname"] = target
    return database.model_copy(update=given)


def _with_service(url: str, service: str) -> str:
    replaced, count = re.subn(r"(?i)(SERVICE_NAME\s*=\s*)[^)\s]+", lambda found: found[1] + service, url)
    if not count:
        replaced, count = re.subn(
            r"^((?:jdbc:oracle:thin:)?@?(?:(?:tcps?:)?//)?[^/?@]+/)[^?]+", lambda found: found[1] + service, url
        )
    if not count:
        raise ConfigError(
            ["database.url: no service name that could be replaced by that of the pluggable database"],
            hint="Use database.hostname, database.port and database.dbname for this.",
        )
    return replaced


def _with_new_user(access: Access, run: str) -> Place:
    name, password = (
        f"{USER}{run}",
        f"MQq_{secrets.token_hex(10)}_#77",
    )  # of every kind of character that a profile may ask for
    owner = in_pdb(access.capture, name, password, access.service)
    with closing(connect(access.admin)) as admin:
        try:
            _run(admin, f'CREATE USER {name} IDENTIFIED BY "{password}"', "creating the schema", shown=f"CREATE USER {name}")
        except (PrerequisiteError, SourceError) as error:
            raise PrerequisiteError(
                f"no schema to work in: {error.message}",
                hint="Give a user who may create users (--admin NAME), or an empty schema that is there (--schema NAME): a DBA makes one by"
                " CREATE USER minercdc_qualify IDENTIFIED BY .. QUOTA 500M ON users; GRANT CREATE SESSION, CREATE TABLE TO minercdc_qualify;",
            ) from None
        try:
            _run(admin, f"GRANT CREATE SESSION, CREATE TABLE TO {name}", "granting to the schema")
            space = _rows(admin, "SELECT DEFAULT_TABLESPACE FROM DBA_USERS WHERE USERNAME = :name", name=name)
            tablespace = str(space[0][0]) if space else "USERS"
            _run(admin, f'ALTER USER {name} QUOTA 500M ON "{tablespace}"', "giving a quota")
            with suppress(MinerCdcError):  # only identity columns need it
                _run(admin, f"GRANT CREATE SEQUENCE TO {name}", "granting to the schema")
        except BaseException:
            _drop_user(admin, name)
            raise
    return Place(run, name, owner, access.capture.session_user)


@contextmanager
def _marked(place: Place) -> Iterator[None]:
    """Within the context the mark is there and locked; after it all tables of the run are gone."""
    with closing(connect(place.owner)) as session:
        if found := _rows(session, _TABLES_OF, owner=place.schema, name=_escaped(place.prefix)):
            raise ConfigError([f"{place.schema} has tables of that name already: {found[0][0]}"], hint="Start again.")
        mark = f"{place.prefix}MARK"
        _run(session, f"CREATE TABLE {mark} (N NUMBER(1))", "creating a table")
        try:
            _run(session, f"COMMENT ON TABLE {mark} IS '{_MARK_COMMENT}'", "marking the run")
            _run(session, f"LOCK TABLE {mark} IN EXCLUSIVE MODE NOWAIT", "locking the mark")
            yield
        finally:
            with closing(connect(place.owner)) as cleaning:
                _drop_tables(cleaning, place.schema, place.run, mark_too=False)
            session.rollback()
            _run(session, f"DROP TABLE {mark} PURGE", "removing the mark")


def remove_tables_left(owner: DatabaseConfig) -> None:
    """Drop the tables of runs that ended without doing so, in a schema that was given. Raises SourceError or PrerequisiteError."""
    schema = schema_of(owner)
    with closing(connect(owner)) as session:
        for (mark,) in _rows(session, _MARKS, owner=schema, text=_MARK_COMMENT):
            run = str(mark)[len(_TABLE) : -len("_MARK")]
            if _RUN.fullmatch(run) and _is_free(session, schema, str(mark)):
                _log.info("removing the tables that an earlier run left in %s: %s", schema, f"{_TABLE}{run}_%")
                _drop_tables(session, schema, run, mark_too=True)


def remove_users_left(access: Access) -> None:
    """Drop the users of runs that ended without doing so. One that is still connected is left to a later run; so is one that owns what no
    run makes. Raises SourceError or PrerequisiteError."""
    with closing(connect(access.admin)) as admin:
        for (name,) in _rows(admin, "SELECT USERNAME FROM ALL_USERS WHERE USERNAME LIKE 'MINERCDC!_Q!_%' ESCAPE '!'"):
            run = str(name).removeprefix(USER)
            if not _RUN.fullmatch(run) or not _is_ours(admin, str(name), run):
                continue
            _log.info("removing the schema that an earlier run left: %s", name)
            _drop_user(admin, str(name))


def _is_ours(admin: oracledb.Connection, user: str, run: str) -> bool:
    """Whether a user owns nothing but tables of the run, and nobody has the mark locked. One without a mark may be about to make it: only
    after some minutes it is nobody's."""
    own = f"{_TABLE}{run}_"
    objects = _rows(admin, "SELECT OBJECT_TYPE, OBJECT_NAME FROM ALL_OBJECTS WHERE OWNER = :owner", owner=user)
    tables = [str(name) for kind, name in objects if str(kind).startswith("TABLE")]
    if any(not name.startswith((own, "BIN$", "SYS_")) for name in tables):
        return False
    if f"{own}MARK" in tables:
        return _is_free(admin, user, f"{own}MARK")
    return bool(_rows(admin, _NOT_NEW, name=user))


def _is_free(session: oracledb.Connection, schema: str, table: str) -> bool:
    """Whether nobody has the table locked. One that may not be locked is not free."""
    try:
        _run(session, f'LOCK TABLE "{schema}"."{table}" IN EXCLUSIVE MODE NOWAIT', "looking at the mark")
    except (SourceError, PrerequisiteError):
        return False
    session.rollback()
    return True


def _drop_tables(session: oracledb.Connection, schema: str, run: str, *, mark_too: bool) -> None:
    prefix = f"{_TABLE}{run}_"
    names = [str(name) for (name,) in _rows(session, _TABLES_OF, owner=schema, name=_escaped(prefix))]
    mark = f"{prefix}MARK"
    for name in [*(name for name in names if name != mark), *([mark] if mark_too and mark in names else [])]:
        try:
            _run(session, f'DROP TABLE "{schema}"."{name}" CASCADE CONSTRAINTS PURGE', f"dropping {name}")
        except SourceError as error:
            if error.ora_code != _NOT_THERE:
                _log.warning("%s.%s could not be dropped, and is left: %s", schema, name, error.message)


def _drop_user(admin: oracledb.Connection, name: str) -> None:
    try:
        _run(admin, f"DROP USER {name} CASCADE", f"dropping {name}")
    except (SourceError, PrerequisiteError) as error:
        _log.warning("the schema %s could not be dropped, and is left to the next run: %s", name, error.message)


def _escaped(prefix: str) -> str:
    return prefix.replace("_", "!_") + "%"


def _run(session: oracledb.Connection, sql: str, doing: str, *, shown: str = "") -> None:
    with oracle_errors(f"{doing}: {shown or sql}"), session.cursor() as cursor:
        cursor.execute(sql)


def _rows(session: oracledb.Connection, sql: str, **binds: object) -> list[tuple[Any, ...]]:
    with oracle_errors("looking at what is there"), session.cursor() as cursor:
        cursor.execute(sql, binds)
        return [tuple(row) for row in cursor]
