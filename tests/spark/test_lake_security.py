"""One configuration for both clients: a topic written by librdkafka over a secured listener, read by Spark over the same."""

from __future__ import annotations

import ipaddress
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from confluent_kafka import Producer
from confluent_kafka.admin import (
    AdminClient,
    NewTopic,
    ScramCredentialInfo,
    ScramMechanism,
    UserScramCredentialUpsertion,
)
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID

from minercdc.config.load import parse_properties
from minercdc.lake import read_changes
from minercdc.local.kafka_broker import KafkaBroker
from minercdc.local.ports import free_port

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

USER, PASSWORD = 'it\'s "me"', 'p\\w"; =d'
KEY_PASSWORD = "key password"
_SCRAM = "org.apache.kafka.common.security.scram.ScramLoginModule required;"
_PLAIN = 'org.apache.kafka.common.security.plain.PlainLoginModule required user_plain="p\\\\w\\";=d";'


@dataclass(frozen=True)
class Signed:
    """A certificate and its key."""

    certificate: x509.Certificate
    key: ec.EllipticCurvePrivateKey

    @property
    def pem(self) -> str:
        return self.certificate.public_bytes(serialization.Encoding.PEM).decode()

    def key_pem(self, password: str = "") -> str:
        encryption = serialization.BestAvailableEncryption(password.encode()) if password else serialization.NoEncryption()
        return self.key.private_bytes(serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, encryption).decode()


def signed(name: str, authority: Signed | None) -> Signed:
    key = ec.generate_private_key(ec.SECP256R1())
    subject = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, name)])
    now = datetime.now(UTC)
    builder = (
        x509.CertificateBuilder()
        .subject_name(subject)
        .issuer_name(authority.certificate.subject if authority else subject)
        .public_key(key.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(now - timedelta(days=1))
        .not_valid_after(now + timedelta(days=2))
        .add_extension(x509.BasicConstraints(ca=authority is None, path_length=None), critical=True)
        .add_extension(
            x509.SubjectAlternativeName([x509.DNSName("localhost"), x509.IPAddress(ipaddress.ip_address("127.0.0.1"))]),
            critical=False,
        )
    )
    return Signed(builder.sign(authority.key if authority else key, hashes.SHA256()), key)


@dataclass(frozen=True)
class Secured:
    """A broker with a listener for SASL_SSL and one for SSL with client certificates."""

    authority: Signed
    client: Signed
    ports: Mapping[str, int]


@pytest.fixture(scope="module")
def secured(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Secured]:
    authority = signed("authority", None)
    server, client = signed("localhost", authority), signed("client", authority)
    ports = {"SASL": free_port(), "MUTUAL": free_port()}
    properties: dict[str, str] = {}
    for listener in ("sasl", "mutual"):
        prefix = f"listener.name.{listener}"
        properties |= {
            f"{prefix}.ssl.keystore.type": "PEM",
            f"{prefix}.ssl.keystore.certificate.chain": server.pem,
            f"{prefix}.ssl.keystore.key": server.key_pem(),
            f"{prefix}.ssl.truststore.type": "PEM",
            f"{prefix}.ssl.truststore.certificates": authority.pem,
        }
    properties |= {
        "listener.name.mutual.ssl.client.auth": "required",
        "listener.name.sasl.sasl.enabled.mechanisms": "SCRAM-SHA-512,PLAIN",
        "listener.name.sasl.scram-sha-512.sasl.jaas.config": _SCRAM,
        "listener.name.sasl.plain.sasl.jaas.config": _PLAIN,
    }
    listeners = {"SASL": ("SASL_SSL", ports["SASL"]), "MUTUAL": ("SSL", ports["MUTUAL"])}
    with KafkaBroker(tmp_path_factory.mktemp("secured"), listeners=listeners, properties=properties) as broker:
        admin = AdminClient({"bootstrap.servers": broker.bootstrap_servers})
        credential = UserScramCredentialUpsertion(
            USER, ScramCredentialInfo(ScramMechanism.SCRAM_SHA_512, 4096), PASSWORD.encode()
        )
        admin.alter_user_scram_credentials([credential])[USER].result(30)
        yield Secured(authority, client, ports)


def client_of(kind: str, secured: Secured, directory: Path) -> dict[str, str]:
    if kind == "certificate":
        return {
            "security.protocol": "SSL",
            "ssl.ca.pem": secured.authority.pem,
            "ssl.certificate.pem": secured.client.pem,
            "ssl.key.pem": secured.client.key_pem(KEY_PASSWORD),
            "ssl.key.password": KEY_PASSWORD,
        }
    ca = directory / "ca.pem"
    ca.write_text(secured.authority.pem)
    user, password = (USER, PASSWORD) if kind == "SCRAM-SHA-512" else ("plain", 'p\\w";=d')
    return {
        "security.protocol": "SASL_SSL",
        "sasl.mechanisms": kind,
        "sasl.username": user,
        "sasl.password": password,
        "ssl.ca.location": str(ca),
    }


@pytest.mark.parametrize("kind", ["SCRAM-SHA-512", "PLAIN", "certificate"])
def test_spark_reads_by_the_configuration_that_librdkafka_writes_by(
    spark: SparkSession, secured: Secured, tmp_path: Path, prefix: str, kind: str
) -> None:
    client = client_of(kind, secured, tmp_path)
    port = secured.ports["MUTUAL" if kind == "certificate" else "SASL"]
    config = parse_properties(
        {
            "name": prefix,
            "topic.prefix": prefix,
            "database.hostname": "x",
            "database.user": "u",
            "database.password": "p",
            "database.dbname": "d",
            "minercdc.kafka.bootstrap.servers": f"127.0.0.1:{port}",
        }
        | {f"minercdc.kafka.client.{name}": value for name, value in client.items()}
    )
    settings = {"bootstrap.servers": config.kafka.bootstrap_servers, **config.kafka_client}
    topic = f"{prefix}.S.T"
    admin = AdminClient(settings)
    admin.create_topics([NewTopic(topic, 1, 1)])[topic].result(30)
    producer = Producer(settings)
    producer.produce(topic, key=b"k", value=b"v")
    assert producer.flush(30) == 0
    query = read_changes(spark, config).writeStream.format("memory").queryName(prefix).start()
    try:
        query.processAllAvailable()
        assert [(bytes(r.key), bytes(r.value)) for r in spark.table(prefix).collect()] == [(b"k", b"v")]
    finally:
        query.stop()
