"""LOBs, LONG, XMLTYPE, BOOLEAN and long strings in SQL and PL/SQL through python-oracledb: values, functions, errors, versions."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from sandbox.tests.server.mining_lab import Lab, add_all_logs, errors_of, start_mining
from tests.fixtures.fix_sandbox import SandboxProcess

from minercdc_sandbox.interfaces import OraError
from minercdc_sandbox.server import sandbox_database

TABLES = (
    "create table doc (id number primary key, c clob, n nclob, b blob)",
    "create table xd (id number primary key, x xmltype)",
)


@pytest.fixture(scope="module")
def schema(sandbox: SandboxProcess) -> SandboxProcess:
    sandbox.create_user("lab")
    return sandbox


@pytest.fixture
def lab(schema: SandboxProcess) -> Iterator[Lab]:
    lab = Lab(schema)
    lab.run(*TABLES)
    yield lab
    lab.drop_tables()
    lab.close()


def value(lab: Lab, expression: str, binds: list[Any] | None = None, source: str = "doc") -> Any:
    ((found,),) = lab.cursor.execute(f"select {expression} from {source}", binds or []).fetchall()
    return found


@pytest.mark.parametrize(
    ("expression", "result"),
    [
        ("length(c)", 11),
        ("length(empty_clob())", 0),
        ("dbms_lob.getlength(c)", 11),
        ("dbms_lob.getlength(b)", 3),
        ("dbms_lob.getchunksize(c)", 8132),
        ("dbms_lob.substr(c, 5, 7)", "World"),
        ("dbms_lob.substr(c, 5, 70)", None),
        ("rawtohex(dbms_lob.substr(b, 2, 2))", "02FF"),
        ("dbms_lob.instr(c, 'o')", 5),
        ("dbms_lob.instr(c, 'o', 1, 2)", 8),
        ("dbms_lob.instr(c, 'zz')", 0),
        ("dbms_lob.compare(c, to_clob('Hello World'))", 0),
        ("dbms_lob.compare(c, to_clob('Hello Xorld'))", -1),
        ("dbms_lob.compare(c, to_clob('Hello_World'), 5)", 0),
        ("dbms_lob.istemporary(c)", 0),
        ("dbms_lob.istemporary(to_clob('x'))", 1),
        ("instr(c, 'World')", 7),
        ("to_char(substr(c, 1, 5))", "Hello"),
        ("to_char(upper(c))", "HELLO WORLD"),
        ("to_char(c || '!' || n)", "Hello World!\u00e9t\u00e9"),
        ("to_char(concat(c, 'x'))", "Hello Worldx"),
        ("to_char(replace(c, 'World', 'You'))", "Hello You"),
        ("to_char(nvl(c, to_clob('none')))", "Hello World"),
        ("to_char(case when id = 1 then c end)", "Hello World"),
        ("to_char(coalesce(to_clob(null), c))", "Hello World"),
        ("rawtohex(to_blob(hextoraw('0A')))", "0A"),
        ("count(*)", 1),
    ],
)
def test_functions(lab: Lab, expression: str, result: Any) -> None:
    lab.run("insert into doc values (1, 'Hello World', to_nclob('\u00e9t\u00e9'), hextoraw('0102ff'))")
    assert value(lab, expression) == result


@pytest.mark.parametrize(
    ("condition", "found"),
    [
        ("c like '%World'", 1),
        ("c not like '%World'", 0),
        ("c is null", 0),
        ("b is null", 1),
        ("length(c) > 10", 1),
        ("to_char(c) = 'Hello World'", 1),
        ("regexp_like(c, 'W.rld')", 1),
    ],
)
def test_conditions(lab: Lab, condition: str, found: int) -> None:
    lab.run("insert into doc (id, c) values (1, 'Hello World')")
    assert value(lab, "count(*)", source=f"doc where {condition}") == found


@pytest.mark.parametrize(
    ("sql", "code"),
    [
        ("select * from doc where c = 'x'", 932),
        ("select * from doc where c in ('x')", 932),
        ("select * from doc where b > hextoraw('00')", 932),
        ("select c from doc order by c", 932),
        ("select distinct c from doc", 932),
        ("select c from doc union select c from doc", 932),
        ("select c, count(*) from doc group by c", 932),
        ("select max(c) from doc", 932),
        ("select greatest(c, c) from doc", 932),
        ("insert into doc (id, c) values (1, to_blob(hextoraw('00')))", 932),
        ("insert into doc (id, b) values (1, to_clob('x'))", 932),
        ("insert into doc (id, b) values (1, 'zz')", 1465),
        ("insert into xd values (1, '<a>')", 31011),
        ("create index i on doc (c)", 2327),
        ("create table k (c clob primary key)", 2327),
        ("alter table doc modify (c varchar2(10))", 22859),
        ("create table k (a long, b long)", 1754),
        ("create table k (a anydata)", 3001),
        ("create table k (c clob) lob (c) store as (deduplicate)", 3001),
        ("create table k (c clob) lob (d) store as securefile", 904),
        ("select l from (select to_lob(c) l from doc)", 932),
    ],
)
def test_refused(lab: Lab, sql: str, code: int) -> None:
    assert f"ORA-{code:05d}" in errors_of(lab.connection, sql)


def test_a_long_clob_is_no_varchar2(lab: Lab) -> None:
    lab.cursor.execute("insert into doc (id, c) values (1, :1)", ["x" * 4001])
    assert "ORA-22835" in errors_of(lab.connection, "select to_char(c) from doc")
    assert value(lab, "length(c)") == 4001
    lab.run("create table small (v varchar2(4000))")
    assert "ORA-22835" in errors_of(lab.connection, "insert into small select c from doc")


def test_checks_see_contents(lab: Lab) -> None:
    lab.run("create table checked (c clob not null check (length(c) > 2))", "insert into checked values ('abc')")
    for short in ("'ab'", "empty_clob()"):
        assert "ORA-02290" in errors_of(lab.connection, f"insert into checked values ({short})")
    assert "ORA-01400" in errors_of(lab.connection, "insert into checked values (null)")


def test_implicit_conversions_go_through_text(lab: Lab) -> None:
    lab.run("insert into doc (id, c) values (1, '12')")
    assert value(lab, "to_number(c) + c") == 24


def test_versions_share_contents(lab: Lab) -> None:
    lab.cursor.execute("insert into doc (id, c) values (1, :1)", ["a" * 5000])
    lab.commit()
    scn = lab.mark()
    lab.run("update doc set c = c || 'b'", "savepoint s", "update doc set c = 'short'", "rollback to s")
    assert value(lab, "length(c)") == 5001
    assert value(lab, "length(c)", [scn], "doc as of scn :1") == 5000
    lab.connection.rollback()
    assert value(lab, "length(c)") == 5000


def test_copies_between_rows(lab: Lab) -> None:
    lab.cursor.execute("insert into doc (id, c, b) values (1, :1, :2)", ["a" * 9000, b"\x01" * 9000])
    lab.run("insert into doc select 2, c, c, b from doc", "update doc set c = 'changed' where id = 1")
    rows = lab.cursor.execute(
        "select dbms_lob.getlength(c), dbms_lob.getlength(n), length(b) from doc order by id"
    ).fetchall()
    assert rows == [(7, None, 9000), (9000, 9000, 9000)]


def test_create_table_as_select_keeps_contents(lab: Lab) -> None:
    with lab.sandbox.connect("lab", "lab") as other, other.cursor() as cursor:
        cursor.execute("insert into doc (id, c) values (1, 'kept')")
        cursor.execute("create table made as select id, c, c || '!' d from doc")
        cursor.execute("create table lng (l long)")
        assert "ORA-00997" in errors_of(other, "create table lng_2 as select l from lng")
    assert value(lab, "to_char(c) || to_char(d)", source="made") == "keptkept!"


def block(lab: Lab, text: str, **binds: Any) -> None:
    lab.cursor.execute(text, binds)


def test_writing_through_a_locator(lab: Lab) -> None:
    lab.run("insert into doc (id, c, b) values (1, empty_clob(), empty_blob())")
    block(
        lab,
        """declare l clob; k clob; n number; begin
        select c into l from doc where id = 1 for update;
        dbms_lob.writeappend(l, 5, 'Hello');
        dbms_lob.write(l, 3, 8, 'you');
        dbms_lob.createtemporary(k, true);
        dbms_lob.writeappend(k, 4, ' and');
        dbms_lob.append(l, k);
        dbms_lob.copy(l, k, 2, 1, 3);
        n := 1;
        dbms_lob.erase(l, n, 4);
        dbms_lob.trim(l, 12);
        dbms_lob.freetemporary(k);
        end;""",
    )
    assert value(lab, "to_char(c)") == "ndl o  you a"


def test_reading_through_a_locator(lab: Lab) -> None:
    lab.run("insert into doc (id, c) values (1, 'abcdef')")
    amount, buffer = lab.cursor.var(int), lab.cursor.var(str)
    amount.setvalue(0, 10)
    block(
        lab,
        "declare l clob; begin select c into l from doc; dbms_lob.read(l, :amount, 3, :buffer); end;",
        amount=amount,
        buffer=buffer,
    )
    assert (amount.getvalue(), buffer.getvalue()) == (4, "cdef")


@pytest.mark.parametrize(
    ("statements", "code"),
    [
        ("select c into l from doc; dbms_lob.writeappend(l, 1, 'x');", 22920),
        ("select c into l from doc for update; dbms_lob.write(l, 1, 0, 'x');", 21560),
        ("select c into l from doc for update; dbms_lob.write(l, 2, 1, 'x');", 21560),
        ("select c into l from doc for update; dbms_lob.trim(l, 100);", 22926),
        ("select c into l from doc; dbms_lob.read(l, n, 100, v);", 1403),
        ("select c into l from doc for update; dbms_lob.erase(l, n, null);", 21560),
        ("dbms_lob.writeappend(l, 1, 'x');", 6502),
        ("dbms_lob.createtemporary(l, true); dbms_lob.close(l);", 22289),
        ("dbms_lob.createtemporary(l, true); dbms_lob.open(l, dbms_lob.lob_readwrite); dbms_lob.open(l, 1);", 22293),
        (
            "select c into l from doc for update; dbms_lob.open(l, dbms_lob.lob_readonly); dbms_lob.writeappend(l, 1, 'x');",
            22294,
        ),
    ],
)
def test_package_errors(lab: Lab, statements: str, code: int) -> None:
    lab.run("insert into doc (id, c) values (1, 'abc')")
    lab.commit()
    text = f"declare l clob; n number := 1; v varchar2(100); begin {statements} end;"
    assert f"ORA-{code:05d}" in errors_of(lab.connection, text)
    assert value(lab, "to_char(c)") == "abc"


def test_returning_a_new_lob(lab: Lab) -> None:
    block(
        lab,
        "declare l clob; begin insert into doc (id, c) values (1, empty_clob()) returning c into l; "
        "dbms_lob.writeappend(l, 3, 'new'); end;",
    )
    assert value(lab, "to_char(c)") == "new"


def test_lobs_of_temporary_tables(lab: Lab) -> None:
    lab.run("create global temporary table tmp_doc (c clob) on commit preserve rows")
    block(
        lab,
        "declare l clob; begin insert into tmp_doc values (empty_clob()) returning c into l; "
        "dbms_lob.writeappend(l, 4, 'mine'); end;",
    )
    lab.commit()
    assert value(lab, "to_char(c)", source="tmp_doc") == "mine"
    lab.run("truncate table tmp_doc")


def test_long_columns(lab: Lab) -> None:
    lab.run("create table lng (id number, l long)", "create table raw_lng (id number, l long raw)")
    lab.cursor.execute("insert into lng values (1, :1)", ["text" * 10_000])
    lab.cursor.execute("insert into raw_lng values (1, :1)", [b"\x01\x02" * 20_000])
    assert value(lab, "l", source="lng") == "text" * 10_000
    assert value(lab, "l", source="raw_lng") == b"\x01\x02" * 20_000
    for sql in ("select upper(l) from lng", "select 1 from lng where l = 'x'", "select l from lng order by l"):
        assert "ORA-00997" in errors_of(lab.connection, sql)
    lab.run("insert into doc (id, c) select id, to_lob(l) from lng")
    assert value(lab, "length(c)") == 40_000


def test_xml(lab: Lab) -> None:
    lab.run(
        "insert into xd values (1, xmltype('<a>1</a>'))",
        "insert into xd values (2, '<b/>')",
        "insert into xd values (3, null)",
    )
    rows = lab.cursor.execute(
        "select t.x.getstringval(), to_char(t.x.getclobval()), xmlserialize(content t.x as varchar2(100)) from xd t order by id"
    )
    assert rows.fetchall() == [("<a>1</a>",) * 3, ("<b/>",) * 3, (None,) * 3]
    assert value(lab, "xmltype('<c/>').getstringval()", source="dual") == "<c/>"


def test_boolean(lab: Lab) -> None:
    lab.run("create table flags (id number, f boolean)")
    lab.run("insert into flags values (1, true)", "insert into flags values (2, 'no')", "insert into flags values (3, 1)")
    assert lab.cursor.execute("select id, to_char(f) from flags where f order by id").fetchall() == [
        (1, "TRUE"),
        (3, "TRUE"),
    ]
    assert lab.cursor.execute("select id from flags where not f").fetchall() == [(2,)]
    assert "ORA-61800" in errors_of(lab.connection, "insert into flags values (4, 'perhaps')")


def test_json(lab: Lab) -> None:
    lab.run("create table js (id number, j json)")
    text = '{"a":[1,2.5,null,true],"b":{"c":"\u00e9"}}'
    lab.cursor.execute("insert into js values (1, :1)", [text])
    lab.run("insert into js select 2, j from js", "insert into js values (3, json('[]'))")
    rows = lab.cursor.execute("select json_serialize(j) from js order by id").fetchall()
    assert rows == [(text,), (text,), ("[]",)]
    assert "ORA-40441" in errors_of(lab.connection, "insert into js values (4, '{a}')")
    assert "ORA-00932" in errors_of(lab.connection, "select * from js where j = '1'")


def test_vector(lab: Lab) -> None:
    lab.run("create table vec (id number, v vector(3, float64), w vector)")
    lab.run("insert into vec values (1, '[1, 2.5, -0.25]', to_vector('[1]'))")
    rows = lab.cursor.execute("select from_vector(v), vector_serialize(w) from vec").fetchall()
    assert rows == [("[1.0E+000,2.5E+000,-2.5E-001]", "[1.0E+000]")]
    assert "ORA-51803" in errors_of(lab.connection, "insert into vec (v) values ('[1, 2]')")
    assert "ORA-51805" in errors_of(lab.connection, "insert into vec (v) values ('1, 2, 3')")


@pytest.mark.parametrize("kind", ["json", "vector(3)", "boolean"])
def test_types_of_23ai_are_not_in_19c(kind: str) -> None:
    database = sandbox_database("19c")
    session = database.open_session("SYSTEM", "ORCLPDB1", {})
    with pytest.raises(OraError, match="ORA-00902"):
        session.execute(f"create table t (v {kind})")
    database.close()


def test_lobs_live_on_in_the_data_directory(tmp_path: Path) -> None:
    process = SandboxProcess((), "--data", str(tmp_path / "data"))
    process.create_user("lab")
    lab = Lab(process)
    lab.run(*TABLES)
    lab.cursor.execute("insert into doc (id, c, b) values (1, :1, :2)", ["a" * 50_000, b"\x07" * 50_000])
    lab.commit()
    lab.close()
    assert process.stop() == (0, "")
    process = SandboxProcess((), "--data", str(tmp_path / "data"))
    lab = Lab(process)
    assert value(lab, "length(c) || '/' || length(b)") == "50000/50000"
    lab.run("update doc set c = c || 'b'")
    assert value(lab, "to_char(dbms_lob.substr(c, 3, 49999))") == "aab"
    lab.close()
    assert process.stop() == (0, "")


def test_recovery_undoes_lob_changes(tmp_path: Path) -> None:
    process = SandboxProcess((), "--data", str(tmp_path / "data"))
    process.create_user("lab")
    lab = Lab(process)
    lab.run(*TABLES)
    lab.run("insert into doc (id, c) values (1, 'old')")
    lab.commit()
    scn = lab.mark()
    lab.cursor.execute("update doc set c = :1", ["z" * 9000])
    lab.run("insert into doc (id, c) values (2, 'small')")
    with process.connect(service="ORCLCDB") as admin, admin.cursor() as cursor:
        cursor.execute("alter system switch logfile")
    process.kill()
    process = SandboxProcess((), "--data", str(tmp_path / "data"))
    lab = Lab(process)
    assert lab.cursor.execute("select id, to_char(c) from doc").fetchall() == [(1, "old")]
    add_all_logs(lab.mining)
    start_mining(lab.mining, startscn=scn)
    codes = lab.mining.execute(
        "select operation_code, rollback from v$logmnr_contents where csf = 0 and operation_code > 0 and operation_code <> 6"
    ).fetchall()
    assert codes == [(9, 0), (10, 0), (10, 0), (10, 0), (11, 0), (1, 0), (3, 0), (2, 1), (3, 1), (36, 0)]
    lab.close()
    assert process.stop() == (0, "")
