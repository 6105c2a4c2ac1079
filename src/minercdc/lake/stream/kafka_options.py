"""librdkafka's settings of the configuration as options of Spark's Kafka source, whose client is Java's."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from cryptography.exceptions import UnsupportedAlgorithm
from cryptography.hazmat.primitives.serialization import Encoding, NoEncryption, PrivateFormat, load_pem_private_key

from minercdc.errors import ConfigError

_JAAS = {
    "PLAIN": "org.apache.kafka.common.security.plain.PlainLoginModule",
    "SCRAM-SHA-256": "org.apache.kafka.common.security.scram.ScramLoginModule",
    "SCRAM-SHA-512": "org.apache.kafka.common.security.scram.ScramLoginModule",
}
_PROTOCOLS = ("PLAINTEXT", "SSL", "SASL_PLAINTEXT", "SASL_SSL")
# librdkafka's names of PEM material: the file, the text, and Java's option that takes the text
_PEM = (
    ("ssl.ca.location", "ssl.ca.pem", "ssl.truststore.certificates"),
    ("ssl.certificate.location", "ssl.certificate.pem", "ssl.keystore.certificate.chain"),
    ("ssl.key.location", "ssl.key.pem", "ssl.keystore.key"),
)
_READ = frozenset(
    (
        *("security.protocol", "sasl.mechanism", "sasl.mechanisms", "sasl.username", "sasl.password"),
        *("ssl.key.password", "ssl.endpoint.identification.algorithm", "enable.ssl.certificate.verification"),
        *(name for file, text, _ in _PEM for name in (file, text)),
    )
)
_PREFIX = "minercdc.kafka.client."
_SECURITY = ("ssl.", "sasl.", "security.", "enable.ssl.", "enable.sasl.", "https.")


def spark_kafka_options(client: Mapping[str, str]) -> dict[str, str]:
    """Options `kafka.NAME` of the security settings, with certificates and keys as text: executors lack the files.

    Other settings (timeouts and the like) are left out: they are librdkafka's own.

    :param client: librdkafka's settings, as of `minercdc.kafka.client.*`.
    :raises ConfigError: a setting of security, or a value of one, that Java's client lacks, a user or password that is
        missing, or a key or certificate that cannot be read or comes without the other; all of them are listed.
    """
    problems = [
        f"{_PREFIX}{name}: the lake does not know this setting; Spark's Kafka client is Java's"
        for name in sorted(client)
        if name.startswith(_SECURITY) and name not in _READ
    ]
    options = _protocol(client, problems) | _certificates(client, problems)
    if problems:
        raise ConfigError(problems)
    return {f"kafka.{name}": value for name, value in options.items()}


def _protocol(client: Mapping[str, str], problems: list[str]) -> dict[str, str]:
    protocol = client.get("security.protocol", "PLAINTEXT").strip().upper()
    if protocol not in _PROTOCOLS:
        problems.append(f"{_PREFIX}security.protocol: {protocol} is not one of {', '.join(_PROTOCOLS)}")
        return {}
    options = {"security.protocol": protocol} if "security.protocol" in client else {}
    return options | _sasl(client, problems) if protocol.startswith("SASL") else options


def _sasl(client: Mapping[str, str], problems: list[str]) -> dict[str, str]:
    given = next((name for name in ("sasl.mechanism", "sasl.mechanisms") if name in client), "sasl.mechanisms")
    mechanism = client.get(given, "GSSAPI").strip().upper()  # librdkafka's default
    if mechanism not in _JAAS:
        problems.append(f"{_PREFIX}{given}: the lake does not support {mechanism}; only {', '.join(_JAAS)}")
        return {}
    missing = [name for name in ("sasl.username", "sasl.password") if name not in client]
    problems.extend(f"{_PREFIX}{name}: needed for {mechanism}" for name in missing)
    if missing:
        return {}
    user, password = (_jaas_text(client[f"sasl.{name}"]) for name in ("username", "password"))
    login = f"{_JAAS[mechanism]} required username={user} password={password};"
    return {"sasl.mechanism": mechanism, "sasl.jaas.config": login}


def _jaas_text(value: str) -> str:
    """A quoted text of a JAAS configuration, whose reader is java.io.StreamTokenizer."""
    escaped = value.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n").replace("\r", "\\r")
    return f'"{escaped}"'


def _certificates(client: Mapping[str, str], problems: list[str]) -> dict[str, str]:
    options = {}
    for file, text, option in _PEM:
        if text in client:
            options[option] = client[text].replace("\\n", "\n")  # librdkafka takes both
        elif file in client:
            try:
                options[option] = Path(client[file]).read_text(encoding="ascii")
            except (OSError, UnicodeDecodeError) as error:
                problems.append(f"{_PREFIX}{file}: {client[file]} cannot be read as PEM: {error}")
    if ("ssl.keystore.key" in options) != ("ssl.keystore.certificate.chain" in options):
        problems.append(f"{_PREFIX}ssl.key.location: a key needs a certificate (ssl.certificate.location)")
    if key := options.get("ssl.keystore.key"):
        try:
            options["ssl.keystore.key"] = _plain_key(key, client.get("ssl.key.password"))
        except (ValueError, TypeError, UnsupportedAlgorithm) as error:
            problems.append(f"{_PREFIX}ssl.key.location: the key cannot be read (ssl.key.password?): {error}")
    if "ssl.truststore.certificates" in options:
        options["ssl.truststore.type"] = "PEM"
    if "ssl.keystore.key" in options:
        options["ssl.keystore.type"] = "PEM"
    if client.get("enable.ssl.certificate.verification", "true").strip().lower() == "false":
        problems.append(
            f"{_PREFIX}enable.ssl.certificate.verification: Java's client always verifies; set the authority by ssl.ca.location"
        )
    algorithm = client.get("ssl.endpoint.identification.algorithm", "https").strip().lower()
    if algorithm not in ("https", "none"):
        problems.append(f"{_PREFIX}ssl.endpoint.identification.algorithm: {algorithm} is not https or none")
    elif "ssl.endpoint.identification.algorithm" in client:
        options["ssl.endpoint.identification.algorithm"] = "" if algorithm == "none" else "https"
    return options


def _plain_key(pem: str, password: str | None) -> str:
    """The key as PKCS #8 without encryption: Java reads no other form, and Java 17 none that today's tools encrypt."""
    key = load_pem_private_key(pem.encode(), password.encode() if password and "ENCRYPTED" in pem else None)
    return key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption()).decode()
