import { byteBits } from "./bits.js";
import { cut, textOf, utf8 } from "./text.js";

/** The bytes of a text, the first one lowest. @type {import("./domains.js").Kind} */
export const text = ({ max_bytes: most }) => ({
  length: 8 * most,
  other: "0".repeat(8 * most),
  lookUp: (value) => byteBits(utf8(cut(textOf(value), most)).reverse()).padStart(8 * most, "0"),
});
