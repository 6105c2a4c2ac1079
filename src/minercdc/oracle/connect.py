"""Opens connections to Oracle, with the session settings that everything else relies on.

The NLS formats decide how SQL_REDO prints values, the time zone how it prints TIMESTAMP WITH LOCAL TIME ZONE. Both are lost
with a connection, so this one routine prepares every connection (docs/reference/logminer-facts.md#d-33).
"""

from __future__ import annotations

import logging
import re
import ssl
from collections.abc import Callable, Iterator
from concurrent.futures import Future, wait
from contextlib import contextmanager, suppress
from pathlib import Path
from threading import Thread
from typing import Any, Literal

import oracledb
from tenacity import Retrying, retry_if_exception_type, stop_after_attempt, wait_exponential

from minercdc.config.source.database import DatabaseConfig
from minercdc.errors import ConfigError, MinerCdcError, PrerequisiteError, SourceError, TransientSourceError
from minercdc.oracle.codes import oracle_errors

_log = logging.getLogger(__name__)

# What a session inherits of the instance's parameters, such as another calendar, would change the literals of LogMiner, or which names
# are equal. Archived rows are rows of redo, too (facts B.6.6).
_SESSION = (
    "ALTER SESSION SET NLS_DATE_FORMAT = 'YYYY-MM-DD HH24:MI:SS'"
    " NLS_TIMESTAMP_FORMAT = 'YYYY-MM-DD HH24:MI:SS.FF9'"
    " NLS_TIMESTAMP_TZ_FORMAT = 'YYYY-MM-DD HH24:MI:SS.FF9 TZH:TZM'"
    " NLS_NUMERIC_CHARACTERS = '.,'"
    " NLS_CALENDAR = 'GREGORIAN'"
    " NLS_COMP = 'BINARY' NLS_SORT = 'BINARY'",
    "ALTER SESSION SET TIME_ZONE = '00:00'",
)
_HOST_PORT_SID = re.compile(r"([\w.-]+):(\d+):([\w$#]+)")
_JDBC = "jdbc:oracle:thin:"
_CONNECT_STRING = re.compile(r"\(.*|(?:(?:tcps?:)?//)?[\w.,:\[\]-]+(?:/[^?@]*)?(?:\?.*)?", re.S | re.I)
_WITH_CREDENTIALS = re.compile(rf'([^/@"]*/"[^"]*"|.*?)@({_CONNECT_STRING.pattern})', re.S | re.I)
_NAME = re.compile(r'[A-Za-z][\w$#]*|"[^"]+"')


def database_name(config: DatabaseConfig) -> str:
    """First part of every TableId, in upper case: `database.pdb.name`, or `database.dbname` when that is not given. Raises
    ConfigError for several pluggable databases."""
    _one_pdb(config)
    return (config.database_pdb_name or config.database_dbname).strip('"').upper()


def database_names(config: DatabaseConfig) -> tuple[str, ...]:
    """`database_name` of each database whose tables are captured: one, or several pluggable ones in the order of
    `database.pdb.name`."""
    return tuple(database_name(config.of_pdb(name)) for name in config.pdbs) or (database_name(config),)


def of_database(config: DatabaseConfig, database: str) -> DatabaseConfig:
    """The configuration of one of `database_names` alone; the same object where there is one only."""
    if not config.has_several_pdbs:
        return config
    return next(one for one in map(config.of_pdb, config.pdbs) if database_name(one) == database)


def _one_pdb(config: DatabaseConfig) -> None:
    if config.has_several_pdbs:
        raise ConfigError(
            [f"database.pdb.name: this works with only one pluggable database, not with {config.database_pdb_name}"],
            hint="Use a copy of the configuration that names one of them.",
        )


def dsn_of(config: DatabaseConfig) -> str:
    """The connect string, in the driver's spelling: `database.url`, else host, port and `database.dbname` as a service.

    JDBC's `host:port:sid` becomes a descriptor.

    A user and password in `database.url` are left out: `database.user` and `database.password` are what counts.
    """
    if config.database_url:
        url = _parts(config.database_url)[1].removeprefix("//")
        if of_sid := _HOST_PORT_SID.fullmatch(url):
            host, port, sid = of_sid.groups()
            return f"(DESCRIPTION=(ADDRESS=(PROTOCOL=tcp)(HOST={host})(PORT={port}))(CONNECT_DATA=(SID={sid})))"
        return url
    head = "tcps://" if config.minercdc_database_protocol == "tcps" else ""
    return f"{head}{config.database_hostname}:{config.database_port}/{config.database_dbname}"


def secrets_in(url: str) -> list[str]:
    """Passwords within a `database.url`: `user/password@host`, and parameters such as `wallet_password`; [] for none. Where
    it is unclear what belongs to a password, there is a longer text, too."""
    quoted = re.findall(r"(?i)password\s*=\s*\"([^\"]*)\"", url)
    found = quoted + re.findall(r"(?i)password\s*=\s*([^)&\"\s]+)", url)
    # What follows the first slash up to the last @, too: it is unclear whether an unquoted ? or @ belongs to the password.
    before_last = url.removeprefix(_JDBC).rpartition("@")[0]
    for credentials in (_parts(url)[0], before_last if "//" not in before_last else ""):
        found.append(credentials.partition("/")[2].strip('"'))
    return [secret for secret in found if secret]


def _parts(url: str) -> tuple[str, str]:
    """`user/password`, '' for none, and the connect string of a `database.url`. A password may hold any character."""
    url = url.removeprefix(_JDBC).removeprefix("@")
    if _CONNECT_STRING.fullmatch(url):
        return "", url
    if found := _WITH_CREDENTIALS.fullmatch(url):
        return found[1], found[2]
    credentials, _, connect_string = url.rpartition("@")
    return credentials, connect_string


def connect(config: DatabaseConfig, container: Literal["root", "pdb"] = "pdb") -> oracledb.Connection:
    """A new connection with the session settings, which has run `database.initial.statements`; the caller closes it. Its
    calls may take `database.query.timeout.ms`. Logging on is tried four times, with pauses of up to 2 s, while it fails by a
    TransientSourceError (no listener yet), and may take `database.connection.timeout.ms` each time.

    :param container: where to work: LogMiner in the root, tables in the PDB. Without `database.pdb.name` it has no effect.
    :raises ConfigError: `database.pdb.name` is no name, or several where one is needed; or as `logon_parameters`.
    :raises SourceError, PrerequisiteError: Oracle's errors, as `codes.classify` makes them.
    """
    if container == "pdb":
        _one_pdb(config)
    retrying = Retrying(
        retry=retry_if_exception_type(TransientSourceError),
        stop=stop_after_attempt(4),
        wait=wait_exponential(multiplier=0.25, max=2),
        reraise=True,
    )
    connection: oracledb.Connection = retrying(_connect_once, config)
    try:
        with oracle_errors("running database.initial.statements"), connection.cursor() as cursor:
            for statement in statements_of(config.database_initial_statements):
                cursor.execute(statement)
        if config.database_pdb_name:
            _set_container(connection, config, container)
        with oracle_errors("preparing the session"), connection.cursor() as cursor:
            for statement in _SESSION:
                cursor.execute(statement)
        _see_archived_rows(connection)
    except BaseException:
        with suppress(oracledb.Error):  # it may be closed already
            connection.close()
        raise
    return connection


def _see_archived_rows(connection: oracledb.Connection) -> None:
    """Have queries of the session show archived rows, too (ROW ARCHIVAL). A database that refuses this has none."""
    try:
        with oracle_errors("preparing the session"), connection.cursor() as cursor:
            cursor.execute("ALTER SESSION SET ROW ARCHIVAL VISIBILITY = ALL")
    except TransientSourceError:
        raise
    except (SourceError, PrerequisiteError) as error:
        _log.debug("archived rows: %s", error.message)


@contextmanager
def in_root(connection: oracledb.Connection, config: DatabaseConfig) -> Iterator[None]:
    """Within the context, the session works in the root, and in the PDB again after it. `database.pdb.name` is given, and no
    transaction is open.

    :raises SourceError, PrerequisiteError: Oracle refuses.
    """
    _set_container(connection, config, "root")
    try:
        yield
    finally:
        _set_container(connection, config, "pdb")


def _set_container(connection: oracledb.Connection, config: DatabaseConfig, container: Literal["root", "pdb"]) -> None:
    name = _container(config.database_pdb_name or "", container)
    try:
        with oracle_errors(f"going to container {name}"), connection.cursor() as cursor:
            cursor.execute(f"ALTER SESSION SET CONTAINER = {name}")
    except PrerequisiteError as error:
        if "ORA-01031" in error.message:
            error.hint = (
                f"GRANT SET CONTAINER TO {config.session_user} CONTAINER=ALL; only common users (C##...) can have it. A user of the"
                " PDB alone mines within the PDB: leave database.pdb.name out, and give the PDB's service as database.dbname."
            )
        raise


def _connect_once(config: DatabaseConfig) -> oracledb.Connection:
    limit = config.database_connection_timeout_ms / 1000
    secrets = secrets_in(config.database_url or "")

    def public(text: str) -> str:
        for secret in secrets:
            text = text.replace(secret, "***")
        return text

    doing = public(f"connecting to {dsn_of(config)} as {config.database_user}")

    def log_on() -> oracledb.Connection:
        return oracledb.connect(
            dsn=dsn_of(config),
            tcp_connect_timeout=limit,
            expire_time=2,  # minutes: keeps firewalls from dropping a quiet connection
            **logon_parameters(config),
        )

    try:
        with oracle_errors(doing):
            connection = _within(limit, log_on, doing)
            connection.call_timeout = config.database_query_timeout_ms
            return connection
    except MinerCdcError as error:
        if secrets:  # the driver's own text may hold the connect string
            error.message = public(error.message)
            error.__cause__ = None
        raise


def statements_of(text: str) -> list[str]:
    """The statements of `database.initial.statements`, in order: `;` separates them, `;;` is a `;` within one. [] for ''."""
    parts = text.replace(";;", "\0").split(";")
    return [statement for part in parts if (statement := part.replace("\0", ";").strip())]


def logon_parameters(config: DatabaseConfig) -> dict[str, Any]:
    """Who logs on, and by which wallet, proxy or token, as the driver names it.

    :raises ConfigError: the token cannot be read; the wallet is there and cannot be read, or its key not opened by the password.
        A missing wallet is reported by the driver, at the logon.
    """
    found: dict[str, Any] = {}
    if config.minercdc_database_token_location:
        found["access_token"] = _token(Path(config.minercdc_database_token_location))
    else:
        found |= {"user": config.database_user, "password": config.database_password.get_secret_value()}
    if config.minercdc_database_wallet_location:
        found["wallet_location"] = config.minercdc_database_wallet_location
        _check_wallet(config)
    if config.minercdc_database_wallet_password:
        found["wallet_password"] = config.minercdc_database_wallet_password.get_secret_value()
    if config.minercdc_database_config_dir:
        found["config_dir"] = config.minercdc_database_config_dir
    if config.minercdc_database_https_proxy_host:
        found["https_proxy"] = config.minercdc_database_https_proxy_host
        found["https_proxy_port"] = config.minercdc_database_https_proxy_port
    if not config.minercdc_database_ssl_server_dn_match:
        found["ssl_server_dn_match"] = False
    if config.minercdc_database_ssl_server_cert_dn:
        found["ssl_server_cert_dn"] = config.minercdc_database_ssl_server_cert_dn
    return found


def _check_wallet(config: DatabaseConfig) -> None:
    """Refuse a wallet that cannot be read, or whose private key the password does not open. The driver would go
    on without a certificate of the client then, and a server that demands one closes the connection without a reason. A
    missing wallet, or one without private key, passes."""
    file = Path(config.minercdc_database_wallet_location or "") / "ewallet.pem"
    password = config.minercdc_database_wallet_password
    try:
        if not file.exists() or b"PRIVATE KEY" not in file.read_bytes():
            return  # the driver says that it is missing, where it needs it; or it holds authorities only
        opened = password.get_secret_value() if password else ""
        ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT).load_cert_chain(file, password=lambda: opened)
    except ssl.SSLError as error:
        name = "minercdc.database.wallet.password"
        raise ConfigError([f"{name}: the private key in {file} cannot be opened with it: {error}"]) from None
    except OSError as error:
        raise ConfigError([f"minercdc.database.wallet.location: {file} cannot be read: {error.strerror}"]) from None


def _token(location: Path) -> str | tuple[str, str]:
    try:
        if not location.is_dir():
            return location.read_text(encoding="ascii").strip()
        token = (location / "token").read_text(encoding="ascii").strip()
        lines = (location / "oci_db_key.pem").read_text(encoding="ascii").splitlines()
        return token, "".join(line for line in lines if not line.startswith("-----"))  # as the driver wants the key
    except (OSError, UnicodeDecodeError) as error:
        raise ConfigError([f"minercdc.database.token.location: cannot be read: {error}"]) from None


def _within(seconds: float, log_on: Callable[[], oracledb.Connection], doing: str) -> oracledb.Connection:
    """The connection that `log_on` makes in a thread, whose errors are raised; TransientSourceError after `seconds`: the
    driver limits only the connect of TCP, and waits on a silent server. One that is made later is closed."""
    outcome: Future[oracledb.Connection] = Future()

    def attempt() -> None:
        try:
            outcome.set_result(log_on())
        except BaseException as error:
            outcome.set_exception(error)

    Thread(target=attempt, name="logon", daemon=True).start()
    if wait([outcome], seconds).not_done:
        outcome.add_done_callback(_close_late)
        raise TransientSourceError(
            f"{doing}: no answer within {seconds:g} s",
            hint="Check that a database listens there, and that minercdc.database.protocol fits the port.",
        )
    return outcome.result()


def _close_late(outcome: Future[oracledb.Connection]) -> None:
    if outcome.exception() is None:
        outcome.result().close()


def _container(pdb: str, container: Literal["root", "pdb"]) -> str:
    if container == "root":
        return "CDB$ROOT"
    if not _NAME.fullmatch(pdb):
        raise ConfigError([f"database.pdb.name: '{pdb}' is not a name of a pluggable database"])
    return pdb


def close_unless_lost(connection: oracledb.Connection) -> None:
    """Close a connection; one that the driver has lost is left alone, since it crashes when that is used. Raises nothing of
    Oracle's."""
    if connection.is_healthy():
        with suppress(oracledb.Error):
            connection.close()
