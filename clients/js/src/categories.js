import { check, checkText } from "./check.js";
import { crc32 } from "./crc.js";
import { textOf } from "./text.js";

/** A list of names. @type {import("./domains.js").Kind} */
export const categories = ({ names, other }) => {
  names.map((/** @type {string} */ name) => checkText(name));
  check(other === !!other);
  /** The index for a text that is not on the list. @param {string} text */
  const elsewhere = (text) => (other ? names.length : ((crc32(text) * names.length) / 2 ** 32) | 0);
  return {
    size: names.length + other,
    fallback: elsewhere("").toString(2),
    lookUp(value) {
      const text = textOf(value);
      const place = names.indexOf(text);
      return (place < 0 ? elsewhere(text) : place).toString(2);
    },
  };
};
