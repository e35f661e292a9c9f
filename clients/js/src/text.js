import { check } from "./check.js";

/** The text of a value: lone surrogates become U+FFFD, then NFC. Throws for what is no text. @param {unknown} value */
export function textOf(value) {
  check(/string|number|bigint/.test(typeof value));
  return String(value).replace(/\p{Cs}/gu, "\ufffd").normalize();
}

const encoder = new TextEncoder();

/** The bytes of a text in UTF-8. @param {string} text */
export const utf8 = (text) => encoder.encode(text);

/** As many whole characters of a text as fit into so many bytes of UTF-8. @param {string} text @param {number} size */
export const cut = (text, size) => text.slice(0, encoder.encodeInto(text, new Uint8Array(size)).read);
