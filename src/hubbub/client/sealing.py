"""Seals a report for the collector, so that a relay can pass it on without reading it; see docs/wire-format.md.

HPKE (RFC 9180), base mode: DHKEM(P-256, HKDF-SHA256), HKDF-SHA256, AES-128-GCM. This is the one part of the client that
needs a package, `cryptography`, which is imported when a relay is used.
"""

from __future__ import annotations

import hashlib
import hmac
import re
import struct
from importlib.util import find_spec
from typing import Final

from .checks import ClientError
from .survey import DeviceSurvey

SEALED_BYTES: Final = 214
_INFO: Final = b"hubbub sealed report 1"
_PLAIN_BYTES: Final = 96
_KEM: Final = b"KEM\x00\x10"
_SUITE: Final = b"HPKE\x00\x10\x00\x01\x00\x01"
_RELAY_URL: Final = re.compile(
    r"(?=[!-~]+\Z)(?:https://[^/?#@]+|http://(?:localhost|127\.[0-9.]+|\[::1\])(?::[0-9]+)?)(?:/[^?#]*)?"
)


def check_relay(relay: str) -> str:
    """Return the address of a relay's route. Raises ClientError if it is no address, or `cryptography` is missing."""
    if not _RELAY_URL.fullmatch(str(relay)):
        raise ClientError("a relay's address must be https://…, or http:// on this machine, got another text")
    if find_spec("cryptography") is None:
        raise ClientError("a report through a relay needs cryptography; install it with: pip install cryptography")
    return f"{str(relay).rstrip('/')}/v1/sealed"


def is_key_of(survey: DeviceSurvey, public: bytes) -> bool:
    """Return whether this is the public key that a survey names."""
    return hashlib.sha256(public).hexdigest() == survey.sealed_for


def seal(survey: DeviceSurvey, public: bytes, report: bytes) -> bytes:
    """Return the sealed request of a report, 214 bytes, with new randomness of the operating system."""
    from cryptography.hazmat.primitives.asymmetric import ec
    from cryptography.hazmat.primitives.ciphers.aead import AESGCM
    from cryptography.hazmat.primitives.serialization import Encoding, PublicFormat

    header = struct.pack("<B32sI", 1, bytes.fromhex(survey.sealed_for), survey.crowd)
    plain = (survey.survey_id + bytes([len(report)]) + report).ljust(_PLAIN_BYTES, b"\0")
    curve = ec.SECP256R1()
    own = ec.generate_private_key(curve)
    enc = own.public_key().public_bytes(Encoding.X962, PublicFormat.UncompressedPoint)
    try:
        shared = own.exchange(ec.ECDH(), ec.EllipticCurvePublicKey.from_encoded_point(curve, public))
    except ValueError:
        raise ClientError("the survey's key is no point of P-256, so nobody could open a report") from None
    prk = _extract(_KEM, b"", b"eae_prk", shared)
    secret = _expand(_KEM, prk, b"shared_secret", enc + public, 32)
    context = b"\0" + _extract(_SUITE, b"", b"psk_id_hash", b"") + _extract(_SUITE, b"", b"info_hash", _INFO)
    secret = _extract(_SUITE, secret, b"secret", b"")
    key, nonce = _expand(_SUITE, secret, b"key", context, 16), _expand(_SUITE, secret, b"base_nonce", context, 12)
    return header + enc + AESGCM(key).encrypt(nonce, plain, header)


def _extract(suite: bytes, salt: bytes, label: bytes, material: bytes) -> bytes:
    """Return LabeledExtract of the RFC."""
    return hmac.digest(salt, b"HPKE-v1" + suite + label + material, hashlib.sha256)


def _expand(suite: bytes, prk: bytes, label: bytes, info: bytes, length: int) -> bytes:
    """Return LabeledExpand of the RFC, for at most 32 bytes."""
    text = length.to_bytes(2, "big") + b"HPKE-v1" + suite + label + info + b"\1"
    return hmac.digest(prk, text, hashlib.sha256)[:length]
