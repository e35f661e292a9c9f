import { check } from "./check.js";

/** The text of a value: lone surrogates become U+FFFD, then NFC. Throws for other types. @param {unknown} value */
export const textOf = (value) => {
  check(/^[bns][^y]/.test(typeof value)); // boolean, bigint, number, string; not symbol
  return String(value).replace(/\p{Cs}/gu, "\ufffd").normalize();
};

export const encoder = new TextEncoder();

/** The bytes of a text in UTF-8. @param {string} text */
export const utf8 = (text) => encoder.encode(text);

/** The beginning of a text that fits into `size` bytes of UTF-8, in whole characters. @param {string} text @param {number} size */
export const cut = (text, size) => text.slice(0, encoder.encodeInto(text, new Uint8Array(size)).read);
