import { fromBits, up64, words32 } from "./bits.js";
import { check } from "./check.js";
import { hash } from "./hash.js";
import { below } from "./mechanism.js";

/**
 * The mechanism `tree`, for domains whose paths `pathOf` knows.
 *
 * @param {(seed: number[], item: string, fingerprint: number, domain: import("./domains.js").Domain) => string} pathOf the path of an item
 * @returns {import("./mechanism.js").Mechanism}
 */
export const treeWith = (pathOf) => (parameters, domain, seed) => {
  const { bucket_bits, chunks, depths, ends, fingerprint_bits, keep_threshold, masks } = parameters;
  check(/^[1-8]$/.test(masks)); // otherwise a lie could not be every symbol
  return {
    keep: keep_threshold,
    odds: 2 ** masks,
    answer(item, id, honest, choice) {
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
      let symbol = 0;
      for (let mask = 0; mask < masks; mask++) {
        const end = drawn.length - 20 * mask;
        let common = bucket & fromBits(drawn.slice(end - 20, end));
        for (; common; common &= common - 1) symbol ^= 1 << mask; // for each bit that is 1
      }
      return [honest ? symbol : below(choice, 2 ** masks)];
    },
  };
};
