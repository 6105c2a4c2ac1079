"""Logging on: statements of each session, TLS with a wallet on both sides, a proxy user, tokens."""

from __future__ import annotations

import datetime as dt
import socket
import ssl
import threading
from collections.abc import Iterator
from contextlib import closing, suppress
from ipaddress import ip_address
from pathlib import Path

import pytest
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID
from tests.fixtures.fix_sandbox import SandboxProcess

from minercdc.capture.registry import adapter_factory
from minercdc.config.load import parse_properties
from minercdc.config.source.database import DatabaseConfig
from minercdc.errors import ConfigError, MinerCdcError, PrerequisiteError, SourceError
from minercdc.operate.check.plan_grants import grants
from minercdc.oracle.connect import connect, logon_parameters, statements_of
from minercdc.schema.table import TableId


@pytest.fixture(scope="module")
def wallet(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A directory with `ewallet.pem`: a certificate that signs itself, for server and client, and its encrypted key."""
    directory = tmp_path_factory.mktemp("wallet")
    key = ec.generate_private_key(ec.SECP256R1())
    name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "127.0.0.1")])
    made = (
        x509.CertificateBuilder()
        .subject_name(name)
        .issuer_name(name)
        .public_key(key.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(dt.datetime(2020, 1, 1))
        .not_valid_after(dt.datetime(2120, 1, 1))
        .add_extension(x509.SubjectAlternativeName([x509.IPAddress(ip_address("127.0.0.1"))]), critical=False)
        .add_extension(x509.BasicConstraints(ca=True, path_length=None), critical=True)
        .sign(key, hashes.SHA256())
    )
    own = key.private_bytes(
        serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.BestAvailableEncryption(b"opens")
    )
    (directory / "ewallet.pem").write_bytes(own + made.public_bytes(serialization.Encoding.PEM))
    return directory


@pytest.fixture
def listener(sandbox: SandboxProcess, wallet: Path) -> Iterator[int]:
    """Port of a TLS listener in front of the sandbox, which takes clients with the wallet's certificate only."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(wallet / "ewallet.pem", password="opens")
    context.load_verify_locations(wallet / "ewallet.pem")
    context.verify_mode = ssl.CERT_REQUIRED
    server = socket.create_server(("127.0.0.1", 0))

    def copy(source: socket.socket, target: socket.socket) -> None:
        with suppress(OSError), closing(source), closing(target):
            while data := source.recv(65536):
                target.sendall(data)

    def relay(plain: socket.socket) -> None:
        with suppress(OSError):
            client = context.wrap_socket(plain, server_side=True)
            database = socket.create_connection((sandbox.host, sandbox.port))
            threading.Thread(target=copy, args=(client, database), daemon=True).start()
            copy(database, client)

    def accept() -> None:
        with suppress(OSError):
            while True:
                threading.Thread(target=relay, args=(server.accept()[0],), daemon=True).start()

    threading.Thread(target=accept, daemon=True).start()
    yield server.getsockname()[1]
    server.close()


def database(source: SandboxProcess, **more: str) -> DatabaseConfig:
    given = {
        "database.hostname": source.host,
        "database.port": str(source.port),
        "database.user": "system",
        "database.password": "oracle",
        "database.dbname": source.service,
        "database.connection.timeout.ms": "5000",
    }
    return DatabaseConfig(**given | {name.replace("_", "."): value for name, value in more.items()})  # type: ignore[arg-type]


def test_tls_with_a_certificate_on_both_sides(sandbox: SandboxProcess, wallet: Path, listener: int) -> None:
    tls = {"minercdc_database_protocol": "tcps", "database_port": str(listener)}
    own = {"minercdc_database_wallet_location": str(wallet), "minercdc_database_wallet_password": "opens"}
    with connect(database(sandbox, **tls, **own)) as connection, connection.cursor() as cursor:
        assert cursor.execute("select 1 from dual").fetchone() == (1,)
    with pytest.raises(
        SourceError, match=r"(?s)CERTIFICATE_VERIFY_FAILED.*hint: minercdc\.database\.wallet\.location"
    ) as refused:
        connect(database(sandbox, **tls))
    assert type(refused.value) is SourceError, "it is not tried again"
    with pytest.raises(MinerCdcError):
        connect(database(sandbox, **tls, **{**own, "minercdc_database_ssl_server_cert_dn": "CN=other"}))


@pytest.mark.parametrize("password", ["wrong", None])
def test_a_wallet_that_the_password_does_not_open(sandbox: SandboxProcess, wallet: Path, password: str | None) -> None:
    """The driver would go on without a certificate of its own."""
    own = {"minercdc_database_wallet_location": str(wallet)}
    own |= {"minercdc_database_wallet_password": password} if password else {}
    with pytest.raises(
        ConfigError, match=r"minercdc\.database\.wallet\.password: the private key in .*ewallet\.pem cannot be opened"
    ):
        connect(database(sandbox, minercdc_database_protocol="tcps", **own))


def test_a_wallet_of_authorities_takes_no_password(sandbox: SandboxProcess, wallet: Path, tmp_path: Path) -> None:
    _, _, certificate = (wallet / "ewallet.pem").read_text().partition("-----BEGIN CERTIFICATE")
    (tmp_path / "ewallet.pem").write_text(f"-----BEGIN CERTIFICATE{certificate}")
    found = logon_parameters(database(sandbox, minercdc_database_wallet_location=str(tmp_path)))
    assert found["wallet_location"] == str(tmp_path)


@pytest.mark.parametrize(
    ("more", "problem"),
    [
        (
            {"minercdc_database_protocol": "tcps", "minercdc_database_wallet_location": "/nowhere"},
            r"DPY-2018(.|\n)*ewallet\.pem",
        ),
        ({"token": "no token"}, r"DPY-2031(.|\n)*minercdc\.database\.token\.location"),
        ({"token": "e30.eyJleHAiOiA5OTk5OTk5OTk5fQ.c2ln"}, r"DPY-2034(.|\n)*minercdc\.database\.protocol=tcps"),
        ({"minercdc_database_https_proxy_host": "127.0.0.1"}, r"DPY-2029(.|\n)*minercdc\.database\.protocol=tcps"),
    ],
)
def test_what_the_driver_refuses_is_not_tried_again(
    sandbox: SandboxProcess, tmp_path: Path, more: dict[str, str], problem: str
) -> None:
    if token := more.pop("token", ""):
        (tmp_path / "token").write_text(token)
        more["minercdc_database_token_location"] = str(tmp_path / "token")
    with pytest.raises(SourceError, match=problem) as refused:
        connect(database(sandbox, **more))
    assert type(refused.value) is SourceError


def test_statements_of_the_user_come_first_in_each_session(sandbox: SandboxProcess) -> None:
    given = "create table said (v varchar2(9)); insert into said values ('a;;b');;alter session set nls_date_format = 'YY'"
    given = given.replace(");;", "); ")
    config = database(sandbox, database_initial_statements=given)
    with connect(config) as connection, connection.cursor() as cursor:
        assert cursor.execute("select v from said").fetchone() == ("a;b",)
        assert cursor.execute("select to_char(date '2024-02-29') from dual").fetchone() == ("2024-02-29 00:00:00",)
        cursor.execute("drop table said purge")
    with pytest.raises(MinerCdcError, match="running database.initial.statements"):
        connect(database(sandbox, database_initial_statements="alter session set nonsense"))


def test_statements_are_split_at_semicolons() -> None:
    assert statements_of(" a ; b;;c ;; d; ; ") == ["a", "b;c ; d"]
    assert statements_of("") == []


def test_a_proxy_user_works_with_the_grants_of_the_other(sandbox: SandboxProcess) -> None:
    with sandbox.connect() as admin, admin.cursor() as cursor:
        cursor.execute("create user through identified by t")
        cursor.execute("grant create session to through")
        cursor.execute("create user works identified by w")
        cursor.execute("grant create session to works")
        config = database(sandbox, database_user="through[works]", database_password="t")
        with pytest.raises(PrerequisiteError, match="ORA-28150(.|\n)*GRANT CONNECT THROUGH"):
            connect(config)
        cursor.execute("alter user works grant connect through through")
    with connect(config) as connection, connection.cursor() as cursor:
        assert cursor.execute("select user from dual").fetchone() == ("WORKS",)
    assert config.session_user == "works"
    assert database(sandbox).session_user == "system"


def test_grants_are_for_the_user_in_brackets() -> None:
    """As is the flush table, which belongs to that user."""
    facts = {"topic.prefix": "t", "database.hostname": "h", "database.password": "p", "database.dbname": "ORCLCDB"}
    facts |= {
        "database.pdb.name": "P",
        "minercdc.kafka.bootstrap.servers": "k",
        "minercdc.log.mining.flush.table": "FLUSHED",
    }
    config = parse_properties({**facts, "database.user": "c##proxy[c##works]"})
    statements = list(grants(config, [TableId("P", "S", "T")]))
    assert not [statement for statement in statements if "PROXY" in statement]
    assert "GRANT CREATE SESSION TO C##WORKS CONTAINER=ALL;" in statements
    assert adapter_factory("logminer").own_tables(config) == {("C##WORKS", "FLUSHED")}


def test_what_the_driver_is_given(sandbox: SandboxProcess, tmp_path: Path) -> None:
    (tmp_path / "token").write_text("t0\n")
    (tmp_path / "oci_db_key.pem").write_text("-----BEGIN PRIVATE KEY-----\nab\ncd\n-----END PRIVATE KEY-----\n")
    more = {
        "minercdc_database_https_proxy_host": "proxy",
        "minercdc_database_config_dir": "/net",
        "minercdc_database_ssl_server_dn_match": "false",
    }
    assert logon_parameters(database(sandbox, database_user="proxy[app]", **more)) == {
        "user": "proxy[app]",
        "password": "oracle",
        "https_proxy": "proxy",
        "https_proxy_port": 443,
        "config_dir": "/net",
        "ssl_server_dn_match": False,
    }
    directory = database(sandbox, minercdc_database_token_location=str(tmp_path), database_password="")
    assert logon_parameters(directory) == {"access_token": ("t0", "abcd")}
    (tmp_path / "token").write_text("t1")
    assert logon_parameters(directory) == {"access_token": ("t1", "abcd")}
    file = database(sandbox, minercdc_database_token_location=str(tmp_path / "token"))
    assert logon_parameters(file) == {"access_token": "t1"}
    with pytest.raises(ConfigError, match="token.location: cannot be read"):
        logon_parameters(database(sandbox, minercdc_database_token_location="/nowhere"))
    with pytest.raises(ValueError, match="database.password: needed"):
        database(sandbox, database_password="")
