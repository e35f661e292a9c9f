/**
 * What a device needs of a mechanism, made from the parameters of a survey.
 *
 * @typedef {object} Randomizer
 * @property {any} keep the chance of an honest response, in units of 2^-64, as the survey writes it
 * @property {number} odds any response is at most 1 + keep * odds / (2^64 - keep) times as likely with one item as with
 *   another
 * @property {(item: string, id: number[], honest: boolean, choice: bigint) => number[]} answer the response (the bytes after
 *   the report's id), from an item, the id as words of 32 bits, which determines only public coins, and 64 random bits
 */

/**
 * A mechanism: makes a Randomizer from the parameters of a survey, its domain, its public seed as words of 32 bits and
 * its options.
 *
 * @typedef {(parameters: any, domain: import("./domains.js").Domain, seed: number[], options: any) => Randomizer} Mechanism
 */

/** Bits of an item. @param {import("./domains.js").Domain} domain */
export const lengthOf = ({ size }) => Math.ceil(Math.log2(size));

/** A number below a bound, from 64 random bits. @param {bigint} word @param {number} bound */
export const below = (word, bound) => Number((word * BigInt(bound)) >> 64n);
