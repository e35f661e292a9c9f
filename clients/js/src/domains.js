/**
 * A map from values to items, made from the object in a survey.
 *
 * @typedef {object} Domain
 * @property {number} size how many items there are
 * @property {string} other the item of what does not fit
 * @property {(value: any) => string} lookUp the item of a value, in base 2; throws for what does not fit. Only items of
 *   coded text have all their zeros at the front
 */

/** A kind of domain. @typedef {(data: any) => Domain} Kind */

import { categories } from "./categories.js";
import { integers, ipv4 } from "./numbers.js";
import { text } from "./plaintext.js";
import { coded_text } from "./textcode.js";

/** All kinds; the self-starting script has lists and coded text only. @type {Record<string, Kind>} */
export const kinds = { integers, ipv4, categories, bytes: text, coded_text };
