import { readFileSync } from "node:fs";

/** A file of tests/vectors. @param {string} name */
export function load(name) {
  const file = new URL(`../../../tests/vectors/${name}.json`, import.meta.url);
  return JSON.parse(readFileSync(file, "ascii"));
}

/** The value of a test vector. @param {{ type: string, value: string }} described */
export function valueOf({ type, value }) {
  if (type === "integer") return BigInt(value);
  if (type === "boolean") return value === "true";
  return type === "float" ? Number(value) : type === "null" ? null : value;
}

/** @param {Iterable<number>} bytes */
export const toHex = (bytes) => Buffer.from([...bytes]).toString("hex");

/** Random words in hexadecimal, as bytes. @param {string[]} words */
export function randomOf(words) {
  const random = new Uint8Array(32);
  new BigUint64Array(random.buffer).set(words.map((word) => BigInt("0x" + word)));
  return random;
}

/** The item of a value, as a number in hexadecimal. @param {import("../src/domains.js").Domain} domain @param {unknown} value */
export function itemOf({ lookUp, fallback }, value) {
  let item = fallback;
  try {
    item = lookUp(value);
  } catch {
    // It does not fit.
  }
  return BigInt("0b" + item).toString(16);
}
