import { byteBits } from "./bits.js";
import { cut, textOf, utf8 } from "./text.js";

/** The bytes of a text; the first byte is the least significant. @type {import("./domains.js").Kind} */
export const text = ({ max_bytes: most }) => ({
  size: 256 ** most,
  fallback: "0",
  lookUp: (value) => byteBits(utf8(cut(textOf(value), most)).reverse()) || "0",
});
