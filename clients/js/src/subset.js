import { fromBits } from "./bits.js";
import { check } from "./check.js";
import { hash } from "./hash.js";
import { below } from "./mechanism.js";

/** A mixer of 32 bits. @param {number} word @returns {number} from 0 to 2^32 - 1 */
function mix(word) {
  word = Math.imul(word ^ (word >>> 16), 0x7feb352d);
  word = Math.imul(word ^ (word >>> 15), 0x846ca68b);
  return (word ^ (word >>> 16)) >>> 0;
}

/** @type {import("./mechanism.js").Mechanism} */
export const subset = ({ keep_threshold, window }, { length, size = 2 ** length }, seed) => {
  check(window > 0 && window < size); // a longer one would meet itself, and the loss below would be wrong

  /** Where the values are in the circle. @param {number[]} id */
  const placesOf = (id) => {
    const coins = hash(seed, 13, id);
    const left = [...Array(size).keys()];
    // All of them, whatever the item: the time does not depend on it.
    return [...left].map((value) => {
      const mixed = mix(mix(fromBits(coins.slice(32)) + value) ^ fromBits(coins.slice(0, 32)));
      const drawn = Math.floor((mixed * left.length) / 2 ** 32);
      const [place] = left.splice(drawn, 1, left[left.length - 1]);
      left.pop();
      return place;
    });
  };

  return {
    loss: Math.log1p((keep_threshold * size) / (2 ** 64 - keep_threshold) / window),
    answer(item, id, chance, choice) {
      const value = fromBits(item);
      const place = window > 1 ? placesOf(id)[value] : value;
      const kept = (place - below(choice, window) + size) % size;
      const told = chance < BigInt(keep_threshold) ? kept : below(choice, size);
      return size > 256 ? [told & 255, told >> 8] : [told];
    },
  };
};
