"""librdkafka's settings as options of Spark's Kafka source."""

from __future__ import annotations

from pathlib import Path

import pytest
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.serialization import BestAvailableEncryption, Encoding, NoEncryption, PrivateFormat

from minercdc.errors import ConfigError
from minercdc.lake.stream.kafka_options import spark_kafka_options


def test_a_plain_client_needs_nothing() -> None:
    assert spark_kafka_options({"socket.timeout.ms": "1000", "linger.ms": "5", "debug": "security"}) == {}


def test_scram_over_tls_with_files_becomes_inline_pem(tmp_path: Path) -> None:
    ca = tmp_path / "ca.pem"
    ca.write_text("-----BEGIN CERTIFICATE-----\nCA\n-----END CERTIFICATE-----\n")
    client = {
        "security.protocol": "sasl_ssl",
        "sasl.mechanisms": "SCRAM-SHA-512",
        "sasl.username": 'o"n\\e',
        "sasl.password": "p'=; w",
        "ssl.ca.location": str(ca),
        "ssl.endpoint.identification.algorithm": "none",
    }
    assert spark_kafka_options(client) == {
        "kafka.security.protocol": "SASL_SSL",
        "kafka.sasl.mechanism": "SCRAM-SHA-512",
        "kafka.sasl.jaas.config": "org.apache.kafka.common.security.scram.ScramLoginModule required "
        'username="o\\"n\\\\e" password="p\'=; w";',
        "kafka.ssl.truststore.type": "PEM",
        "kafka.ssl.truststore.certificates": ca.read_text(),
        "kafka.ssl.endpoint.identification.algorithm": "",
    }


KEY = ec.generate_private_key(ec.SECP256R1())
PLAIN_KEY = KEY.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption()).decode()
LOCKED_KEY = KEY.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, BestAvailableEncryption(b"x")).decode()
OLD_KEY = KEY.private_bytes(Encoding.PEM, PrivateFormat.TraditionalOpenSSL, NoEncryption()).decode()


@pytest.mark.parametrize("key", [PLAIN_KEY, LOCKED_KEY, OLD_KEY])
def test_a_client_certificate_becomes_a_pem_keystore(key: str) -> None:
    client = {"security.protocol": "SSL", "ssl.certificate.pem": "CERT", "ssl.key.pem": key, "ssl.key.password": "x"}
    assert spark_kafka_options(client) == {
        "kafka.security.protocol": "SSL",
        "kafka.ssl.keystore.type": "PEM",
        "kafka.ssl.keystore.certificate.chain": "CERT",
        "kafka.ssl.keystore.key": PLAIN_KEY,
    }


@pytest.mark.parametrize(
    ("client", "message"),
    [
        (
            {"security.protocol": "SASL_SSL", "sasl.mechanism": "OAUTHBEARER"},
            "sasl.mechanism: the lake does not support OAUTHB",
        ),
        ({"security.protocol": "SASL_SSL"}, "sasl.mechanisms: the lake does not support GSSAPI"),
        ({"security.protocol": "SASL_SSL", "sasl.mechanism": "PLAIN", "sasl.username": "u"}, "sasl.password: needed"),
        ({"security.protocol": "TLS"}, "security.protocol: TLS is not one of"),
        ({"enable.ssl.certificate.verification": "false"}, "enable.ssl.certificate.verification: Java's client always"),
        ({"ssl.keystore.location": "/x.p12"}, "ssl.keystore.location: the lake does not know"),
        ({"ssl.ca.location": "/no/such/file"}, "ssl.ca.location: /no/such/file cannot be read"),
        ({"ssl.key.pem": "K"}, "a key needs a certificate"),
        (
            {"ssl.key.pem": LOCKED_KEY, "ssl.certificate.pem": "C", "ssl.key.password": "y"},
            "ssl.key.location: the key cannot be read",
        ),
        ({"ssl.key.pem": LOCKED_KEY, "ssl.certificate.pem": "C"}, "ssl.key.location: the key cannot be read"),
        ({"ssl.endpoint.identification.algorithm": "ldaps"}, "ldaps is not https or none"),
    ],
)
def test_what_java_cannot_do_is_refused_by_name(client: dict[str, str], message: str) -> None:
    with pytest.raises(ConfigError, match=message):
        spark_kafka_options(client)
