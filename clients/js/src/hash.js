import { byteBits } from "./bits.js";

/**
 * HalfSipHash-2-4 with 64 bits of output (docs/wire-format.md).
 *
 * @param {number[]} key words of 32 bits; only the first two are used
 * @param {number[]} message words of 32 bits
 * @returns {number[]} two words of 32 bits, the low one first
 */
const sipHash = ([a, b], message) => {
  let c = a ^ 0x6c796765;
  let d = b ^ 0x74656462;
  b ^= 0xee;

  // Sums may exceed 32 bits for a moment; the next rotation or XOR cuts them to 32 bits.
  /** @param {number} times */
  const rounds = (times) => {
    while (times--) {
      a += b;
      b = rotate(b, 5) ^ a;
      a = rotate(a, 16);
      c += d;
      d = rotate(d, 8) ^ c;
      a += d;
      d = rotate(d, 7) ^ a;
      c += b;
      b = rotate(b, 13) ^ c;
      c = rotate(c, 16);
    }
    return (b ^ d) >>> 0;
  };

  for (const word of [...message, message.length << 26]) {
    d ^= word;
    rounds(2);
    a ^= word;
  }
  c ^= 0xee;
  const low = rounds(4);
  b ^= 0xdd;
  return [low, rounds(4)];
};

/** @param {number} word @param {number} by */
const rotate = (word, by) => (word << by) | (word >>> (32 - by));

/**
 * The public hash of a message of 32-bit words, for a purpose: a number of docs/wire-format.md, of which 9 was used once,
 * and is never used again. The hash is 64 digits of base 2, the highest first.
 *
 * @typedef {(purpose: number, ...message: number[]) => string} Hash
 */

/** The public hash of a survey. @param {number[]} seed its public seed, as eight words of 32 bits @returns {Hash} */
export const hashWith = (seed) => (purpose, ...message) =>
  byteBits(sipHash(sipHash(seed, [purpose, ...seed.slice(2)]), message).reverse(), 32);
