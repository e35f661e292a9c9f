import { itemWords, xor } from "./bits.js";
import { hash } from "./hash.js";

/**
 * The path of an item of any domain but coded text: two rounds of a Feistel network.
 *
 * @param {number[]} seed
 * @param {string} item
 */
export function otherPath(seed, item) {
  const left = item.length >> 1;
  /** One half XOR the hash of the other half. @param {string} half @param {string} other @param {number} step */
  const scramble = (half, other, step) => {
    let mask = "";
    for (let at = 256 * step; mask.length < half.length; at++) mask = hash(seed, 6, [at, ...itemWords(other)]) + mask;
    return xor(half, mask.slice(mask.length - half.length));
  };
  const low = item.slice(left);
  const high = scramble(item.slice(0, left), low, 1);
  return (left ? scramble(low, high, 2) : low) + high;
}
