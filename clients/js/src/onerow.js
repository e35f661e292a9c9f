import { bits } from "./bits.js";
import { below } from "./mechanism.js";

// For 1 to 20 bits, the least odd number p for which the polynomial x^bits + p is irreducible over GF(2).
const POLYNOMIALS = [1, 3, 3, 3, 5, 3, 3, 27, 3, 9, 5, 9, 27, 33, 3, 43, 9, 9, 39, 9];

/**
 * The digits of eight masks of a `tree` with one row, which are independent; the last mask comes first.
 *
 * @param {string} coins
 * @param {number} length bits of an item
 */
export const independentMasks = (coins, length) => {
  let mask = 1 + below(BigInt("0b" + coins), 2 ** length - 1);
  let digits = "";
  while (digits.length < 160) {
    digits = bits(mask, 20) + digits;
    mask *= 2;
    if (mask >> length) mask ^= 2 ** length + POLYNOMIALS[length - 1];
  }
  return digits;
};
