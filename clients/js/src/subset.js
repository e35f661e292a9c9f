import { fromBits } from "./bits.js";
import { check } from "./check.js";
import { hash } from "./hash.js";
import { below } from "./mechanism.js";

/** Mix the bits of a 32-bit word. @param {number} word @returns {number} from 0 to 2^32 - 1 */
function mix(word) {
  word = Math.imul(word ^ (word >>> 16), 0x7feb352d);
  word = Math.imul(word ^ (word >>> 15), 0x846ca68b);
  return (word ^ (word >>> 16)) >>> 0;
}

/** @type {import("./mechanism.js").Mechanism} */
export const subset = ({ keep_threshold, window }, { size }, seed) => {
  check(window > 0 && window < size); // a longer window would overlap itself, and the odds below would be wrong
  return {
    keep: keep_threshold,
    odds: size / window,
    answer(item, id, honest, choice) {
      const coins = hash(seed, 13, id);
      const left = [...Array(size).keys()];
      // All values get their places in the circle, so that the time does not depend on the item.
      const places = [...left].map((value) => {
        const mixed = mix(mix(fromBits(coins.slice(32)) + value) ^ fromBits(coins.slice(0, 32)));
        const drawn = ((mixed * left.length) / 2 ** 32) | 0;
        const [place] = left.splice(drawn, 1, left[left.length - 1]);
        left.pop();
        return window > 1 ? place : value;
      });
      const kept = (places[fromBits(item)] - below(choice, window) + size) % size;
      const told = honest ? kept : below(choice, size);
      return size > 256 ? [told & 255, told >> 8] : [told];
    },
  };
};
