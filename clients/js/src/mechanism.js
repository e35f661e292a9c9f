/**
 * What a mechanism is to a device, once the parameters of a survey are read.
 *
 * @typedef {object} Randomizer
 * @property {any} keep how many of 2^64 chances are for an honest answer, as the survey spells it
 * @property {number} odds how much more than by a lie an answer comes from the item it is honest for, for each chance
 * @property {(item: string, id: number[], honest: boolean, choice: bigint) => number[]} answer the bytes after the report's
 *   id, from an item, the id as words of 32 bits, which decides nothing but public coins, and 64 random bits
 */

/**
 * A mechanism: from the parameters of a survey, its domain, its seed as words of 32 bits and its options.
 *
 * @typedef {(parameters: any, domain: import("./domains.js").Domain, seed: number[], options: any) => Randomizer} Mechanism
 */

/** Bits of an item. @param {import("./domains.js").Domain} domain */
export const lengthOf = ({ size }) => Math.ceil(Math.log2(size));

/** A number below a bound, from 64 random bits. @param {bigint} word @param {number} bound */
export const below = (word, bound) => Number((word * BigInt(bound)) >> 64n);
