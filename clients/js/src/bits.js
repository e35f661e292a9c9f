// Items, paths and hashes are strings of the digits 0 and 1, the highest first.

/**
 * A number in base 2, with zeros at the front up to a length.
 *
 * @param {number | bigint} number
 * @param {number} length
 */
export const bits = (number, length) => number.toString(2).padStart(length, "0");

/** The bits of bytes, one after the other. @param {Iterable<number>} bytes */
export const byteBits = (bytes) => [...bytes].map((byte) => bits(byte, 8)).join("");

/** The number that some digits write. @param {string} digits */
export const fromBits = (digits) => parseInt(digits, 2);

/** The sum of two strings, digit by digit, modulo 2; as long as the first. @param {string} a @param {string} b */
export const xor = (a, b) => [...a].map((digit, at) => +digit ^ +b[at]).join("");

/** The first multiple of 64 from a number up. @param {number} length */
export const up64 = (length) => length + (-length & 63);

/** A string of a multiple of 32 digits as words of 32 bits. @param {string} digits */
export const words32 = (digits) => /** @type {string[]} */ (digits.match(/.{32}/g)).map(fromBits);

/** The words of an item in hashes, the lowest first. @param {string} item */
export const itemWords = (item) => words32(item.padStart(up64(item.length), "0")).reverse();
