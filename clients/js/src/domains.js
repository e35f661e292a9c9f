/**
 * A map from values to items, made from the `domain` object of a survey.
 *
 * @typedef {object} Domain
 * @property {number} size how many items there are
 * @property {string} fallback the item for values that do not fit
 * @property {(value: any) => string} lookUp the item of a value, in base 2; throws if the value does not fit. Leading
 *   zeros of an item are missing only in the lists of the self-starting script
 */

/** A kind of domain. @typedef {(data: any) => Domain} Kind */

import { categories } from "./categories.js";
import { hex, integers, ipv4 } from "./numbers.js";
import { text } from "./plaintext.js";
import { coded_text } from "./textcode.js";

/** A kind whose items have all their leading zeros. @param {Kind} kind @returns {Kind} */
const padded = (kind) => (data) => {
  const { size, fallback, lookUp } = kind(data);
  const pad = (/** @type {string} */ item) => item.padStart(Math.ceil(Math.log2(size)), "0");
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
