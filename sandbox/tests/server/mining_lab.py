"""A schema LAB whose changes are made through python-oracledb and mined back, for tests of row forms."""

from __future__ import annotations

from typing import Any

import oracledb
from tests.fixtures.fix_sandbox import SandboxProcess

NLS = (
    "alter session set nls_date_format='YYYY-MM-DD HH24:MI:SS' nls_timestamp_format='YYYY-MM-DD HH24:MI:SS.FF9' "
    "nls_timestamp_tz_format='YYYY-MM-DD HH24:MI:SS.FF9 TZH:TZM' nls_numeric_characters='.,' time_zone='00:00'"
)
PLACEHOLDER = "A" * 18
ROWS = "operation_code in (1, 2, 3, 9, 10, 11, 29, 68, 70, 71, 91, 92, 93, 255)"


def add_all_logs(cursor: oracledb.Cursor, since: int = 0) -> list[str]:
    """A new list of all logs of the present incarnation that reach beyond an SCN; their names."""
    cursor.execute(
        "select max(a.name) from v$archived_log a, v$database d where a.resetlogs_change# = d.resetlogs_change# and a.status = 'A'"
        " and a.next_change# > :1 group by a.thread#, a.sequence#"
        " union all select min(f.member) from v$log l, v$logfile f where l.group# = f.group# and l.status = 'CURRENT'"
        " group by l.group#",
        [since],
    )
    names = [name for (name,) in cursor.fetchall()]
    for at, name in enumerate(names):
        cursor.execute("begin sys.dbms_logmnr.add_logfile(:1, :2); end;", [name, 3 if at else 1])
    return names


def start_mining(cursor: oracledb.Cursor, options: str = "", **scns: int) -> None:
    """START_LOGMNR with the online catalog. `scns`: startscn, endscn."""
    given = "".join(f"{name} => '{scn}', " for name, scn in scns.items())
    wanted = f"dbms_logmnr.dict_from_online_catalog{options}"
    cursor.execute(f"begin sys.dbms_logmnr.start_logmnr({given}options => {wanted}); end;")


class Lab:
    """One session that changes tables, one that mines from a mark on."""

    def __init__(self, sandbox: SandboxProcess, user: str = "lab") -> None:
        self.sandbox, self.user = sandbox, user
        self.connection = sandbox.connect(user, user)
        self.cursor = self.connection.cursor()
        self._miner = sandbox.connect("c##minercdc", "minercdc", sandbox.root_service)
        self.mining = self._miner.cursor()
        self.mining.execute(NLS)
        self._begun = 0

    def mark(self) -> int:
        """Mine from here on."""
        (self._begun,) = self.mining.execute("select current_scn from v$database").fetchone()
        return self._begun

    def run(self, *statements: str) -> None:
        for statement in statements:
            self.cursor.execute(statement)

    def commit(self) -> None:
        self.connection.commit()

    def start(self, *, row_ids: bool = False, options: str = "", start: int | None = None) -> None:
        """START_LOGMNR over the current log."""
        cursor = self.mining
        cursor.execute("select f.member from v$log l, v$logfile f where l.group# = f.group# and l.status = 'CURRENT'")
        ((name,),) = cursor.fetchall()
        cursor.execute("begin dbms_logmnr.add_logfile(:1, dbms_logmnr.new); end;", [name])
        wanted = "dbms_logmnr.dict_from_online_catalog" + ("" if row_ids else " + dbms_logmnr.no_rowid_in_stmt") + options
        begin = self._begun if start is None else start
        cursor.execute(f"begin dbms_logmnr.start_logmnr(startscn => {begin}, options => {wanted}); end;")

    def mined(self, columns: str, where: str = ROWS, **how: Any) -> list[tuple[Any, ...]]:
        """Rows of V$LOGMNR_CONTENTS of the schema."""
        self.start(**how)
        sql = f"select {columns} from v$logmnr_contents where ({where}) and (seg_owner = '{self.user.upper()}' or seg_owner is null)"
        rows: list[tuple[Any, ...]] = self.mining.execute(sql).fetchall()
        return rows

    def redo(self, where: str = ROWS, **how: Any) -> list[str | None]:
        """SQL_REDO with its pieces joined."""
        found: list[str | None] = []
        whole = True
        for text, csf in self.mined("sql_redo, csf", where, **how):
            if whole:
                found.append(text)
            else:
                found[-1] = (found[-1] or "") + text
            whole = csf == 0
        return found

    def drop_tables(self) -> None:
        self.connection.rollback()
        for (name,) in self.cursor.execute("select table_name from user_tables").fetchall():
            self.run(f'drop table "{name}" purge')

    def close(self) -> None:
        self.connection.close()
        self._miner.close()


def opened(sandbox: SandboxProcess) -> Lab:
    """A lab on a sandbox that has no user LAB yet."""
    sandbox.create_user("lab")
    return Lab(sandbox)


def errors_of(connection: oracledb.Connection, sql: str, binds: list[Any] | None = None) -> str:
    """The text of the error that a statement must raise."""
    try:
        with connection.cursor() as cursor:
            cursor.execute(sql, binds or [])
    except oracledb.Error as error:
        return str(error)
    raise AssertionError(f"no error: {sql}")
