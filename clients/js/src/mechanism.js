/**
 * What a device needs of a mechanism, made from the parameters of a survey.
 *
 * @typedef {object} Randomizer
 * @property {any} [keep] the chance of an honest response, in units of 2^-64, as the survey writes it; `keep_threshold`
 *   where it is missing
 * @property {number} odds any response is at most 1 + keep * odds / (2^64 - keep) times as likely with one item as with
 *   another
 * @property {(item: string, id: number[], honest: boolean, choice: bigint) => number[]} respond the response (the bytes after
 *   the report's id), from an item, the id as words of 32 bits, which determines only public coins, and 64 random bits
 */

/**
 * A mechanism: makes a Randomizer from the parameters of a survey, its domain, its public hash and, in the module, its
 * options. It throws if one of them has another type or range than it should.
 *
 * @typedef {(parameters: any, domain: import("./domains.js").Domain, hash: import("./hash.js").Hash, options?: any) => Randomizer} Mechanism
 */

/** A number below a bound, from 64 random bits. @param {bigint} word @param {number} bound */
export const below = (word, bound) => Number((word * BigInt(bound)) >> 64n);

/**
 * Randomised response. A response is a number below `size`. An honest one is in a window of such numbers, which ends with
 * the truth; a lie is any of them. So the odds depend on two numbers alone, whatever a survey makes of a value.
 *
 * @param {number} size the number of responses, at least 2
 * @param {number} window from 1 to size - 1
 * @param {(item: string, id: number[]) => number} truth
 * @returns {Randomizer}
 */
export const randomized = (size, window, truth) => ({
  odds: size / window,
  respond(item, id, honest, choice) {
    const place = truth(item, id) % size | 0; // prettier-ignore
    const told = honest ? (place - below(choice, window) + size) % size : below(choice, size);
    return size > 256 ? [told & 255, told >> 8] : [told];
  },
});
