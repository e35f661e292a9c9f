import { check } from "./check.js";

/**
 * What a survey is read with.
 *
 * @typedef {object} Parts
 * @property {Record<string, import("./domains.js").Kind>} kinds
 * @property {Record<string, import("./mechanism.js").Mechanism>} mechanisms
 */

/**
 * The report of any value, from 32 random bytes of which the first 16 are its id. Never throws, whatever the value is.
 *
 * @typedef {(value: unknown, random: Uint8Array<ArrayBuffer>) => number[]} Encoder
 */

/** The bytes that hexadecimal digits write. @param {string} digits */
export const fromHex = (digits) => new Uint8Array((digits.match(/../g) ?? []).map((byte) => parseInt(byte, 16)));

/**
 * Read a survey, and refuse one that costs more privacy than it states.
 *
 * @param {any} data the survey's JSON, parsed
 * @param {Parts} parts those that are at hand
 * @returns {Encoder}
 */
export function readSurvey(data, { kinds, mechanisms }) {
  const domain = kinds[data.domain.kind](data.domain);
  const seed = [...new Uint32Array(fromHex(data.public_seed).buffer)];
  const { loss, answer } = mechanisms[data.mechanism](data.parameters, domain, seed, data.options);
  check(loss <= +data.epsilon + 2 ** -40);
  return (value, random) => {
    let item = domain.other;
    try {
      item = domain.lookUp(value);
    } catch {
      // Whatever a foreign object does when it is looked at: an error would tell of the value.
    }
    const [, , chance, choice] = new BigUint64Array(random.buffer);
    return [...random.slice(0, 16), ...answer(item, [...new Uint32Array(random.buffer, 0, 4)], chance, choice)];
  };
}
