import { check } from "./check.js";

/**
 * The kinds of domains and the mechanisms that are available, by name. No kind has the name of a mechanism.
 *
 * @typedef {Record<string, any>} Parts
 */

/** The bytes with these hexadecimal digits. @param {string} digits */
export const fromHex = (digits) =>
  new Uint8Array(/** @type {string[]} */ (digits.match(/../g)).map((byte) => parseInt(byte, 16)));

/** Bytes as words of 32 bits. @param {Uint8Array<ArrayBuffer>} bytes */
const words = (bytes) => [...new Uint32Array(bytes.buffer)];

/**
 * The report of a value. Throws if the survey costs more privacy than it states; never because of the value.
 *
 * @param {any} data the survey's JSON, parsed
 * @param {Parts} parts the domains and mechanisms that are available
 * @param {unknown} value anything
 * @param {Uint8Array<ArrayBuffer>} random 32 bytes; the first 16 are the report's id
 * @returns {number[]} bytes: the id and the response
 */
export function encodeReport(data, parts, value, random) {
  /** @type {import("./domains.js").Domain} */
  const domain = parts[data.domain.kind](data.domain);
  /** @type {import("./mechanism.js").Randomizer} */
  const { keep, odds, answer } = parts[data.mechanism](data.parameters, domain, words(fromHex(data.public_seed)), data.options);
  check(Math.log1p((keep * odds) / (2 ** 64 - keep)) <= +data.epsilon + 2 ** -40);
  let item = domain.other;
  try {
    item = domain.lookUp(value);
  } catch {
    // Reading a foreign object may throw. It counts as "(other)": an error would reveal something of the value.
  }
  const [, , chance, choice] = new BigUint64Array(random.buffer);
  return [...random.slice(0, 16), ...answer(item, words(random).slice(0, 4), chance < BigInt(keep), choice)];
}
