"""TCPS with a self-signed certificate, through python-oracledb."""

from __future__ import annotations

import asyncio
import contextlib
import datetime as dt
import gc
import socket
import ssl
import threading
import warnings
from collections.abc import Iterator
from ipaddress import ip_address
from pathlib import Path

import oracledb
import pytest
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID
from tests.fixtures.fix_sandbox import SandboxProcess

LONG_QUERY = "select count(*) from v$parameter a, v$parameter b, v$parameter c, v$parameter d, v$parameter e, v$parameter f, v$parameter g, v$parameter h"


@pytest.fixture(scope="module")
def certificate(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path]:
    """A self-signed certificate for the loopback address, and its key."""
    directory = tmp_path_factory.mktemp("tls")
    key = ec.generate_private_key(ec.SECP256R1())
    name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "sandbox")])
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
    (directory / "cert.pem").write_bytes(made.public_bytes(serialization.Encoding.PEM))
    form = (serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption())
    (directory / "key.pem").write_bytes(key.private_bytes(*form))
    return directory / "cert.pem", directory / "key.pem"


@pytest.fixture(scope="module", params=["19c", "23ai"])
def secured(request: pytest.FixtureRequest, certificate: tuple[Path, Path]) -> Iterator[SandboxProcess]:
    running = SandboxProcess(
        [], "--profile", request.param, "--tls-cert", str(certificate[0]), "--tls-key", str(certificate[1])
    )
    yield running
    running.stop()


@pytest.fixture
def arguments(secured: SandboxProcess, certificate: tuple[Path, Path]) -> dict[str, object]:
    return {
        "user": "system",
        "password": "oracle",
        "dsn": f"tcps://{secured.dsn}",
        "ssl_context": ssl.create_default_context(cafile=str(certificate[0])),
        "ssl_server_dn_match": False,
    }


def test_big_values_both_ways(arguments: dict[str, object]) -> None:
    with oracledb.connect(**arguments) as connection, connection.cursor() as cursor:
        cursor.execute("create table secrets (id number, v varchar2(4000))")
        rows = [(n, "x" * (n % 4000) or None) for n in range(3000)]
        cursor.executemany("insert into secrets values (:1, :2)", rows)
        assert cursor.execute("select * from secrets order by id").fetchall() == rows
        connection.rollback()


def test_cancel(arguments: dict[str, object]) -> None:
    with oracledb.connect(**arguments) as connection:
        timer = threading.Timer(0.3, connection.cancel)
        timer.start()
        with pytest.raises(oracledb.DatabaseError, match="ORA-01013"):
            connection.cursor().execute(LONG_QUERY).fetchall()
        timer.join()
        assert connection.cursor().execute("select 9 from dual").fetchone() == (9,)


def test_pipelined_calls_are_no_cancels(arguments: dict[str, object]) -> None:
    async def work() -> list[object]:
        async with oracledb.connect_async(**arguments) as connection:
            pipeline = oracledb.create_pipeline()
            for number in range(30):
                pipeline.add_fetchone(
                    f"select count(*) + {number} from all_tab_cols a, v$parameter b where a.owner = b.name"
                )
            return [result.rows for result in await connection.run_pipeline(pipeline)]

    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ResourceWarning)  # the driver leaves its TLS transport to the collector
        found = asyncio.run(asyncio.wait_for(work(), 30))
        gc.collect()
    assert found == [[(number,)] for number in range(30)]


def test_a_client_without_tls_is_turned_away(secured: SandboxProcess, arguments: dict[str, object]) -> None:
    with socket.create_connection((secured.host, secured.port), timeout=10) as sock:
        sock.sendall(b"\0\x3a\0\0\1\0\0\0" + bytes(50))
        with contextlib.suppress(ConnectionResetError):
            assert sock.recv(1000)[:1] in (b"", b"\x15")  # the end, or a TLS alert before it
    with oracledb.connect(**arguments) as connection:
        connection.ping()
