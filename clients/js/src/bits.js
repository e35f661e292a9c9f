// Items, paths and hashes are strings of the digits 0 and 1, the most significant bit first.

/**
 * A number in base 2, padded with leading zeros to a length.
 *
 * @param {number | bigint} number
 * @param {number} length
 */
export const bits = (number, length) => number.toString(2).padStart(length, "0");

/** The bits of bytes, one after the other. @param {Iterable<number>} bytes */
export const byteBits = (bytes) => [...bytes].map((byte) => bits(byte, 8)).join("");

/** The number with these binary digits. @param {string} digits */
export const fromBits = (digits) => parseInt(digits, 2);

/** The XOR of two strings of digits; as long as the first. @param {string} a @param {string} b */
export const xor = (a, b) => [...a].map((digit, at) => +digit ^ +b[at]).join("");

/** A number rounded up to a multiple of 64. @param {number} length */
export const up64 = (length) => length + (-length & 63);

/** A string of digits as words of 32 bits; its length must be a multiple of 32. @param {string} digits */
export const words32 = (digits) => /** @type {string[]} */ (digits.match(/.{32}/g)).map(fromBits);

/** An item as words for the hash, the least significant first. @param {string} item */
export const itemWords = (item) => words32(item.padStart(up64(item.length), "0")).reverse();
