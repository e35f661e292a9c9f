import { itemWords } from "./bits.js";
import { hash } from "./hash.js";

/**
 * The path of an item of coded text: its bits, with those of a fingerprint at the front and in between.
 *
 * @param {number[]} seed
 * @param {string} item
 * @param {number} fingerprint its number of bits
 */
export const textPath = (seed, item, fingerprint) => {
  const marks = hash(seed, 9, itemWords(item));
  let path = "";
  for (let mark = 0, at = 0; at < item.length; ) {
    const place = mark + at;
    const marked = mark < fingerprint && (place < 8 || (place > 16 && place % 8 === 0));
    path += marked ? marks[mark++] : item[at++];
  }
  return path;
};
