import { words32 } from "./bits.js";
import { checkWhole } from "./check.js";
import { randomized } from "./mechanism.js";

/** Mix the bits of a 32-bit word. @param {number} word @returns {number} from 0 to 2^32 - 1 */
const mix = (word) => {
  word = Math.imul(word ^ (word >>> 16), 0x7feb352d);
  word = Math.imul(word ^ (word >>> 15), 0x846ca68b);
  return (word ^ (word >>> 16)) >>> 0;
};

/** Items are numbers here. @type {import("./mechanism.js").Mechanism} */
export const subset = ({ window }, { size }, hash) => {
  checkWhole(size, 2, 4096);
  checkWhole(window, 1, size - 1); // a longer window would overlap itself, and tell the truth more often
  return randomized(size, window, (/** @type {any} */ item, id) => {
    const [high, low] = words32(hash(13, ...id));
    const left = [...Array(size).keys()];
    // All values get their places in the circle, so that the time does not depend on the item.
    const places = [...left].map((value) => {
      const mixed = mix(mix(low + value) ^ high);
      const [place] = left.splice((mixed * left.length) / 2 ** 32, 1, /** @type {number} */ (left.at(-1)));
      left.pop();
      return window > 1 ? place : value;
    });
    return places[item];
  });
};
