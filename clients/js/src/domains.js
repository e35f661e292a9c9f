/**
 * A map from values to items, made from the `domain` object of a survey.
 *
 * @typedef {object} Domain
 * @property {number} size how many items there are
 * @property {string} fallback the item for values that do not fit
 * @property {(value: any) => string} lookUp the item of a value, in base 2; throws if the value does not fit. Only in the
 *   self-starting script, items of lists are numbers
 */

/** A kind of domain. @typedef {(data: any) => Domain} Kind */

import { bits } from "./bits.js";
import { categories } from "./categories.js";
import { hex, integers, ipv4 } from "./numbers.js";
import { text } from "./plaintext.js";
import { coded_text } from "./textcode.js";

/** A kind whose items are numbers or lack leading zeros, as strings of bits. @param {(data: any) => any} kind @returns {Kind} */
const padded = (kind) => (data) => {
  const { size, fallback, lookUp } = kind(data);
  const pad = (/** @type {any} */ item) => bits(item, Math.ceil(Math.log2(size)));
  return { size, fallback: pad(fallback), lookUp: (value) => pad(lookUp(value)) };
};

/** All kinds; the self-starting script has only lists and coded text. @type {Record<string, Kind>} */
export const kinds = {
  integers: padded(integers),
  ipv4: padded(ipv4),
  hex,
  uuid: hex,
  categories: padded(categories),
  bytes: padded(text),
  coded_text,
};
