"""Properties of the connection to the database."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Final, Literal, Self

from pydantic import Field, SecretStr, field_validator

from minercdc.config import extensions
from minercdc.config.section import Section, rule

_PROXIED = re.compile(r"[^\[\]]+\[(?P<user>[^\[\]]+)\]")
_PDB: Final = re.compile(r'[A-Za-z][\w$#]*|"[^",.]+"')


class DatabaseConfig(Section):
    """Where the database is.

    Also how to log on, which pluggable databases are captured, and by which adapter."""

    database_hostname: str | None = Field(None, description="Listener host; needed unless `database.url` is given.")
    database_port: int = Field(1521, ge=1, le=65535, description="Listener port.")
    database_user: str = Field(
        description="User of the connector: a common user (C##...) if LogMiner runs in the root, a user of the PDB if it runs within the PDB. `PROXY[USER]`: log on as PROXY to work as USER ([logging on](how-to/secure.md#log-on-to-oracle))."
    )
    database_password: SecretStr = Field(
        SecretStr(""),
        description="Password, needed unless `minercdc.database.token.location` is given. Prefer MINERCDC_DATABASE_PASSWORD, MINERCDC_DATABASE_PASSWORD_FILE or a `${file:...}` placeholder.",
    )
    database_dbname: str = Field(
        description="Service name of the database: of a container database, together with `database.pdb.name`; or of a pluggable database without that property: LogMiner then runs within it (Oracle 19.10 and later, [how](how-to/rds-and-autonomous.md#within-a-pluggable-database))."
    )
    database_pdb_name: str | None = Field(
        None,
        description="Pluggable database to capture from. `logminer` and `logminer_unbuffered` accept several, separated by commas ([how](how-to/several-pdbs.md)).",
    )
    database_url: str | None = Field(
        None,
        description="Connect string (EZConnect or a full descriptor; `jdbc:oracle:thin:@` is dropped) instead of host and port.",
    )
    database_query_timeout_ms: int = Field(
        600_000, ge=0, description="Time limit of one round trip to the database; 0: no limit."
    )
    database_connection_timeout_ms: int = Field(60_000, ge=1, description="Time limit for making a connection.")
    database_connection_adapter: str = Field(
        "logminer",
        description="How changes are read: `logminer` buffers uncommitted rows itself, with `logminer_unbuffered` the"
        " database holds them back (COMMITTED_DATA_ONLY). An existing connector may change from one to the other."
        " `flashback` reads row versions, which takes SELECT and FLASHBACK on the tables only."
        " `olr`: from OpenLogReplicator, which reads the redo logs itself."
        " `fors_olr`: from FORS Oracle Logical Replicator, which reads the archived logs itself."
        " `txlog`: by triggers and a log of transactions, as of Databus for Oracle; needs no redo and no privilege of the database.",
    )

    database_initial_statements: str = Field(
        "",
        description="Statements that each new session runs first, separated by `;`; `;;` stands for a `;` within a statement. The connector then sets time zone, NLS formats and container as it needs them.",
    )
    minercdc_database_protocol: Literal["tcp", "tcps"] = Field(
        "tcp", description="`tcps`: TLS to `database.hostname`. A `database.url` contains its own protocol."
    )
    minercdc_database_wallet_location: str | None = Field(
        None,
        description="Directory with `ewallet.pem`: the trusted certificate authorities, and this client's certificate and key (mTLS). Convert other forms of wallets with `orapki` or `openssl`.",
    )
    minercdc_database_wallet_password: SecretStr | None = Field(None, description="Password of the key in `ewallet.pem`.")
    minercdc_database_ssl_server_dn_match: bool = Field(
        True, description="Whether the server's certificate must match the host or the next property."
    )
    minercdc_database_ssl_server_cert_dn: str | None = Field(
        None, description="Required distinguished name of the server's certificate."
    )
    minercdc_database_config_dir: str | None = Field(
        None, description="Directory with `tnsnames.ora`, for a `database.url` that is an alias in it."
    )
    minercdc_database_https_proxy_host: str | None = Field(
        None, description="HTTP proxy for TLS connections, for example to an Autonomous Database."
    )
    minercdc_database_https_proxy_port: int = Field(443, ge=1, le=65535, description="Its port.")
    minercdc_database_token_location: str | None = Field(
        None,
        description="Log on by a token, read again for each session: a file with an OAuth 2.0 token, or a directory with `token` and `oci_db_key.pem` (OCI IAM). It requires TLS. `database.user` is the user that the token stands for ([logging on](how-to/secure.md#log-on-to-oracle)).",
    )

    @field_validator("database_connection_adapter", mode="before")
    @classmethod
    def _is_installed(cls, value: object) -> object:
        if isinstance(value, str) and value.strip().lower() == "xstream":
            raise ValueError(
                "XStream needs Oracle's client libraries and a GoldenGate licence, and is not read; docs/capture/xstream.md says how to"
                " move over to logminer"
            )
        return extensions.chosen(extensions.ADAPTERS, value)

    @property
    def session_user(self) -> str:
        """The user who the connector works as, and whom grants are for: `database.user`; USER of `PROXY[USER]`."""
        found = _PROXIED.fullmatch(self.database_user)
        return found["user"] if found else self.database_user

    @property
    def pdbs(self) -> tuple[str, ...]:
        """The pluggable databases as they are given; () when there is none."""
        return tuple(name.strip() for name in (self.database_pdb_name or "").split(",") if name.strip())

    @property
    def has_several_pdbs(self) -> bool:
        """Whether tables of more than one pluggable database are captured."""
        return len(self.pdbs) > 1

    def of_pdb(self, name: str) -> Self:
        """A copy for the pluggable database `name` alone."""
        return self.model_copy(update={"database_pdb_name": name})

    @rule
    def _several_pdbs(self) -> Iterator[str]:
        if not self.database_pdb_name or "," not in self.database_pdb_name:
            return
        for name in self.pdbs:
            if not _PDB.fullmatch(name):
                yield f"database.pdb.name: '{name}' is not a name of a pluggable database"
        folded = [name.strip('"').upper() for name in self.pdbs]
        for name in sorted({name for name in folded if folded.count(name) > 1}):
            yield f"database.pdb.name: {name} is given twice"
        adapter = self.database_connection_adapter
        if adapter not in ("logminer", "logminer_unbuffered"):
            yield f"database.pdb.name: only the adapters logminer and logminer_unbuffered support several pluggable databases, not {adapter}"

    @rule
    def _password_or_token(self) -> Iterator[str]:
        if not self.database_password.get_secret_value() and not self.minercdc_database_token_location:
            yield "database.password: needed (or minercdc.database.token.location)"

    @rule
    def _host_or_url(self) -> Iterator[str]:
        if not self.database_hostname and not self.database_url:
            yield "database.hostname: needed (or database.url)"
