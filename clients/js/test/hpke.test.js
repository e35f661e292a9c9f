// hpke.js is HPKE of RFC 9180: the vector of section A.3.1, and other keys than points of the curve are refused.
import assert from "node:assert/strict";
import { createHmac, webcrypto } from "node:crypto";
import { test } from "node:test";
import { sealFor } from "../src/hpke.js";
import { toHex } from "../support/vectors.js";

const INFO = "Ode on a Grecian Urn";
const HEADER = new TextEncoder().encode("Count-0");
const TEXT = new TextEncoder().encode("Beauty is truth, truth beauty");
const EPHEMERAL = "4995788ef4b9d6132b249ce59a77281493eb39af373d236a1fe415cb0c2d7beb";
const ENC =
  "04a92719c6195d5085104f469a8b9814d5838ff72b60501e2c4466e5e67b325ac98536d7b61a1af4b78e5b7f951c0900be863c403ce65c9bfcb9382657222d18c4";
const RECEIVER =
  "04fe8c19ce0905191ebc298a9245792531f26f0cece2460639e8bc39cb7f706a826a779b4cf969b8a0e539c7f62fb3d30ad6aa8f80e30f1d128aafd68a2ce72ea0";
const SEALED = "5ad590bb8baa577f8619db35a36311226a896e7342a6d836d8b7bcd2f20b6c7f9076ac232e3ab2523f39513434";

/** @param {string} digits */
const bytes = (digits) => new Uint8Array(Buffer.from(digits, "hex"));

/** The key pair of the vector. @returns {Promise<CryptoKeyPair>} */
async function ephemeral() {
  const [x, y] = [ENC.slice(2, 66), ENC.slice(66)].map((digits) => Buffer.from(digits, "hex").toString("base64url"));
  const d = Buffer.from(EPHEMERAL, "hex").toString("base64url");
  const curve = { name: "ECDH", namedCurve: "P-256" };
  const privateKey = await webcrypto.subtle.importKey("jwk", { kty: "EC", crv: "P-256", x, y, d }, curve, false, ["deriveBits"]);
  return { publicKey: await webcrypto.subtle.importKey("raw", bytes(ENC), curve, true, []), privateKey };
}

test("the vector of the RFC, to the byte", async () => {
  const seal = await sealFor(bytes(RECEIVER), INFO, HEADER, await ephemeral());
  assert.equal(toHex(await seal(TEXT)), toHex(HEADER) + ENC + SEALED);
});

test("an HMAC with a key of zeros is one without a key, as the RFC extracts without a salt", () => {
  const hmac = (/** @type {Uint8Array} */ key) => createHmac("sha256", key).update("HPKE-v1").digest("hex");
  assert.equal(hmac(new Uint8Array(32)), hmac(new Uint8Array(0)));
});

test("a message has a key of its own", async () => {
  const [one, other] = await Promise.all([1, 2].map(async () => (await sealFor(bytes(RECEIVER), INFO, HEADER))(TEXT)));
  assert.equal(one.length, HEADER.length + 65 + TEXT.length + 16);
  assert.notDeepEqual(one.slice(7, 72), other.slice(7, 72));
  assert.notDeepEqual(one.slice(72), other.slice(72));
});

test("a key that is no point of the curve is refused", async () => {
  for (const key of ["", "04", RECEIVER.slice(0, -2), `${RECEIVER}00`, `04${"00".repeat(64)}`, `${RECEIVER.slice(0, -2)}a1`, `05${RECEIVER.slice(2)}`]) {
    await assert.rejects(sealFor(bytes(key), INFO, HEADER), key);
  }
});
