"""The database and its instance: V$DATABASE, GLOBAL_NAME, V$INSTANCE, V$VERSION, containers, parameters, incarnations,
statistics of sessions, NLS."""

from __future__ import annotations

from collections.abc import Iterator

from minercdc_sandbox.catalog import ROOT
from minercdc_sandbox.interfaces import View
from minercdc_sandbox.redo.threads import ARCHIVE_DEST
from minercdc_sandbox.sql.execution import applied_scn
from minercdc_sandbox.sql.nls import Nls
from minercdc_sandbox.sql.userenv import session_value
from minercdc_sandbox.standby import SERVICE as STANDBY_SERVICE
from minercdc_sandbox.view_session import ViewSession, sees
from minercdc_sandbox.views.shape import Row, date, view, yes_no

_DATABASE = (
    "DBID N, NAME V9, CREATED D, RESETLOGS_CHANGE# N, RESETLOGS_TIME D, PRIOR_RESETLOGS_CHANGE# N, PRIOR_RESETLOGS_TIME D, "
    "LOG_MODE V12, CHECKPOINT_CHANGE# N, ARCHIVE_CHANGE# N, CONTROLFILE_TYPE V7=CURRENT, CONTROLFILE_CREATED D, "
    "CONTROLFILE_SEQUENCE# N, CONTROLFILE_CHANGE# N, CONTROLFILE_TIME D, OPEN_RESETLOGS V11=NOT ALLOWED, VERSION_TIME D, "
    "OPEN_MODE V20=READ WRITE, PROTECTION_MODE V20=MAXIMUM PERFORMANCE, PROTECTION_LEVEL V20=MAXIMUM PERFORMANCE, "
    "REMOTE_ARCHIVE V8=ENABLED, ACTIVATION# N, SWITCHOVER# N, DATABASE_ROLE V16=PRIMARY, ARCHIVELOG_CHANGE# N, "
    "ARCHIVELOG_COMPRESSION V8=DISABLED, SWITCHOVER_STATUS V20=NOT ALLOWED, DATAGUARD_BROKER V8=DISABLED, "
    "GUARD_STATUS V7=NONE, SUPPLEMENTAL_LOG_DATA_MIN V8, SUPPLEMENTAL_LOG_DATA_PK V3, SUPPLEMENTAL_LOG_DATA_UI V3, "
    "FORCE_LOGGING V39=NO, PLATFORM_ID N=13, PLATFORM_NAME V101=Linux x86 64-bit, RECOVERY_TARGET_INCARNATION# N, "
    "LAST_OPEN_INCARNATION# N, CURRENT_SCN N, FLASHBACK_ON V18=NO, SUPPLEMENTAL_LOG_DATA_FK V3, "
    "SUPPLEMENTAL_LOG_DATA_ALL V3, DB_UNIQUE_NAME V30, STANDBY_BECAME_PRIMARY_SCN N, FS_FAILOVER_MODE V19=DISABLED, "
    "FS_FAILOVER_STATUS V22=DISABLED, FS_FAILOVER_CURRENT_TARGET V30, FS_FAILOVER_THRESHOLD N, "
    "FS_FAILOVER_OBSERVER_PRESENT V7, FS_FAILOVER_OBSERVER_HOST V512, CONTROLFILE_CONVERTED V3=NO, "
    "PRIMARY_DB_UNIQUE_NAME V30, SUPPLEMENTAL_LOG_DATA_PL V3, MIN_REQUIRED_CAPTURE_CHANGE# N, CDB V3=YES, CON_ID N=0, "
    "PENDING_ROLE_CHANGE_TASKS V512=NOT APPLICABLE, CON_DBID N, FORCE_FULL_DB_CACHING V3=NO, SUPPLEMENTAL_LOG_DATA_SR V3"
)
_INSTANCE = (
    "INSTANCE_NUMBER N=1, INSTANCE_NAME V16, HOST_NAME V64=sandbox, VERSION V17, VERSION_LEGACY V17, VERSION_FULL V17, "
    "STARTUP_TIME D, STATUS V12=OPEN, PARALLEL V3, THREAD# N=1, ARCHIVER V7=STARTED, LOG_SWITCH_WAIT V15, "
    "LOGINS V10=ALLOWED, SHUTDOWN_PENDING V3=NO, DATABASE_STATUS V17=ACTIVE, INSTANCE_ROLE V18=PRIMARY_INSTANCE, "
    "ACTIVE_STATE V9=NORMAL, BLOCKED V3=NO, CON_ID N=0, INSTANCE_MODE V11=REGULAR, EDITION V7=EE, FAMILY V80, "
    "DATABASE_TYPE V15"
)
_CONTAINERS = (
    "CON_ID N, DBID N, CON_UID N, GUID R16, NAME V128, OPEN_MODE V10, RESTRICTED V3=NO, OPEN_TIME D, CREATE_SCN N, "
    "TOTAL_SIZE N, BLOCK_SIZE N=8192, RECOVERY_STATUS V8=ENABLED, SNAPSHOT_PARENT_CON_ID N, APPLICATION_ROOT V3=NO, "
    "APPLICATION_PDB V3=NO, LOCAL_UNDO N=1"
)
_PARAMETER = (
    "NUM N, NAME V80, TYPE N, VALUE V4000, DISPLAY_VALUE V4000, DEFAULT_VALUE V255, ISDEFAULT V9=TRUE, "
    "ISSES_MODIFIABLE V5=FALSE, ISSYS_MODIFIABLE V9=FALSE, ISPDB_MODIFIABLE V5=FALSE, ISINSTANCE_MODIFIABLE V5=FALSE, "
    "ISMODIFIED V10=FALSE, ISADJUSTED V5=FALSE, ISDEPRECATED V5=FALSE, ISBASIC V5=FALSE, DESCRIPTION V255, "
    "UPDATE_COMMENT V255, HASH N, CON_ID N=0"
)
_INCARNATION = (
    "INCARNATION# N, RESETLOGS_CHANGE# N, RESETLOGS_TIME D, PRIOR_RESETLOGS_CHANGE# N, PRIOR_RESETLOGS_TIME D, STATUS V7, "
    "RESETLOGS_ID N, PRIOR_INCARNATION# N, FLASHBACK_DATABASE_ALLOWED V26=NO, CON_ID N=0"
)
_PDB_INCARNATION = (
    "DB_INCARNATION# N, PDB_INCARNATION# N, STATUS V7, INCARNATION_SCN N, INCARNATION_TIME D, BEGIN_RESETLOGS_SCN N, "
    "BEGIN_RESETLOGS_TIME D, END_RESETLOGS_SCN N, END_RESETLOGS_TIME D, PRIOR_DB_INCARNATION# N, PRIOR_PDB_INCARNATION# V40, "
    "FLASHBACK_DATABASE_ALLOWED V3=NO, CON_ID N"
)
_UNDO = "BEGIN_TIME D, END_TIME D, UNDOTSN N=2, SSOLDERRCNT N=0, NOSPACEERRCNT N=0, TUNED_UNDORETENTION N, CON_ID N=0"
_STATISTICS = ("session uga memory", "session uga memory max", "session pga memory", "session pga memory max")
_TYPES = {"string": 2, "integer": 3, "boolean": 1, "big integer": 6}


def _database(session: ViewSession) -> Iterator[Row]:
    database = session.database
    catalog, redo, logging = database.catalog, database.redo, database.catalog.logging
    current = redo.threads[1].current
    yield {
        "DBID": catalog.dbid,
        "NAME": catalog.database_name,
        "CREATED": date(catalog.created),
        "RESETLOGS_CHANGE#": redo.incarnation.resetlogs_change,
        "RESETLOGS_TIME": date(redo.incarnation.resetlogs_time),
        "PRIOR_RESETLOGS_CHANGE#": redo.incarnations[-2].resetlogs_change if len(redo.incarnations) > 1 else 0,
        "LOG_MODE": catalog.log_mode,
        "CHECKPOINT_CHANGE#": current.first_change,
        "ARCHIVE_CHANGE#": current.first_change,
        "CONTROLFILE_CREATED": date(catalog.created),
        "CONTROLFILE_CHANGE#": current.first_change,
        "ACTIVATION#": catalog.dbid,
        "SWITCHOVER#": catalog.dbid,
        "ARCHIVELOG_CHANGE#": current.first_change,
        "SUPPLEMENTAL_LOG_DATA_MIN": logging.minimal_status,
        "SUPPLEMENTAL_LOG_DATA_PK": yes_no(logging.primary_key),
        "SUPPLEMENTAL_LOG_DATA_UI": yes_no(logging.unique),
        "SUPPLEMENTAL_LOG_DATA_FK": yes_no(logging.foreign_key),
        "SUPPLEMENTAL_LOG_DATA_ALL": yes_no(logging.all),
        "SUPPLEMENTAL_LOG_DATA_PL": yes_no(logging.procedural),
        "SUPPLEMENTAL_LOG_DATA_SR": yes_no(logging.subset),
        "FORCE_LOGGING": yes_no(catalog.force_logging),
        "RECOVERY_TARGET_INCARNATION#": redo.incarnation.number,
        "LAST_OPEN_INCARNATION#": redo.incarnation.number,
        "CURRENT_SCN": database.clock.read(),
        "DB_UNIQUE_NAME": catalog.database_name,
        "CON_DBID": catalog.containers[session.container].dbid,
        **(_standby(session) if session.on_standby else {}),
    }


def _standby(session: ViewSession) -> Row:
    """The columns of V$DATABASE that have other values on a standby."""
    standby = session.database.standby
    return {
        "DATABASE_ROLE": "PHYSICAL STANDBY",
        "OPEN_MODE": "READ ONLY WITH APPLY" if standby.stalled_at is None else "READ ONLY",
        "CONTROLFILE_TYPE": "STANDBY",
        "CURRENT_SCN": applied_scn(session.database),
        "DB_UNIQUE_NAME": STANDBY_SERVICE,
    }


def _instance(session: ViewSession) -> Iterator[Row]:
    database = session.database
    release = ".".join(map(str, database.version))
    yield {
        "INSTANCE_NAME": database.catalog.instance_name,
        "VERSION": f"{database.version[0]}.0.0.0.0",
        "VERSION_LEGACY": f"{database.version[0]}.0.0.0.0",
        "VERSION_FULL": release,
        "STARTUP_TIME": date(database.startup_time),
        "PARALLEL": yes_no(len(database.redo.threads) > 1),
        "DATABASE_TYPE": "SINGLE" if len(database.redo.threads) == 1 else "RAC",
    }


def _version(session: ViewSession) -> Iterator[Row]:
    database = session.database
    full = f"{database.banner}\nVersion {'.'.join(map(str, database.version))}"
    yield {"BANNER": database.banner, "BANNER_FULL": full, "BANNER_LEGACY": database.banner, "CON_ID": 0}


def _containers(session: ViewSession) -> Iterator[Row]:
    for container in session.database.catalog.containers.values():
        if sees(session, container.con_id):
            yield {
                "CON_ID": container.con_id,
                "DBID": container.dbid,
                "CON_UID": container.dbid,
                "GUID": container.guid,
                "NAME": container.name,
                "OPEN_MODE": container.open_mode,
                "OPEN_TIME": date(session.database.startup_time),
            }


def _pdbs(session: ViewSession) -> Iterator[Row]:
    return (row for row in _containers(session) if row["CON_ID"] != ROOT)


def _parameters(session: ViewSession) -> Iterator[Row]:
    catalog = session.database.catalog
    release = f"{session.database.version[0]}.0.0"
    recorded = catalog.parameters.get
    values = (
        ("archive_lag_target", "integer", recorded("archive_lag_target", "0")),
        ("cluster_database", "boolean", recorded("cluster_database", "FALSE")),
        ("compatible", "string", release),
        ("db_block_size", "integer", "8192"),
        ("db_create_file_dest", "string", None),
        ("db_domain", "string", None),
        ("db_name", "string", catalog.database_name),
        ("db_unique_name", "string", catalog.database_name),
        ("db_recovery_file_dest", "string", None),
        ("db_recovery_file_dest_size", "big integer", recorded("db_recovery_file_dest_size", "0")),
        ("enable_goldengate_replication", "boolean", str(catalog.goldengate).upper()),
        ("enable_pluggable_database", "boolean", "TRUE"),
        ("instance_name", "string", catalog.instance_name),
        ("log_archive_dest_1", "string", f"LOCATION={ARCHIVE_DEST}"),
        ("log_archive_format", "string", "%t_%s_%r.arc"),
        ("max_string_size", "string", catalog.max_string_size),
        ("nls_language", "string", "AMERICAN"),
        ("nls_territory", "string", "AMERICA"),
        ("open_cursors", "integer", "1000"),
        ("pga_aggregate_limit", "big integer", recorded("pga_aggregate_limit", str(4 << 30))),
        ("processes", "integer", "500"),
        ("undo_retention", "integer", str(session.storage.undo_seconds)),
    )
    for place, (name, kind, value) in enumerate(values, 1):
        yield {
            "NUM": place,
            "NAME": name,
            "TYPE": _TYPES[kind],
            "VALUE": value,
            "DISPLAY_VALUE": value,
            "DEFAULT_VALUE": value,
        }


def _incarnations(session: ViewSession) -> Iterator[Row]:
    found = session.database.redo.incarnations
    for prior, incarnation in zip((None, *found), found, strict=False):
        yield {
            "INCARNATION#": incarnation.number,
            "RESETLOGS_CHANGE#": incarnation.resetlogs_change,
            "RESETLOGS_TIME": date(incarnation.resetlogs_time),
            "PRIOR_RESETLOGS_CHANGE#": prior.resetlogs_change if prior else 0,
            "PRIOR_RESETLOGS_TIME": date(prior.resetlogs_time) if prior else None,
            "STATUS": "CURRENT" if incarnation is found[-1] else "PARENT",
            "RESETLOGS_ID": incarnation.resetlogs_id,
            "PRIOR_INCARNATION#": prior.number if prior else 0,
        }


def _statistic_names(_: ViewSession) -> Iterator[Row]:
    for place, name in enumerate(_STATISTICS, 20):
        yield {"STATISTIC#": place, "NAME": name, "CLASS": 1, "STAT_ID": place, "DISPLAY_NAME": name, "CON_ID": 0}


def _own_statistics(session: ViewSession) -> Iterator[Row]:
    for place, _ in enumerate(_STATISTICS, 20):
        yield {"SID": session.sid, "STATISTIC#": place, "VALUE": session.pga, "CON_ID": 0}


def _all_statistics(session: ViewSession) -> Iterator[Row]:
    for other in list(session.database.sessions.values()):
        yield from _own_statistics(other)


def _nls(nls: Nls) -> dict[str, str]:
    return {
        "NLS_LANGUAGE": nls.language,
        "NLS_TERRITORY": nls.territory,
        "NLS_CURRENCY": "$",
        "NLS_ISO_CURRENCY": nls.territory,
        "NLS_NUMERIC_CHARACTERS": nls.numeric_characters,
        "NLS_CALENDAR": "GREGORIAN",
        "NLS_DATE_FORMAT": nls.date_format,
        "NLS_DATE_LANGUAGE": nls.language,
        "NLS_SORT": nls.sort,
        "NLS_TIME_FORMAT": "HH.MI.SSXFF AM",
        "NLS_TIMESTAMP_FORMAT": nls.timestamp_format,
        "NLS_TIME_TZ_FORMAT": "HH.MI.SSXFF AM TZR",
        "NLS_TIMESTAMP_TZ_FORMAT": nls.timestamp_tz_format,
        "NLS_DUAL_CURRENCY": "$",
        "NLS_COMP": nls.comp,
        "NLS_LENGTH_SEMANTICS": "BYTE",
        "NLS_NCHAR_CONV_EXCP": "FALSE",
    }


def _calendar(session: ViewSession) -> dict[str, str]:
    """NLS_CALENDAR, which is recorded only: dates are printed in the Gregorian calendar in any case."""
    found = session.settings.parameters.get("NLS_CALENDAR")
    return {} if found is None else {"NLS_CALENDAR": found}


_CHARACTER_SETS = {"NLS_CHARACTERSET": "AL32UTF8", "NLS_NCHAR_CHARACTERSET": "AL16UTF16"}


def _global_name(session: ViewSession) -> Iterator[Row]:
    """GLOBAL_NAME: the database's name, in a pluggable database that one's: DB_NAME of the context USERENV."""
    yield {"GLOBAL_NAME": session_value(session, "DB_NAME")}


def _nls_database(session: ViewSession) -> Iterator[Row]:
    release = ".".join(map(str, session.database.version))
    for name, value in {"NLS_RDBMS_VERSION": release, **_nls(Nls()), **_CHARACTER_SETS}.items():
        yield {"PARAMETER": name, "VALUE": value}


def _nls_session(session: ViewSession) -> Iterator[Row]:
    for name, value in {**_nls(session.settings.nls), **_calendar(session)}.items():
        yield {"PARAMETER": name, "VALUE": value}


def _nls_parameters(session: ViewSession) -> Iterator[Row]:
    for name, value in (_nls(session.settings.nls) | _calendar(session) | _CHARACTER_SETS).items():
        yield {"PARAMETER": name, "VALUE": value, "CON_ID": 0}


def _pdb_incarnations(session: ViewSession) -> Iterator[Row]:
    """V$PDB_INCARNATION: the first incarnation of each PDB has the SCNs of the database's own."""
    database = session.database
    first = database.redo.incarnation
    for container in database.catalog.containers.values():
        if container.con_id == ROOT or not sees(session, container.con_id):
            continue
        found = [(first.resetlogs_change,) * 3, *container.resets]
        for number, (back_to, begin, end) in enumerate(found):
            yield {
                "DB_INCARNATION#": first.number,
                "PDB_INCARNATION#": number,
                "STATUS": "CURRENT" if number == len(found) - 1 else "PARENT",
                "INCARNATION_SCN": back_to,
                "BEGIN_RESETLOGS_SCN": begin,
                "END_RESETLOGS_SCN": end,
                "PRIOR_DB_INCARNATION#": first.number,
                "PRIOR_PDB_INCARNATION#": str(max(number - 1, 0)),
                "CON_ID": container.con_id,
            }


def _undo_statistics(session: ViewSession) -> Iterator[Row]:
    """V$UNDOSTAT: one row, for the ten minutes under way."""
    now = session.storage.clock.now()
    yield {"BEGIN_TIME": date(now - now % 600), "END_TIME": date(now), "TUNED_UNDORETENTION": session.storage.undo_seconds}


def _recovery_area(_: ViewSession) -> Iterator[Row]:
    """V$RECOVERY_FILE_DEST: without DB_RECOVERY_FILE_DEST, a row without a name (Oracle Database Reference)."""
    yield {"SPACE_LIMIT": 0, "SPACE_USED": 0, "SPACE_RECLAIMABLE": 0, "NUMBER_OF_FILES": 0}


VIEWS: tuple[View, ...] = (
    view("V$DATABASE", _DATABASE, _database),
    view("GLOBAL_NAME", "GLOBAL_NAME V4000", _global_name),
    view("V$INSTANCE", _INSTANCE, _instance),
    view("V$VERSION", "BANNER V80, BANNER_FULL V160, BANNER_LEGACY V80, CON_ID N", _version),
    view("V$CONTAINERS", _CONTAINERS, _containers),
    view("V$PDBS", _CONTAINERS, _pdbs),
    view("V$PARAMETER", _PARAMETER, _parameters),
    view("V$SYSTEM_PARAMETER", _PARAMETER, _parameters),
    view("V$UNDOSTAT", _UNDO, _undo_statistics),
    view(
        "V$RECOVERY_FILE_DEST",
        "NAME V513, SPACE_LIMIT N, SPACE_USED N, SPACE_RECLAIMABLE N, NUMBER_OF_FILES N, CON_ID N=0",
        _recovery_area,
    ),
    view("V$DATABASE_INCARNATION", _INCARNATION, _incarnations),
    view("V$PDB_INCARNATION", _PDB_INCARNATION, _pdb_incarnations),
    view("V$STATNAME", "STATISTIC# N, NAME V64, CLASS N, STAT_ID N, DISPLAY_NAME V64, CON_ID N", _statistic_names),
    view("V$MYSTAT", "SID N, STATISTIC# N, VALUE N, CON_ID N", _own_statistics),
    view("V$SESSTAT", "SID N, STATISTIC# N, VALUE N, CON_ID N", _all_statistics),
    view("NLS_DATABASE_PARAMETERS", "PARAMETER V128, VALUE V64", _nls_database),
    view("NLS_SESSION_PARAMETERS", "PARAMETER V128, VALUE V64", _nls_session),
    view("V$NLS_PARAMETERS", "PARAMETER V64, VALUE V64, CON_ID N", _nls_parameters),
)
