"""One's own changes mined back: tables rebuilt from SQL_REDO by an independent little parser equal the tables themselves."""

from __future__ import annotations

import datetime as dt
import random
import re
import threading
import zlib
from collections import defaultdict
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from decimal import Decimal
from typing import Any

import oracledb
import pytest
from sandbox.tests.server.mining_lab import add_all_logs, start_mining
from tests.fixtures.fix_sandbox import SandboxProcess

NLS = (
    "alter session set nls_date_format='YYYY-MM-DD HH24:MI:SS' nls_timestamp_format='YYYY-MM-DD HH24:MI:SS.FF9' "
    "nls_numeric_characters='.,'"
)
COLUMNS = (
    "scn, operation_code, rollback, seg_owner, table_name, row_id, xid, rs_id, ssn, csf, sql_redo, sql_undo, info, status, "
    "start_scn, commit_scn, sequence#, username, data_objv#"
)
PLACEHOLDER = "A" * 18
Row = dict[str, Any]


@pytest.fixture
def decimals(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(oracledb.defaults, "fetch_decimals", True)


@contextmanager
def mining_session(sandbox: SandboxProcess, *, nls: bool = True) -> Iterator[oracledb.Cursor]:
    with sandbox.connect("c##minercdc", "minercdc", sandbox.root_service) as connection, connection.cursor() as cursor:
        if nls:
            cursor.execute(NLS)
        yield cursor


def start(cursor: oracledb.Cursor, options: str = "", **scns: int) -> None:
    start_mining(cursor, " + dbms_logmnr.no_rowid_in_stmt" + options, **scns)


def contents(cursor: oracledb.Cursor, where: str = "1 = 1") -> list[Row]:
    cursor.execute(f"select {COLUMNS} from v$logmnr_contents where {where}")
    names = [d.name for d in cursor.description or ()]
    return [dict(zip(names, row, strict=True)) for row in cursor]


def mine(sandbox: SandboxProcess, options: str = "", where: str = "1 = 1", **scns: int) -> list[Row]:
    with mining_session(sandbox) as cursor:
        add_all_logs(cursor)
        start(cursor, options, **scns)
        return contents(cursor, where)


def current_scn(sandbox: SandboxProcess) -> int:
    with sandbox.connect() as connection, connection.cursor() as cursor:
        return int(cursor.execute("select current_scn from v$database").fetchone()[0])


@pytest.fixture
def owner(sandbox: SandboxProcess, request: pytest.FixtureRequest) -> str:
    name = f"u{zlib.crc32(request.node.name.encode())}"
    sandbox.create_user(name)
    return name


# ---- an independent reader of SQL_REDO ------------------------------------------------------------------------------------

_TOKEN = re.compile(r"\s*(\"[^\"]*\"|'(?:[^']|'')*'|[A-Za-z_]+|[(),.;=])")


def _tokens(sql: str) -> list[str]:
    found, at = [], 0
    while at < len(sql):
        match = _TOKEN.match(sql, at)
        assert match, sql[at:]
        found.append(match[1])
        at = match.end()
    return found


def _literal(tokens: list[str]) -> str | None:
    head = tokens.pop(0)
    if head == "NULL":
        return None
    if head.startswith("'"):
        return head[1:-1].replace("''", "'")
    inner = []
    assert tokens.pop(0) == "("
    while (token := tokens.pop(0)) != ")":
        inner.append(token)
    if not inner:
        return f"{head}()"
    value = inner[0][1:-1]
    return value if head in ("TO_DATE", "TO_TIMESTAMP") else f"{head}:{value}"


def _pairs(tokens: list[str], separators: Sequence[str]) -> dict[str, str | None]:
    found: dict[str, str | None] = {}
    while tokens and tokens[0].startswith('"'):
        name = tokens.pop(0)[1:-1]
        if tokens[0] == "IS":
            del tokens[:2]
            found[name] = None
        else:
            assert tokens.pop(0) == "="
            found[name] = _literal(tokens)
        if tokens and tokens[0] in separators:
            tokens.pop(0)
    return found


def read_redo(sql: str) -> tuple[str, str, dict[str, str | None], dict[str, str | None]]:
    """Verb, table, values set, values before."""
    tokens = _tokens(sql.removesuffix(";"))
    verb = tokens.pop(0)
    if verb in ("insert", "delete"):
        tokens.pop(0)
    table = tokens[2][1:-1]
    del tokens[:3]
    if verb == "insert":
        names = []
        assert tokens.pop(0) == "("
        while (token := tokens.pop(0)) != ")":
            if token != ",":
                names.append(token[1:-1])
        assert [tokens.pop(0), tokens.pop(0)] == ["values", "("]
        values = []
        for _ in names:
            values.append(_literal(tokens))
            assert tokens.pop(0) in (",", ")")
        return verb, table, dict(zip(names, values, strict=True)), {}
    new = {}
    if verb == "update":
        assert tokens.pop(0) == "set"
        new = _pairs(tokens, (",",))
    old = {}
    if tokens and tokens[0] == "where":
        tokens.pop(0)
        old = _pairs(tokens, ("and",))
    return verb, table, new, old


def committed(rows: list[Row]) -> Iterator[Row]:
    """Rows of committed transactions in commit order; undone rows taken out by ROW_ID."""
    pending: dict[bytes, list[Row]] = defaultdict(list)
    for row in rows:
        xid = row["XID"]
        if row["OPERATION_CODE"] == 7:
            yield from pending.pop(xid, [])
        elif row["OPERATION_CODE"] == 36:
            assert pending.pop(xid, []) == []
        elif row["ROLLBACK"]:
            mates = pending[xid]
            del mates[max(i for i, mate in enumerate(mates) if mate["ROW_ID"] == row["ROW_ID"])]
        elif row["OPERATION_CODE"] in (1, 2, 3):
            pending[xid].append(row)


def rebuilt(rows: list[Row], owner: str) -> dict[str, dict[str, dict[str, str | None]]]:
    """Tables by name: rows by ID, replayed from SQL_REDO; every before image must be what is there."""
    tables: dict[str, dict[str, dict[str, str | None]]] = defaultdict(dict)
    for row in committed(rows):
        if row["SEG_OWNER"] != owner.upper():
            continue
        assert row["STATUS"] == 0, row
        verb, name, new, old = read_redo(row["SQL_REDO"])
        table = tables[name]
        if verb == "insert":
            key = str(new["ID"])
            assert key not in table
            table[key] = new
            continue
        before = table.pop(str(old["ID"]))
        assert before == old, row
        if verb == "update":
            table[str(new.get("ID", old["ID"]))] = {**before, **new}
    return tables


def _shown(value: object) -> str | None:
    """A fetched value as SQL_REDO shows it."""
    if value is None:
        return None
    if isinstance(value, Decimal):
        text = format(value, "f")
        text = text.rstrip("0").rstrip(".") if "." in text else text
        return re.sub(r"^(-?)0\.", r"\1.", text)
    if isinstance(value, dt.datetime):
        return value.strftime("%Y-%m-%d %H:%M:%S") + (f".{value.microsecond:06d}000" if value.microsecond else "")
    if isinstance(value, bytes):
        return "HEXTORAW:" + value.hex()
    return str(value)


# ---- tests ---------------------------------------------------------------------------------------------------------------

MIXED = """create table {name} (id number(10) primary key, name varchar2(80), qty number(12,3), day date,
  at timestamp(6), code char(4), bytes raw(20))"""


def _mixed_work(sandbox: SandboxProcess, owner: str, seed: int, failures: list[BaseException]) -> None:
    chance = random.Random(seed)
    try:
        with sandbox.connect(owner, owner) as connection, connection.cursor() as cursor:
            ids = list(range(seed * 1000, seed * 1000 + 60))
            for step in range(25):
                for _ in range(chance.randint(1, 6)):
                    _one_change(cursor, chance, ids, step)
                if chance.random() < 0.2:
                    connection.rollback()
                elif chance.random() < 0.3:
                    cursor.execute("savepoint here")
                    _one_change(cursor, chance, ids, step)
                    cursor.execute("rollback to savepoint here")
                    connection.commit()
                else:
                    connection.commit()
    except BaseException as failure:
        failures.append(failure)


def _one_change(cursor: oracledb.Cursor, chance: random.Random, ids: list[int], step: int) -> None:
    table, key = chance.choice(("item", "part")), chance.choice(ids)
    name = chance.choice(("it's", "O'Neil''s", "a;--b", "x and \"Y\" = 'z'", "Zo\u00eb", None, f"plain {step}"))
    qty = chance.choice((None, Decimal("-42.5"), Decimal("0.05"), 7, Decimal("123456789.125")))
    day = chance.choice((None, dt.datetime(2026, 2, 28, 13, 45, 59), dt.datetime(1999, 12, 31)))
    at = chance.choice((None, dt.datetime(2025, 7, 11, 8, 9, 10, 654321)))
    values = [name, qty, day, at, chance.choice(("ab", None)), chance.choice((b"\xca\xfe", None))]
    match chance.randint(0, 3):
        case 0 | 1:
            try:
                cursor.setinputsizes(
                    None, None, oracledb.DB_TYPE_NUMBER, None, oracledb.DB_TYPE_TIMESTAMP, None, oracledb.DB_TYPE_RAW
                )
                cursor.execute(f"insert into {table} values (:1, :2, :3, :4, :5, :6, :7)", [key, *values])
            except oracledb.IntegrityError as error:
                if error.args[0].code != 1:
                    raise
        case 2:
            cursor.setinputsizes(None, oracledb.DB_TYPE_NUMBER, None)
            cursor.execute(f"update {table} set name = :1, qty = :2 where id = :3", [name, qty, key])
        case _:
            cursor.setinputsizes(None)
            cursor.execute(f"delete from {table} where id = :1", [key])


def test_ten_sessions_rebuilt_from_their_redo(sandbox: SandboxProcess, owner: str, decimals: None) -> None:
    with sandbox.connect(owner, owner) as connection, connection.cursor() as cursor:
        for name in ("item", "part"):
            cursor.execute(MIXED.format(name=name))
            cursor.execute(f"alter table {name} add supplemental log data (all) columns")
    begun = current_scn(sandbox)
    failures: list[BaseException] = []
    workers = [threading.Thread(target=_mixed_work, args=(sandbox, owner, n, failures)) for n in range(1, 11)]
    for worker in workers:
        worker.start()
    with sandbox.connect() as connection, connection.cursor() as cursor:
        cursor.execute("alter system switch logfile")
    for worker in workers:
        worker.join()
    assert [str(failure) for failure in failures] == []
    rows = mine(sandbox, startscn=begun)
    tables = rebuilt(rows, owner)
    committed_only = mine(sandbox, " + dbms_logmnr.committed_data_only", startscn=begun)
    with sandbox.connect(owner, owner) as connection, connection.cursor() as cursor:
        for name in ("item", "part"):
            cursor.execute(f"select * from {name}")
            names = [d.name for d in cursor.description or ()]
            want = {str(row[0]): dict(zip(names, map(_shown, row), strict=True)) for row in cursor}
            assert want
            assert tables[name.upper()] == want
    assert [row["ROLLBACK"] for row in rows].count(1) > 0
    changes = [(r["SCN"], r["SQL_REDO"]) for r in committed(rows)]
    assert [(r["SCN"], r["SQL_REDO"]) for r in committed_only if r["OPERATION_CODE"] in (1, 2, 3)] == changes


def test_transaction_rows_and_placeholders(sandbox: SandboxProcess, owner: str) -> None:
    with sandbox.connect(owner, owner) as connection, connection.cursor() as cursor:
        cursor.execute("create table t (id number primary key)")
        begun = current_scn(sandbox)
        cursor.execute("insert into t values (1)")
        connection.commit()
        cursor.execute("insert into t values (2)")
        connection.rollback()
    rows = mine(sandbox, startscn=begun)
    shape = [(r["OPERATION_CODE"], r["ROLLBACK"], r["SQL_REDO"], r["SEG_OWNER"] is None) for r in rows]
    target = f'"{owner.upper()}"."T"'
    assert shape == [
        (6, 0, "set transaction read write;", True),
        (1, 0, f"insert into {target}(\"ID\") values ('1');", False),
        (7, 0, "commit;", True),
        (6, 0, "set transaction read write;", True),
        (1, 0, f"insert into {target}(\"ID\") values ('2');", False),
        (2, 1, f"delete from {target} where ROWID = '{rows[4]['ROW_ID']}';", False),
        (36, 0, "rollback;", True),
    ]
    assert [r["ROW_ID"] == PLACEHOLDER for r in rows] == [True, False, True, True, False, False, True]
    assert rows[5]["SQL_UNDO"] is None
    assert [r["SEQUENCE#"] for r in rows] == [1, 2, 3, 1, 2, 3, 4]
    assert rows[2]["START_SCN"] == rows[0]["SCN"]
    assert {r["USERNAME"] for r in rows} == {owner.upper()}
    assert re.fullmatch(r" 0x[0-9a-f]{6}\.[0-9a-f]{8}\.[0-9a-f]{4} ", rows[1]["RS_ID"])


LOGGING = {
    "": ("set \"N\" = 'y' where \"N\" = 'x' and ROWID = ", "N"),
    "(primary key) columns": ("set \"N\" = 'y' where \"ID\" = '1' and \"N\" = 'x' and ROWID = ", "PK"),
    "(all) columns": ('set "N" = \'y\' where "ID" = \'1\' and "N" = \'x\' and "D" IS NULL and ROWID = ', "ALL"),
}


@pytest.mark.parametrize("logging", LOGGING)
def test_supplemental_logging_decides_the_where_clause(sandbox: SandboxProcess, owner: str, logging: str) -> None:
    with sandbox.connect(owner, owner) as connection, connection.cursor() as cursor:
        cursor.execute("create table t (id number primary key, n varchar2(10), d date)")
        if logging:
            cursor.execute(f"alter table t add supplemental log data {logging}")
        cursor.execute("insert into t values (1, 'x', null)")
        connection.commit()
        begun = current_scn(sandbox)
        cursor.execute("update t set n = 'y'")
        connection.commit()
    with mining_session(sandbox) as cursor:
        add_all_logs(cursor)
        cursor.execute(
            f"begin dbms_logmnr.start_logmnr(startscn => {begun}, options => dbms_logmnr.dict_from_online_catalog); end;"
        )
        (update,) = contents(cursor, "operation_code = 3")
    head = f'update "{owner.upper()}"."T" '
    assert update["SQL_REDO"] == f"{head}{LOGGING[logging][0]}'{update['ROW_ID']}';"


@pytest.mark.parametrize("kind", ["unique", "foreign key"])
def test_a_key_of_several_columns_is_logged_once_one_of_them_changes(sandbox: SandboxProcess, owner: str, kind: str) -> None:
    constraint = "unique (a, b)" if kind == "unique" else "foreign key (a, b) references parents"
    with sandbox.connect(owner, owner) as connection, connection.cursor() as cursor:
        cursor.execute("create table parents (a number, b number, primary key (a, b))")
        cursor.execute("insert into parents select level, 1 from dual connect by level < 4")
        cursor.execute(f"create table t (id number primary key, a number, b number, n number, {constraint})")
        cursor.execute(f"alter table t add supplemental log data (primary key, {kind}) columns")
        cursor.execute("insert into t values (1, 1, 1, 1)")
        connection.commit()
        begun = current_scn(sandbox)
        cursor.execute("update t set n = 2")
        cursor.execute("update t set a = 3")
        connection.commit()
    with mining_session(sandbox) as cursor:
        add_all_logs(cursor)
        cursor.execute(
            f"begin dbms_logmnr.start_logmnr(startscn => {begun}, options => dbms_logmnr.dict_from_online_catalog); end;"
        )
        conditions = [re.split(" where | and ROWID", row["SQL_REDO"])[1] for row in contents(cursor, "operation_code = 3")]
    assert conditions == ["\"ID\" = '1' and \"N\" = '1'", "\"ID\" = '1' and \"A\" = '1' and \"B\" = '1'"]


def test_types_in_the_sessions_nls_and_by_default(sandbox: SandboxProcess, owner: str) -> None:
    with sandbox.connect(owner, owner) as connection, connection.cursor() as cursor:
        cursor.execute(
            "create table ty (id number, n number, v varchar2(20), c char(4), d date, t6 timestamp(6), t0 timestamp(0), "
            "t9 timestamp(9), r raw(10))"
        )
        begun = current_scn(sandbox)
        cursor.execute(
            "insert into ty values (1, -42.5, 'it''s', 'ab', to_date('2026-02-28 13:45:59', 'YYYY-MM-DD HH24:MI:SS'), "
            "to_timestamp('2025-07-11 23:09:10.654321', 'YYYY-MM-DD HH24:MI:SS.FF'), "
            "to_timestamp('2021-09-30 12:00:00', 'YYYY-MM-DD HH24:MI:SS'), "
            "to_timestamp('1999-01-01 00:00:00.000000001', 'YYYY-MM-DD HH24:MI:SS.FF'), hextoraw('CAFE'))"
        )
        connection.commit()

    def values(*settings: str) -> str:
        with mining_session(sandbox, nls=False) as cursor:
            for setting in settings:
                cursor.execute("alter session set " + setting)
            add_all_logs(cursor)
            start(cursor, " + dbms_logmnr.no_sql_delimiter", startscn=begun)
            (row,) = contents(cursor, "operation_code = 1")
            return str(row["SQL_REDO"].split(" values ")[1])

    iso = ("nls_date_format='YYYY-MM-DD HH24:MI:SS'", "nls_timestamp_format='YYYY-MM-DD HH24:MI:SS.FF9'")
    assert values(*iso) == (
        "('1','-42.5','it''s','ab  ',TO_DATE('2026-02-28 13:45:59', 'YYYY-MM-DD HH24:MI:SS'),"
        "TO_TIMESTAMP('2025-07-11 23:09:10.654321000'),TO_TIMESTAMP('2021-09-30 12:00:00.000000000'),"
        "TO_TIMESTAMP('1999-01-01 00:00:00.000000001'),HEXTORAW('cafe'))"
    )
    assert values("nls_timestamp_format='YYYY-MM-DD HH24:MI:SS.FF'", "nls_numeric_characters=',.'") == (
        "('1','-42,5','it''s','ab  ',TO_DATE('28-FEB-26', 'DD-MON-RR'),"
        "TO_TIMESTAMP('2025-07-11 23:09:10.654321'),TO_TIMESTAMP('2021-09-30 12:00:00.'),"
        "TO_TIMESTAMP('1999-01-01 00:00:00.000000001'),HEXTORAW('cafe'))"
    )
    assert values() == (
        "('1','-42.5','it''s','ab  ',TO_DATE('28-FEB-26', 'DD-MON-RR'),"
        "TO_TIMESTAMP('11-JUL-25 11.09.10.654321 PM'),TO_TIMESTAMP('30-SEP-21 12.00.00 PM'),"
        "TO_TIMESTAMP('01-JAN-99 12.00.00.000000001 AM'),HEXTORAW('cafe'))"
    )


def test_long_sql_comes_in_pieces(sandbox: SandboxProcess, owner: str) -> None:
    text = ("it's \u00e9" * 700)[:3900]
    with sandbox.connect(owner, owner) as connection, connection.cursor() as cursor:
        cursor.execute("create table w (id number, a varchar2(4000 char), b varchar2(4000 char))")
        begun = current_scn(sandbox)
        cursor.execute("insert into w values (1, :1, :2)", [text[:1900], text[:1900]])
        connection.commit()
    pieces = mine(sandbox, where="operation_code = 1", startscn=begun)
    assert [p["CSF"] for p in pieces] == [1] * (len(pieces) - 1) + [0]
    assert len(pieces) > 1
    assert all(len(p["SQL_REDO"].encode()) <= 4000 for p in pieces)
    assert len({(p["RS_ID"], p["SSN"], p["SCN"], p["ROW_ID"]) for p in pieces}) == 1
    _, _, values, _ = read_redo("".join(p["SQL_REDO"] for p in pieces))
    assert values == {"ID": "1", "A": text[:1900], "B": text[:1900]}


def test_rows_of_an_older_version_are_raw(sandbox: SandboxProcess, owner: str) -> None:
    with sandbox.connect(owner, owner) as connection, connection.cursor() as cursor:
        cursor.execute("create table item (id number, name varchar2(10), d date)")
        begun = current_scn(sandbox)
        cursor.execute("insert into item values (7, 'Zo\u00eb', to_date('2026-02-28 13:45:59', 'YYYY-MM-DD HH24:MI:SS'))")
        connection.commit()
        cursor.execute("alter table item add (w number)")
        insert = 'insert into "{0}"."{1}"("COL 1","COL 2","COL 3") values (HEXTORAW(\'c108\'),HEXTORAW(\'5a6fc3ab\'),HEXTORAW(\'787e021c0e2e3c\'));'
        (row,) = mine(sandbox, where="operation_code = 1", startscn=begun)
        assert (row["STATUS"], row["INFO"]) == (2, "Dictionary Mismatch")
        assert row["SQL_REDO"] == insert.format(owner.upper(), "ITEM")
        (ddl,) = mine(sandbox, where="operation_code = 5", startscn=begun)
        assert ddl["SQL_REDO"] == "alter table item add (w number);"
        assert (ddl["TABLE_NAME"], ddl["INFO"]) == ("ITEM", "USER DDL (PlSql=0 RecDep=0)")
        cursor.execute("drop table item purge")
    (row,) = mine(sandbox, where="operation_code = 1", startscn=begun)
    assert row["SEG_OWNER"] == "UNKNOWN"
    assert re.fullmatch(r"OBJ# \d+", row["TABLE_NAME"])
    assert row["SQL_REDO"] == insert.format("UNKNOWN", row["TABLE_NAME"])


def test_committed_mode(sandbox: SandboxProcess, owner: str) -> None:
    with sandbox.connect(owner, owner) as one, sandbox.connect(owner, owner) as two:
        a, b = one.cursor(), two.cursor()
        a.execute("create table t (id number, n number)")
        begun = current_scn(sandbox)
        a.execute("insert into t values (1, 1)")
        b.execute("insert into t values (2, 1)")
        b.execute("savepoint s")
        b.execute("insert into t values (3, 1)")
        b.execute("rollback to savepoint s")
        two.commit()
        b.execute("insert into t values (9, 1)")
        two.rollback()
        a.execute("update t set n = 2 where id = 1")
        one.commit()
        a.execute("insert into t values (4, 1)")
        rows = mine(sandbox, " + dbms_logmnr.committed_data_only", startscn=begun)
        one.rollback()
    assert [r["OPERATION_CODE"] for r in rows] == [6, 1, 7, 6, 1, 3, 7]
    assert all(r["COMMIT_SCN"] == rows[2]["SCN"] and r["START_SCN"] == rows[0]["SCN"] for r in rows[:3])
    assert all(r["COMMIT_SCN"] == rows[6]["SCN"] for r in rows[3:])
    assert rows[3]["SCN"] < rows[0]["SCN"]


def test_a_range_that_begins_inside_a_transaction(sandbox: SandboxProcess, owner: str) -> None:
    with sandbox.connect(owner, owner) as connection, connection.cursor() as cursor:
        cursor.execute("create table t (id number)")
        cursor.execute("insert into t values (1)")
        inside = current_scn(sandbox)
        cursor.execute("insert into t values (2)")
        connection.rollback()
    rows = mine(sandbox, startscn=inside)
    assert [r["OPERATION_CODE"] for r in rows] == [1, 2, 2, 36]
    assert [r["XID"].hex()[8:] == "ffffffff" for r in rows] == [False, True, True, True]
    assert {r["USERNAME"] for r in rows} == {"UNKNOWN"}
    assert mine(sandbox, " + dbms_logmnr.committed_data_only", startscn=inside) == []


def _error(cursor: oracledb.Cursor, statement: str, *binds: object) -> int:
    with pytest.raises(oracledb.DatabaseError) as caught:
        cursor.execute(statement, list(binds)).fetchall() if statement.startswith("select") else cursor.execute(
            statement, list(binds)
        )
    return int(caught.value.args[0].code)


def test_errors_of_the_package(sandbox: SandboxProcess, owner: str) -> None:
    with mining_session(sandbox) as cursor:
        assert _error(cursor, "select scn from v$logmnr_contents") == 1306
        assert _error(cursor, "begin dbms_logmnr.end_logmnr; end;") == 1307
        assert _error(cursor, "begin dbms_logmnr.start_logmnr(options => 16); end;") == 1292
        assert _error(cursor, "begin dbms_logmnr.add_logfile('/no/such/file'); end;") == 1284
        (name,) = cursor.execute(
            "select f.member from v$log l, v$logfile f where l.group#=f.group# and l.status='CURRENT'"
        ).fetchone()
        cursor.execute("begin dbms_logmnr.add_logfile(:1, dbms_logmnr.new); end;", [name])
        assert _error(cursor, "begin dbms_logmnr.add_logfile(:1); end;", name) == 1289
        assert cursor.execute("select filename as name from v$logmnr_logs").fetchall() == [(name,)]
        assert _error(cursor, "begin dbms_logmnr.remove_logfile('other'); end;") == 1290
        assert _error(cursor, "begin dbms_logmnr.start_logmnr(startscn => 10, endscn => 9, options => 16); end;") == 1281
        assert _error(cursor, "begin dbms_logmnr.start_logmnr(options => 1024 + 16); end;") == 44609
        assert _error(cursor, "begin dbms_logmnr.start_logmnr(options => 128 + 16); end;") == 1283
        assert _error(cursor, "begin dbms_logmnr.start_logmnr(dictfilename => 'x'); end;") == 44613
        cursor.execute("begin dbms_logmnr.start_logmnr(options => 16); end;")
        cursor.execute("begin dbms_logmnr.remove_logfile(:1); end;", [name])
        cursor.execute("begin dbms_logmnr.end_logmnr(); end;")
        assert _error(cursor, "select scn from v$logmnr_contents") == 1306
        with sandbox.connect() as other, other.cursor() as system:
            for _ in range(3):
                system.execute("alter system switch logfile")
        logs = cursor.execute("select name, first_change# from v$archived_log order by sequence#").fetchall()[-3:]
        for log, _ in (logs[0], logs[2]):
            cursor.execute("begin dbms_logmnr.add_logfile(:1); end;", [log])
        assert _error(cursor, f"begin dbms_logmnr.start_logmnr(startscn => {logs[0][1]}, options => 16); end;") == 1291
        cursor.execute("begin dbms_logmnr.add_logfile(:1); end;", [logs[1][0]])
        cursor.execute(f"begin dbms_logmnr.start_logmnr(startscn => {logs[0][1]}, options => 16); end;")
        assert _error(cursor, f"begin dbms_logmnr.start_logmnr(startscn => {logs[0][1] - 1}, options => 16); end;") == 1291
    with sandbox.connect() as connection, connection.cursor() as cursor:
        assert _error(cursor, "begin dbms_logmnr.add_logfile(:1); end;", name) == 65040


def test_a_pluggable_database_mines_its_own_changes(sandbox: SandboxProcess, owner: str) -> None:
    with sandbox.connect(owner, owner) as connection, connection.cursor() as cursor:
        cursor.execute("create table t (id number)")
        begun = current_scn(sandbox)
        cursor.execute("insert into t values (1)")
        connection.commit()
    with sandbox.connect() as connection, connection.cursor() as cursor:
        start(cursor, startscn=begun)
        rows = contents(cursor)
        assert [r["OPERATION_CODE"] for r in rows] == [6, 1, 7]
        assert _error(cursor, "begin dbms_logmnr.start_logmnr(startscn => 5, options => 16); end;") == 1291


def test_an_overwritten_online_log_is_noticed(sandbox: SandboxProcess) -> None:
    with mining_session(sandbox) as cursor, sandbox.connect() as other, other.cursor() as system:
        (name,) = cursor.execute(
            "select f.member from v$log l, v$logfile f where l.group#=f.group# and l.status='CURRENT'"
        ).fetchone()
        cursor.execute("begin dbms_logmnr.add_logfile(:1); end;", [name])
        start(cursor)
        for _ in range(3):
            system.execute("alter system switch logfile")
        assert _error(cursor, "select scn from v$logmnr_contents") == 310
