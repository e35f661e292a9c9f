"""HPKE (RFC 9180) in base mode, one message for each key, with one suite.

The suite is DHKEM(P-256, HKDF-SHA256), HKDF-SHA256, AES-128-GCM. There is no other, so that suites do not split a crowd
into those who use one and those who use another. Names of steps are those of the RFC. `cryptography` has HPKE of its
own since version 47, without associated data, which a sealed report needs; its primitives are used here.
"""

from __future__ import annotations

import hashlib
import hmac
from typing import Final

from cryptography.exceptions import InvalidTag
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.ciphers.aead import AESGCM
from cryptography.hazmat.primitives.serialization import Encoding, PublicFormat

from hubbub.errors import WireError

POINT_BYTES: Final = 65
PRIVATE_BYTES: Final = 32
TAG_BYTES: Final = 16
_KEM: Final = b"KEM\x00\x10"
_SUITE: Final = b"HPKE\x00\x10\x00\x01\x00\x01"
_CURVE: Final = ec.SECP256R1()


class PrivateKey:
    """The private half of a key: it opens what was sealed with the public half. `repr` shows nothing of it."""

    def __init__(self, secret: bytes) -> None:
        number = int.from_bytes(secret, "big")
        try:
            self._key = ec.derive_private_key(number if len(secret) == PRIVATE_BYTES else 0, _CURVE)
        except ValueError:
            raise WireError(f"a private key must be {PRIVATE_BYTES} bytes of a number below P-256's order") from None
        self.public = _encode(self._key.public_key())

    def open(self, info: bytes, associated: bytes, enc: bytes, sealed: bytes) -> bytes:
        """Return the plaintext of a message. Costs about 0.1 ms. Raises WireError if it is not one for this key."""
        try:
            shared = self._key.exchange(ec.ECDH(), _decode(enc))
            key, nonce = _schedule(_shared_secret(shared, enc, self.public), info)
            return AESGCM(key).decrypt(nonce, sealed, associated)
        except (ValueError, InvalidTag):
            raise WireError("a sealed message must be sealed with the public half of this key, got another") from None


def make_private() -> bytes:
    """Return a new private key from the operating system's randomness."""
    return ec.generate_private_key(_CURVE).private_numbers().private_value.to_bytes(PRIVATE_BYTES, "big")


def seal(
    public: bytes, info: bytes, associated: bytes, plaintext: bytes, ephemeral: bytes | None = None
) -> tuple[bytes, bytes]:
    """Return `enc` (65 bytes) and the ciphertext with its tag. Costs about 0.2 ms.

    `ephemeral` is the private half of the key that belongs to this message alone: new randomness of the operating
    system, except in tests with fixed bytes. Raises WireError if the public key is not an uncompressed point of P-256.
    """
    ephemeral = make_private() if ephemeral is None else ephemeral
    own = ec.derive_private_key(int.from_bytes(ephemeral, "big"), _CURVE)
    enc = _encode(own.public_key())
    try:
        shared = own.exchange(ec.ECDH(), _decode(public))
    except ValueError:
        raise WireError(f"a public key must be {POINT_BYTES} bytes, an uncompressed point of P-256") from None
    key, nonce = _schedule(_shared_secret(shared, enc, public), info)
    return enc, AESGCM(key).encrypt(nonce, plaintext, associated)


def _decode(point: bytes) -> ec.EllipticCurvePublicKey:
    """Return a point, or raise ValueError: only the uncompressed form, so that a key has one spelling."""
    if len(point) != POINT_BYTES or point[0] != 4:
        raise ValueError
    return ec.EllipticCurvePublicKey.from_encoded_point(_CURVE, point)


def _encode(key: ec.EllipticCurvePublicKey) -> bytes:
    """Return a point in its uncompressed form."""
    return key.public_bytes(Encoding.X962, PublicFormat.UncompressedPoint)


def _shared_secret(shared: bytes, enc: bytes, public: bytes) -> bytes:
    """ExtractAndExpand of section 4.1, for the result of Diffie and Hellman."""
    prk = _extract(_KEM, b"", b"eae_prk", shared)
    return _expand(_KEM, prk, b"shared_secret", enc + public, 32)


def _schedule(shared_secret: bytes, info: bytes) -> tuple[bytes, bytes]:
    """KeySchedule of section 5.1 in base mode: the key, and the nonce of the first message, which is the only one."""
    context = b"\0" + _extract(_SUITE, b"", b"psk_id_hash", b"") + _extract(_SUITE, b"", b"info_hash", info)
    secret = _extract(_SUITE, shared_secret, b"secret", b"")
    return _expand(_SUITE, secret, b"key", context, 16), _expand(_SUITE, secret, b"base_nonce", context, 12)


def _extract(suite: bytes, salt: bytes, label: bytes, material: bytes) -> bytes:
    """LabeledExtract of section 4."""
    return hmac.digest(salt, b"HPKE-v1" + suite + label + material, hashlib.sha256)


def _expand(suite: bytes, prk: bytes, label: bytes, info: bytes, length: int) -> bytes:
    """LabeledExpand of section 4, for at most one block of SHA-256, which is all that this suite needs."""
    return hmac.digest(prk, length.to_bytes(2, "big") + b"HPKE-v1" + suite + label + info + b"\1", hashlib.sha256)[
        :length
    ]
