"""HPKE is that of RFC 9180: its test vector, another implementation, and messages that were changed."""

import secrets

import pytest

from hubbub.errors import WireError
from hubbub.sealing.hpke import PrivateKey, make_private, seal

# RFC 9180, A.3.1: DHKEM(P-256, HKDF-SHA256), HKDF-SHA256, AES-128-GCM, base mode, sequence number 0.
INFO = bytes.fromhex("4f6465206f6e2061204772656369616e2055726e")
EPHEMERAL = bytes.fromhex("4995788ef4b9d6132b249ce59a77281493eb39af373d236a1fe415cb0c2d7beb")
PRIVATE = bytes.fromhex("f3ce7fdae57e1a310d87f1ebbde6f328be0a99cdbcadf4d6589cf29de4b8ffd2")
PUBLIC = bytes.fromhex(
    "04fe8c19ce0905191ebc298a9245792531f26f0cece2460639e8bc39cb7f706a826a779b4cf969b8a0e539c7f62fb3d30ad6aa8f80e30f1d12"
    "8aafd68a2ce72ea0"
)
ENC = bytes.fromhex(
    "04a92719c6195d5085104f469a8b9814d5838ff72b60501e2c4466e5e67b325ac98536d7b61a1af4b78e5b7f951c0900be863c403ce65c9bfc"
    "b9382657222d18c4"
)
ASSOCIATED = b"Count-0"
PLAIN = b"Beauty is truth, truth beauty"
SEALED = bytes.fromhex("5ad590bb8baa577f8619db35a36311226a896e7342a6d836d8b7bcd2f20b6c7f9076ac232e3ab2523f39513434")


def test_the_vector_of_the_rfc_is_sealed_to_the_byte() -> None:
    """With the RFC's ephemeral key, `enc` and the ciphertext are those of the RFC."""
    assert seal(PUBLIC, INFO, ASSOCIATED, PLAIN, EPHEMERAL) == (ENC, SEALED)


def test_the_vector_of_the_rfc_is_opened() -> None:
    """The RFC's ciphertext opens to its plaintext, and the public half follows from the private one."""
    private = PrivateKey(PRIVATE)
    assert private.public == PUBLIC
    assert private.open(INFO, ASSOCIATED, ENC, SEALED) == PLAIN


def test_another_implementation_opens_what_we_seal_and_the_reverse() -> None:
    """The HPKE of `cryptography`, which has no associated data, agrees in both directions."""
    theirs = pytest.importorskip("cryptography.hazmat.primitives.hpke")
    from cryptography.hazmat.primitives.asymmetric import ec

    suite = theirs.Suite(theirs.KEM.P256, theirs.KDF.HKDF_SHA256, theirs.AEAD.AES_128_GCM)
    secret = make_private()
    key = ec.derive_private_key(int.from_bytes(secret, "big"), ec.SECP256R1())
    enc, sealed = seal(PrivateKey(secret).public, INFO, b"", PLAIN)
    assert suite.decrypt(enc + sealed, key, INFO) == PLAIN
    made = suite.encrypt(PLAIN, key.public_key(), INFO)
    assert PrivateKey(secret).open(INFO, b"", made[:65], made[65:]) == PLAIN


@pytest.mark.parametrize("place", ["info", "associated", "enc", "sealed", "key"])
def test_one_changed_bit_anywhere_is_refused(place: str) -> None:
    """A message opens only with the same info, associated data, `enc`, ciphertext and key; the error shows nothing."""
    parts = {"info": INFO, "associated": ASSOCIATED, "enc": ENC, "sealed": SEALED, "key": PRIVATE}
    for bit in (0, 8 * len(parts[place]) - 1, 77 % (8 * len(parts[place]))):
        changed = bytearray(parts[place])
        changed[bit // 8] ^= 1 << bit % 8
        got = {**parts, place: bytes(changed)}
        with pytest.raises(WireError, match="must be sealed with the public half of this key") as raised:
            PrivateKey(got["key"]).open(got["info"], got["associated"], got["enc"], got["sealed"])
        assert raised.value.__cause__ is None


@pytest.mark.parametrize(
    "point", [b"", bytes(65), b"\4" + bytes(64), PUBLIC[:64], PUBLIC + b"\0", b"\2" + PUBLIC[1:33], b"\6" + PUBLIC[1:]]
)
def test_a_point_that_is_no_uncompressed_point_of_the_curve_is_refused(point: bytes) -> None:
    """A compressed, hybrid, short, long or foreign point is refused, and so is the one at infinity."""
    with pytest.raises(WireError, match="uncompressed point"):
        seal(point, INFO, ASSOCIATED, PLAIN)
    with pytest.raises(WireError, match="must be sealed with"):
        PrivateKey(PRIVATE).open(INFO, ASSOCIATED, point, SEALED)


@pytest.mark.parametrize("secret", [b"", bytes(32), b"\xff" * 32, bytes(31) + b"\1\0"])
def test_a_private_key_out_of_range_is_refused_without_being_shown(secret: bytes) -> None:
    """Zero, the order and more, and other lengths are no private keys."""
    with pytest.raises(WireError, match="must be 32 bytes"):
        PrivateKey(secret)


def test_two_seals_of_one_message_share_nothing() -> None:
    """Each message has a new ephemeral key, so that equal reports look different."""
    made = [seal(PUBLIC, INFO, ASSOCIATED, PLAIN) for _ in range(20)]
    assert len({enc for enc, _ in made}) == len({sealed for _, sealed in made}) == 20


def test_no_repr_shows_a_private_key() -> None:
    """What is printed of a private key has none of its digits."""
    secret = secrets.token_bytes(31) + b"\1"
    shown = repr(PrivateKey(secret))
    assert secret.hex() not in shown
    assert str(int.from_bytes(secret, "big")) not in shown
