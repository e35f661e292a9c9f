import { bits } from "./bits.js";
import { crc32 } from "./crc.js";
import { textOf } from "./text.js";

/** A list of names. @type {import("./domains.js").Kind} */
export const categories = ({ names, other }) => {
  const size = names.length + other;
  const { length } = bits(size - 1, 1);
  /** The place of a text that is not on the list. @param {string} text */
  const elsewhere = (text) => (other ? names.length : Math.floor((crc32(text) * names.length) / 2 ** 32));
  return {
    size,
    length,
    other: bits(elsewhere(""), length),
    lookUp(value) {
      const text = textOf(value);
      const place = names.indexOf(text);
      return bits(place < 0 ? elsewhere(text) : place, length);
    },
  };
};
