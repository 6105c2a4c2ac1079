"""V$LOGMNR_CONTENTS.CLIENT_ID: what a driver calls its user, as the session had it when the transaction began to change rows."""

from __future__ import annotations

from sandbox.tests.server.mining_lab import Lab, add_all_logs, start_mining
from tests.fixtures.fix_sandbox import SandboxProcess


def test_client_identifiers_are_in_the_redo(sandbox: SandboxProcess) -> None:
    sandbox.create_user("lab")
    lab = Lab(sandbox)
    lab.run("create table t (id number)")
    begun = lab.mark()
    lab.connection.client_identifier = "driver"
    lab.run("insert into t values (1)")
    lab.connection.client_identifier = "later"  # the transaction has begun
    lab.run("insert into t values (2)", "commit", "insert into t values (3)", "commit")
    lab.run("begin dbms_session.set_identifier('package'); end;", "insert into t values (4)", "commit")
    lab.run("begin dbms_session.clear_identifier; end;", "insert into t values (5)", "commit")
    add_all_logs(lab.mining, begun)
    start_mining(lab.mining, startscn=begun)
    lab.mining.execute(
        "select client_id from v$logmnr_contents where seg_owner = 'LAB' and operation = 'INSERT' order by scn, rs_id, ssn"
    )
    assert [one for (one,) in lab.mining.fetchall()] == ["driver", "driver", "later", "package", None]
    lab.mining.execute("select count(*) from v$logmnr_contents where client_id = 'driver' and operation = 'INSERT'")
    assert lab.mining.fetchone() == (2,)
