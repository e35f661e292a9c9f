import { check, checkText } from "./check.js";
import { hashWith } from "./hash.js";
import { through } from "./route.js";

/** 32 bytes from 64 hexadecimal digits; throws for anything else. @param {string} digits */
export const fromHex = (digits) =>
  new Uint8Array(/** @type {string[]} */ (checkText(digits, /^[\da-f]{64}$/).match(/../g)).map((byte) => parseInt(byte, 16)));

/** Bytes as words of 32 bits. @param {Uint8Array<ArrayBuffer>} bytes */
const words = (bytes) => [...new Uint32Array(bytes.buffer)];

/**
 * A survey that was checked, and what makes a report of it (the id and the response) from any value and 32 random bytes
 * or more, of which the first 16 are the id.
 *
 * @typedef {[any, (value: unknown, random: Uint8Array<ArrayBuffer>) => number[]]} Ready
 */

/**
 * Check a survey. All that can be wrong with it is found here, before anything is drawn: this throws if a field has
 * another type or range than it should, or if the survey costs more privacy than it states. Then reports never throw.
 *
 * @param {any} survey its JSON, parsed
 * @param {import("./domains.js").Kind} kind of its domain
 * @param {import("./mechanism.js").Mechanism} mechanism
 * @returns {Ready}
 */
export const prepare = (survey, kind, mechanism) => {
  const { name, domain: described, parameters, epsilon, public_seed } = survey;
  checkText(name, /^[^]{1,400}$/);
  const domain = kind(described);
  const { odds, respond, keep = parameters.keep_threshold } = mechanism(parameters, domain, hashWith(words(fromHex(public_seed))));
  checkText(keep, /^[1-9]\d{0,19}$/);
  // The left side is positive, so this also refuses a threshold of 2^64 or more, and an epsilon that is not positive.
  check((through ? survey.through === "relay" : !survey.through) && keep * odds <= Math.expm1(epsilon * (1 + 1e-12)) * (2 ** 64 - keep));

  const makeReport = (/** @type {unknown} */ value, /** @type {Uint8Array<ArrayBuffer>} */ random) => {
    let item = domain.fallback;
    try {
      item = domain.lookUp(value);
    } catch {
      // Reading a foreign object may throw. It counts as "(other)": an error would reveal something of the value.
    }
    const [, , chance, choice] = new BigUint64Array(random.buffer);
    // A bigint and a text are compared as whole numbers.
    return [...random.slice(0, 16), ...respond(item, words(random).slice(0, 4), chance < keep, choice)];
  };
  return [survey, makeReport];
};
