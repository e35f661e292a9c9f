import { fromBits, words32 } from "./bits.js";
import { check, checkText, checkWhole } from "./check.js";
import { randomized } from "./mechanism.js";

/**
 * The mechanism `tree`.
 *
 * @param {number} fewest rows that it may have
 * @param {(many: string, first: string, length: number, ends: number[]) => string} masksOf the digits of eight masks, the
 *   last mask first; gets those of a tree with many rows, the first block of public coins, and the bits of an item
 * @returns {import("./mechanism.js").Mechanism}
 */
export const treeWith =
  (fewest, masksOf) =>
  ({ bucket_bits, ends, masks, steps }, { fallback: { length } }, hash) => {
    checkWhole(ends.length, fewest, 200);
    checkWhole(bucket_bits, 1, 20);
    checkWhole(masks, 1, 8);
    /** @param {number} last @param {number} end */
    const rise = (last, end) => checkWhole(end, last + 1, 2 ** 24);
    check(2 ** 24 === ends.reduce(rise, 0)); // so that every report has a row
    /** For each class, how many bits of a path its rows have seen, the last row first. @type {number[][]} */
    const classes = [];
    /** @param {number} last @param {string} digits */
    const grow = (last, digits) => {
      let seen = 0;
      checkWhole(digits.length, 1, ends.length);
      /** @type {any} */
      const least = () => !seen; // the first step has a bit, so that true counts as 1
      classes.push([...checkText(digits, /^[\da-k]*$/)].map((digit) => (seen += checkWhole(parseInt(digit, 36), least(), bucket_bits))).reverse());
      return checkWhole(seen, last + 1, length);
    };
    check(length === steps.reduce(grow, 0)); // so that every item has a class

    return randomized(2 ** masks, 1, (item, id) => {
      const first = hash(7, ...id);
      const row = ends.findIndex((/** @type {number} */ end) => fromBits(first.slice(0, 24)) < end);
      // The first class that leaves out nothing but zeros.
      const seen = /** @type {number[]} */ (classes.find(([all]) => !+item.slice(all)));
      const [all] = seen;
      const [after, before = 0] = seen.slice(-row - 1);

      // The path, by two rounds of a Feistel network.
      let half = item.slice(0, all / 2);
      let path = item.slice(all / 2, all);
      for (const step of [1, 2]) {
        // Four blocks of 64 digits are enough for half an item. An item of one digit has an empty half, and stays as it is.
        /** @type {any} */
        const mask = "3210".replace(
          /./g,
          (/** @type {any} */ block) => path && hash(6, (all << 16) | (step << 8) | block, ...words32(path)),
        );
        /** @type {any} */
        const mixed = half.replace(/./g, (/** @type {any} */ digit, at) => /** @type {any} */ (digit ^ mask.at(at - half.length)));
        [path, half] = [mixed, path];
      }
      path += half;
      const bucket =
        fromBits(hash(8, (all << 8) | row, ...words32(path.slice(0, before).padEnd(all, "0"))).slice(-bucket_bits)) ^
        fromBits(path.slice(before, after)); // no digits are NaN, which counts as 0

      let symbol = 0; // a bit for each of the eight masks; of these the first ones are kept
      // Masks have 20 bits and are taken from the end of a block: two from the first block, three from each other block.
      const many = hash(7, ...id, 2).slice(4) + hash(7, ...id, 1).slice(4) + first.slice(24);
      masksOf(many, first, length, ends).replace(
        /./g,
        (/** @type {any} */ digit, at) => /** @type {any} */ (symbol ^= ((bucket >> (19 - (at % 20))) & digit) * (128 >> (at / 20))),
      );
      return symbol;
    });
  };
