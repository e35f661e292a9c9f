import { fromBits } from "./bits.js";
import { hash } from "./hash.js";
import { below, lengthOf, randomized } from "./mechanism.js";
import { otherPath } from "./otherpath.js";

// For 1 to 20 bits, the least odd number p for which the polynomial x^bits + p is irreducible over GF(2).
const POLYNOMIALS = [1, 3, 3, 3, 5, 3, 3, 27, 3, 9, 5, 9, 27, 33, 3, 43, 9, 9, 39, 9];

/**
 * The mechanism `tree` with one row: its masks are independent.
 *
 * @type {import("./mechanism.js").Mechanism}
 */
export const oneRow = ({ keep_threshold, masks }, domain, seed) =>
  randomized(keep_threshold, 2 ** masks, 1, (item, id) => {
    const length = lengthOf(domain);
    const bucket = fromBits(otherPath(seed, item.padStart(length, "0")));
    let mask = 1 + below(BigInt("0b" + hash(seed, 7, id)), 2 ** length - 1);
    let symbol = 0;
    for (let number = 0; number < masks; number++) {
      for (let common = bucket & mask; common; common &= common - 1) symbol ^= 1 << number; // for each bit that is 1
      mask *= 2;
      if (mask >> length) mask ^= 2 ** length + POLYNOMIALS[length - 1];
    }
    return symbol;
  });
