"""The SQL that makes the objects of `txlog`, as `minercdc txlog install` runs it.

    SYNC_CORE    getTxn: the transaction's number, noted in SY$TXLOG with the sources it changed; coalesce_log: its commit SCN
    trigger      sets TXN of each row that is inserted or updated

Alerts are raised by dynamic SQL, so that DBMS_ALERT has to be granted only where they are used.
"""

from __future__ import annotations

from collections.abc import Sequence

from minercdc.capture.txlog.names import (
    ALERT,
    COALESCE_JOB,
    COLUMN,
    CORE,
    INFINITY,
    LOG,
    PURGED,
    SEQUENCE,
    SETTINGS,
    SIGNAL_JOB,
    SINCE,
    SOURCES,
    literal,
    quoted,
    trigger_of,
    view_of,
)

CREATE_SEQUENCE = f"CREATE SEQUENCE {SEQUENCE} START WITH 1000 MINVALUE 1000 MAXVALUE {'9' * 27} CACHE 20 NOCYCLE"
CREATE_SOURCES = (
    f"CREATE TABLE {SOURCES} (NAME VARCHAR2(128) CONSTRAINT {SOURCES}_PK PRIMARY KEY, BITNUM NUMBER NOT NULL,"
    f" TXN_ADDED NUMBER(1) DEFAULT 0 NOT NULL, WAITED NUMBER(1) DEFAULT 0 NOT NULL, {SINCE} NUMBER, {PURGED} NUMBER)"
)
ADDED_TO_SOURCES = {
    **{name: f"ALTER TABLE {SOURCES} ADD ({name} NUMBER(1) DEFAULT 0 NOT NULL)" for name in ("TXN_ADDED", "WAITED")},
    **{name: f"ALTER TABLE {SOURCES} ADD ({name} NUMBER)" for name in (SINCE, PURGED)},
}
INDEX_SOURCES = f"CREATE INDEX {SOURCES}_I1 ON {SOURCES} (BITNUM)"
CREATE_LOG = (
    f"CREATE TABLE {LOG} (TXN NUMBER CONSTRAINT {LOG}_PK PRIMARY KEY, SCN NUMBER NOT NULL, MASK NUMBER,"
    " TS TIMESTAMP DEFAULT SYSTIMESTAMP NOT NULL) ROWDEPENDENCIES"
)
INDEX_LOG = f"CREATE INDEX {LOG}_I1 ON {LOG} (SCN)"
CREATE_SETTINGS = f"CREATE TABLE {SETTINGS} (RAISE_DBMS_ALERTS CHAR(1))"
FILL_SETTINGS = f"INSERT INTO {SETTINGS} VALUES ('N')"

CORE_SPEC = f"""PACKAGE {CORE} AS
  FUNCTION getScn(v_scn IN NUMBER, v_ora_rowscn IN NUMBER) RETURN NUMBER;
  FUNCTION getMask(source IN VARCHAR) RETURN NUMBER;
  FUNCTION getTxn(source IN VARCHAR) RETURN NUMBER;
  PROCEDURE coalesce_log;
  PROCEDURE signal_beep;
  PROCEDURE unconditional_signal_beep;
END {CORE};"""

CORE_BODY = f"""PACKAGE BODY {CORE} AS
  TYPE bits IS TABLE OF NUMBER INDEX BY VARCHAR2(128);
  infinity CONSTANT NUMBER := {INFINITY};
  lastTxID VARCHAR2(200);
  currentTxn NUMBER;
  currentMask NUMBER;
  source_bits bits;

  FUNCTION getScn(v_scn IN NUMBER, v_ora_rowscn IN NUMBER) RETURN NUMBER IS
  BEGIN
    IF v_scn = infinity THEN
      RETURN v_ora_rowscn;
    END IF;
    RETURN v_scn;
  END getScn;

  FUNCTION getMask(source IN VARCHAR) RETURN NUMBER IS
    bit NUMBER;
  BEGIN
    IF NOT source_bits.EXISTS(source) THEN
      SELECT bitnum INTO bit FROM {SOURCES} WHERE name = source;
      source_bits(source) := POWER(2, bit);
    END IF;
    RETURN source_bits(source);
  END getMask;

  FUNCTION getTxn(source IN VARCHAR) RETURN NUMBER IS
    txID VARCHAR2(200) := DBMS_TRANSACTION.LOCAL_TRANSACTION_ID(TRUE);
    bit NUMBER := getMask(source);
    noted NUMBER := 0;
  BEGIN
    IF txID = lastTxID THEN
      SELECT COUNT(*), MAX(mask) INTO noted, currentMask FROM {LOG} WHERE txn = currentTxn;
    ELSE
      SELECT {SEQUENCE}.NEXTVAL INTO currentTxn FROM DUAL;
      lastTxID := txID;
    END IF;
    IF noted = 0 THEN
      currentMask := bit;
      INSERT INTO {LOG} (txn, scn, mask) VALUES (currentTxn, infinity, currentMask);
      signal_beep;
    ELSIF BITAND(currentMask, bit) = 0 THEN
      currentMask := currentMask + bit;
      UPDATE {LOG} SET mask = currentMask WHERE txn = currentTxn;
    END IF;
    RETURN currentTxn;
  END getTxn;

  PROCEDURE coalesce_log IS
  BEGIN
    UPDATE {LOG} SET scn = ORA_ROWSCN WHERE scn = infinity AND ORA_ROWSCN IS NOT NULL;
    COMMIT;
  END coalesce_log;

  PROCEDURE unconditional_signal_beep IS
  BEGIN
    EXECUTE IMMEDIATE 'BEGIN DBMS_ALERT.SIGNAL(''sy$alert'', ''beep''); END;';
  END unconditional_signal_beep;

  PROCEDURE signal_beep IS
    raised NUMBER;
  BEGIN
    SELECT COUNT(*) INTO raised FROM {SETTINGS} WHERE raise_dbms_alerts = 'Y';
    IF raised > 0 THEN
      BEGIN
        unconditional_signal_beep;
      EXCEPTION
        WHEN OTHERS THEN
          NULL; -- the writer goes on: its rows are found at the next poll
      END;
    END IF;
  END signal_beep;
END {CORE};"""

ALERT_SPEC = f"""PACKAGE {ALERT} AS
  FUNCTION registerSourceWithVersion(source IN VARCHAR, version IN NUMBER) RETURN NUMBER;
  PROCEDURE unregisterAllSources;
  FUNCTION waitForEvent(maxWait IN NUMBER) RETURN VARCHAR;
END {ALERT};"""

ALERT_BODY = f"""PACKAGE BODY {ALERT} AS
  is_registered BOOLEAN := FALSE;

  FUNCTION registerSourceWithVersion(source IN VARCHAR, version IN NUMBER) RETURN NUMBER IS
    bit NUMBER;
  BEGIN
    SELECT MAX(bitnum) INTO bit FROM {SOURCES} WHERE name = source;
    IF bit IS NOT NULL AND NOT is_registered THEN
      EXECUTE IMMEDIATE 'BEGIN DBMS_ALERT.REGISTER(''sy$alert''); END;';
      is_registered := TRUE;
    END IF;
    RETURN bit;
  END registerSourceWithVersion;

  PROCEDURE unregisterAllSources IS
  BEGIN
    IF is_registered THEN
      EXECUTE IMMEDIATE 'BEGIN DBMS_ALERT.REMOVE(''sy$alert''); END;';
      is_registered := FALSE;
    END IF;
  END unregisterAllSources;

  FUNCTION waitForEvent(maxWait IN NUMBER) RETURN VARCHAR IS
    message VARCHAR2(1800);
    status NUMBER;
  BEGIN
    IF NOT is_registered THEN
      RETURN NULL;
    END IF;
    EXECUTE IMMEDIATE 'BEGIN DBMS_ALERT.WAITONE(''sy$alert'', :message, :status, :seconds); END;'
      USING OUT message, OUT status, IN maxWait;
    RETURN message;
  END waitForEvent;
END {ALERT};"""

PACKAGES = (
    (CORE, "PACKAGE", CORE_SPEC),
    (CORE, "PACKAGE BODY", CORE_BODY),
    (ALERT, "PACKAGE", ALERT_SPEC),
    (ALERT, "PACKAGE BODY", ALERT_BODY),
)
"""Name, type and text of each, in the order they are made."""

JOBS = (
    (COALESCE_JOB, f"BEGIN {CORE}.coalesce_log; END;", 2, True),
    (SIGNAL_JOB, f"BEGIN {CORE}.unconditional_signal_beep; END;", 1, False),
)
"""Name, action, seconds between two runs, and whether it runs from the beginning."""


def replacing(text: str) -> str:
    """The statement that makes, or replaces, a program of this text."""
    return f"CREATE OR REPLACE {text}"


def view_query(table: str, columns: Sequence[str]) -> str:
    """The query of a table's view: TXN, then the other columns in the order given.

    :param columns: names of the table's columns; TXN may be among them.
    """
    listed = ", ".join(quoted(name) for name in (COLUMN, *(name for name in columns if name != COLUMN)))
    return f"SELECT {listed} FROM {quoted(table)}"


def create_view(table: str, columns: Sequence[str]) -> str:
    """The statement that makes, or replaces, a table's view with these columns and TXN; also while TXN is missing (FORCE)."""
    return f"CREATE OR REPLACE FORCE VIEW {quoted(view_of(table))} AS {view_query(table, columns)}"


def trigger_text(table: str) -> str:
    """Text of a table's trigger, without CREATE OR REPLACE. It sets TXN of each inserted or updated row, and so has the
    transaction noted in SY$TXLOG. An update that sets TXN to a negative number keeps that number, made positive, and notes
    nothing."""
    return (
        f"TRIGGER {quoted(trigger_of(table))} BEFORE INSERT OR UPDATE ON {quoted(table)}\n"
        "REFERENCING OLD AS OLD NEW AS NEW FOR EACH ROW\n"
        "BEGIN\n"
        f"  IF (UPDATING AND :new.{COLUMN} < 0) THEN\n"
        f"    :new.{COLUMN} := -:new.{COLUMN};\n"
        "  ELSE\n"
        f"    :new.{COLUMN} := {CORE}.getTxn({literal(table)});\n"
        "  END IF;\n"
        "END;"
    )


def create_job(name: str, action: str, seconds: int, *, enabled: bool) -> str:
    """The PL/SQL block that makes a job.

    :param action: PL/SQL that it runs.
    :param seconds: between two runs.
    """
    return (
        f"BEGIN DBMS_SCHEDULER.CREATE_JOB(job_name => {literal(name)}, job_type => 'PLSQL_BLOCK', job_action => {literal(action)},"
        f" repeat_interval => 'FREQ=SECONDLY;INTERVAL={seconds}', enabled => {str(enabled).upper()}, auto_drop => FALSE); END;"
    )
