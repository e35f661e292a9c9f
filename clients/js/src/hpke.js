// HPKE (RFC 9180) in base mode for one message, with DHKEM(P-256, HKDF-SHA256), HKDF-SHA256 and AES-128-GCM; by WebCrypto.
// `tests/sealing` and `test/hpke.test.js` have the vectors of the RFC. Names of steps are those of the RFC.
import { utf8 } from "./text.js";

const CURVE = { name: "ECDH", namedCurve: "P-256" };
const HASH = "SHA-256";
const KEM = "KEM\0\x10";
const SUITE = "HPKE\0\x10\0\x01\0\x01";

/** Bytes, one part after the other. @param {Iterable<number>[]} parts @returns {Uint8Array<ArrayBuffer>} */
export const join = (...parts) => new Uint8Array(parts.flatMap((part) => [...part]));

/** @param {string} label with the suite's name before it @param {Iterable<number>} [data] */
const labeled = (label, data = []) => join(utf8("HPKE-v1" + label), data);

/** A secret for one use. @param {any} kind @param {any} use @param {Uint8Array<ArrayBuffer>} bytes */
const secret = (kind, use, bytes) => crypto.subtle.importKey("raw", bytes, kind, false, [use]);

/** LabeledExtract without salt. @param {string} label @param {Uint8Array<ArrayBuffer>} [data] */
const extract = async (label, data) => {
  const key = await secret({ name: "HMAC", hash: HASH }, "sign", new Uint8Array(32));
  return new Uint8Array(await crypto.subtle.sign("HMAC", key, labeled(SUITE + label, data)));
};

/**
 * LabeledExtract, and LabeledExpand of what it gives.
 *
 * @param {Uint8Array<ArrayBuffer>} salt
 * @param {Uint8Array<ArrayBuffer>} material labeled
 * @param {string} label
 * @param {Uint8Array<ArrayBuffer>} context
 * @param {number} size in bytes, of the result
 */
const derive = async (salt, material, label, context, size) => {
  const info = join([0, size], labeled(label, context));
  const key = await secret("HKDF", "deriveBits", material);
  return new Uint8Array(await crypto.subtle.deriveBits({ name: "HKDF", hash: HASH, salt, info }, key, 8 * size));
};

/**
 * What seals one message for the holder of a key; throws unless that is a point of the curve. Everything but the message
 * itself is computed here.
 *
 * @param {Uint8Array<ArrayBuffer>} receiver her public key
 * @param {string} info
 * @param {Uint8Array<ArrayBuffer>} header it is bound to what is sealed, and comes before it
 * @param {CryptoKeyPair} [pair] of this message alone; fixed in tests
 * @returns {Promise<(message: Uint8Array<ArrayBuffer>) => Promise<number[]>>} seals: header, encapsulated key, ciphertext, tag
 */
export const sealFor = async (receiver, info, header, pair) => {
  const { subtle } = crypto;
  const point = await subtle.importKey("raw", receiver, CURVE, false, []);
  const { publicKey, privateKey } = pair ?? (await subtle.generateKey(CURVE, false, ["deriveBits"]));
  const enc = new Uint8Array(await subtle.exportKey("raw", publicKey));
  const agreed = new Uint8Array(await subtle.deriveBits({ name: "ECDH", public: point }, privateKey, 256));
  const shared = await derive(join(), labeled(KEM + "eae_prk", agreed), KEM + "shared_secret", join(enc, receiver), 32);
  const context = join([0], await extract("psk_id_hash"), await extract("info_hash", utf8(info)));
  /** @param {string} label @param {number} size */
  const part = (label, size) => derive(shared, labeled(SUITE + "secret"), SUITE + label, context, size);
  const key = await secret("AES-GCM", "encrypt", await part("key", 16));
  const algorithm = { name: "AES-GCM", iv: await part("base_nonce", 12), additionalData: header };
  return async (message) => [...header, ...enc, ...new Uint8Array(await subtle.encrypt(algorithm, key, message))];
};
