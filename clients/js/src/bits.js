// Items, paths and hashes are strings of the digits 0 and 1, the most significant bit first.

/**
 * A number in base 2, padded with leading zeros to a length.
 *
 * @param {number | bigint} number
 * @param {number} length
 */
export const bits = (number, length) => number.toString(2).padStart(length, "0");

/** The bits of bytes, or of longer words, one after the other. @param {Iterable<number>} bytes */
export const byteBits = (bytes, size = 8) => [...bytes].map((byte) => bits(byte, size)).join("");

/** The number with these binary digits. @param {string} digits */
export const fromBits = (digits) => parseInt(digits, 2);

/** A string of digits as words of 32 bits; zeros fill the last one. @param {string} digits */
export const words32 = (digits) =>
  /** @type {string[]} */ (digits.match(/.{1,32}/g)).map((part) => fromBits(part.padEnd(32, "0")));
