import { check, checkText } from "./check.js";
import { textOf, utf8 } from "./text.js";

/** A list of names. Its items are numbers, and not yet strings of bits. @type {(data: any) => any} */
export const categories = ({ names, other }) => {
  names.map((/** @type {string} */ name) => checkText(name));
  check(other === !!other);
  /** The index for a text that is not on the list. @param {string} text */
  const elsewhere = (text) => (other ? names.length : utf8(text).reduce((sum, byte) => (256 * sum + byte) % 65521, 0) % names.length);
  return {
    size: names.length + other,
    fallback: elsewhere(""),
    lookUp(/** @type {any} */ value) {
      const text = textOf(value);
      const place = names.indexOf(text);
      return place < 0 ? elsewhere(text) : place;
    },
  };
};
