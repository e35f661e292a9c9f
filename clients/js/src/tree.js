import { fromBits, up64, words32 } from "./bits.js";
import { check, checkWhole } from "./check.js";
import { hash } from "./hash.js";
import { randomized } from "./mechanism.js";

/**
 * The mechanism `tree`, for domains whose paths `pathOf` knows.
 *
 * @param {(seed: number[], item: string, fingerprint: number, domain: import("./domains.js").Domain) => string} pathOf the path of an item
 * @param {number} shortest the least number of bits of a fingerprint
 * @returns {import("./mechanism.js").Mechanism}
 */
export const treeWith = (pathOf, shortest) => (parameters, domain, seed) => {
  const { bucket_bits, chunks, depths, ends, fingerprint_bits, keep_threshold, masks } = parameters;
  checkWhole(masks, 1, 8);
  checkWhole(bucket_bits, 1, 20);
  checkWhole(fingerprint_bits, shortest, 20);
  ends.map((/** @type {number} */ end, /** @type {number} */ row) => {
    checkWhole(end, 1, 2 ** 24);
    checkWhole(depths[row], 0, 532);
    checkWhole(chunks[row], 0, Math.min(bucket_bits, depths[row]));
  });
  check(ends.at(-1) === 2 ** 24); // so that every report has a row

  return randomized(keep_threshold, 2 ** masks, 1, (item, id) => {
    /** Public coins of the report's id: the first block, or a block with a number. @param {number[]} block */
    const coins = (...block) => hash(seed, 7, [...id, ...block]);
    const row = ends.findIndex((/** @type {number} */ end) => fromBits(coins().slice(0, 24)) < end);

    const path = pathOf(seed, item, fingerprint_bits, domain);
    const start = depths[row] - chunks[row];
    let bucket = fromBits(path.slice(start, depths[row]));
    if (chunks[row] < bucket_bits) {
      const parent = path.slice(0, start).padEnd(up64(path.length), "0");
      const words = words32(parent.replace(/(.{32})(.{32})/g, "$2$1"));
      // The bucket of a chunk without bits is NaN, which counts as 0 here.
      bucket ^= fromBits(hash(seed, 8, [...words, row]).slice(0, bucket_bits));
    }

    // Masks have 20 bits and are taken from the end of a block: two from the first block, three from each other block.
    const drawn = coins(2).slice(4) + coins(1).slice(4) + coins().slice(24);
    const all = /** @type {string[]} */ (drawn.match(/.{20}/g)).reverse();
    let symbol = 0;
    for (let mask = 0; mask < masks; mask++) {
      let common = bucket & fromBits(all[mask]);
      for (; common; common &= common - 1) symbol ^= 1 << mask; // for each bit that is 1
    }
    return symbol;
  });
};
