"""O5LOGON with a 12c verifier: both sides prove the password without sending it.

    V fixed per user, S and A random;  K = PBKDF2(password, V + label, 4096);  H = SHA512(K + V)[:32]
    server -> AES(H, A), V, S;  client -> AES(H, B), AES(C, salt + password);  C = PBKDF2(hex(B + A), S, 3)
    server -> AES(C, salt + "SERVER_TO_CLIENT")

AES is AES-256-CBC with a zero IV, PBKDF2 is HMAC-SHA512, hexadecimal text is upper case.
"""

from __future__ import annotations

import hashlib
import secrets
from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache

from cryptography.hazmat.primitives.ciphers import Cipher, algorithms, modes

_LABEL = b"AUTH_PBKDF2_SPEEDY_KEY"
_KEY_ITERATIONS = 4096
_SESSION_ITERATIONS = 3
_VERIFIER_12C = 0x4815
Pairs = list[tuple[str, str, int]]


class WrongPassword(Exception):
    """The client's proof does not fit the password, or it is malformed."""


def _encrypt(key: bytes, data: bytes) -> bytes:
    cipher = Cipher(algorithms.AES(key), modes.CBC(bytes(16))).encryptor()
    return cipher.update(data) + cipher.finalize()


def _decrypt(key: bytes, data: bytes) -> bytes:
    cipher = Cipher(algorithms.AES(key), modes.CBC(bytes(16))).decryptor()
    return cipher.update(data) + cipher.finalize()


def _derive(secret: bytes, salt: bytes, size: int, iterations: int) -> bytes:
    return hashlib.pbkdf2_hmac("sha512", secret, salt, iterations, size)


@lru_cache(maxsize=64)
def _key(password: str, verifier: bytes) -> bytes:
    """H of the module; Oracle stores it when the password is set, so that only a client derives it at each logon."""
    speedy = _derive(password.encode(), verifier + _LABEL, 64, _KEY_ITERATIONS)
    return hashlib.sha512(speedy + verifier).digest()[:32]


def _hex(data: bytes) -> str:
    return data.hex().upper()


@dataclass(frozen=True, slots=True)
class Challenge:
    """The server's half of one logon: made by `begin` in phase one, sent by `pairs`, used up by `accept` in phase two.

    :param password: in clear text; None for an unknown user, who gets a challenge like any other and is refused at the proof.
    :param verifier, key: V and H of the module; H of an unknown user is from a random password.
    :param part, salt: A and S, random.
    """

    password: str | None
    verifier: bytes
    key: bytes
    part: bytes
    salt: bytes

    @classmethod
    def begin(cls, user: str, password: str | None) -> Challenge:
        """A challenge with new random parts; `user` as the dictionary has the name. With `password` None, of an unknown user, no
        proof is accepted."""
        verifier = hashlib.sha256(user.encode()).digest()[:16]
        key = _key(password if password is not None else secrets.token_hex(8), verifier)
        return cls(password, verifier, key, secrets.token_bytes(32), secrets.token_bytes(16))

    def pairs(self) -> Pairs:
        """(Key, value, flags) of the reply to phase one, in the order sent."""
        return [
            ("AUTH_SESSKEY", _hex(_encrypt(self.key, self.part)), 0),
            ("AUTH_VFR_DATA", _hex(self.verifier), _VERIFIER_12C),
            ("AUTH_PBKDF2_CSK_SALT", _hex(self.salt), 0),
            ("AUTH_PBKDF2_VGEN_COUNT", str(_KEY_ITERATIONS), 0),
            ("AUTH_PBKDF2_SDER_COUNT", str(_SESSION_ITERATIONS), 0),
            ("AUTH_GLOBALLY_UNIQUE_DBID\0", "0" * 32, 0),
        ]

    def accept(self, proof: Mapping[str, str]) -> SessionKey:
        """Check the pairs of phase two; returns the session's key. Raises WrongPassword when a pair is missing or malformed, the
        password is another, or the user is unknown."""
        try:
            theirs = _decrypt(self.key, bytes.fromhex(proof["AUTH_SESSKEY"]))[:32]
        except (KeyError, ValueError):
            raise WrongPassword from None
        session = SessionKey(_derive(_hex(theirs + self.part).encode(), self.salt, 32, _SESSION_ITERATIONS))
        if self.password is None or not session.proves(proof, self.password):
            raise WrongPassword
        return session


@dataclass(frozen=True, slots=True)
class SessionKey:
    """C of the module: the key both sides have when the password was right; passwords travel under it."""

    key: bytes

    def password(self, pairs: Mapping[str, str], name: str) -> str:
        """The password in clear text in the pair `name`, AUTH_PASSWORD or AUTH_NEWPASSWORD. Raises WrongPassword when it is
        missing or not encrypted with this key."""
        try:
            clear = _decrypt(self.key, bytes.fromhex(pairs[name]))
            return clear[16 : -clear[-1]].decode()
        except (KeyError, ValueError, IndexError):
            raise WrongPassword from None

    def proves(self, pairs: Mapping[str, str], password: str) -> bool:
        """Whether AUTH_PASSWORD of the pairs is this password; False also when it is missing or malformed. Compares in constant time."""
        try:
            given = self.password(pairs, "AUTH_PASSWORD")
        except WrongPassword:
            return False
        return secrets.compare_digest(given.encode(), password.encode())

    def answer(self) -> str:
        """The server's own proof, the value of AUTH_SVR_RESPONSE; another one at each call."""
        return _hex(_encrypt(self.key, secrets.token_bytes(16) + b"SERVER_TO_CLIENT" + b"\x10" * 16))
