/**
 * A map from values to items, made from the `domain` object of a survey.
 *
 * @typedef {object} Domain
 * @property {number} size how many items there are
 * @property {string} fallback the item for values that do not fit
 * @property {(value: any) => string} lookUp the item of a value, in base 2; throws if the value does not fit. Leading
 *   zeros may be missing, except for coded text
 */

/** A kind of domain. @typedef {(data: any) => Domain} Kind */

import { categories } from "./categories.js";
import { integers, ipv4 } from "./numbers.js";
import { text } from "./plaintext.js";
import { coded_text } from "./textcode.js";

/** All kinds; the self-starting script has only lists and coded text. @type {Record<string, Kind>} */
export const kinds = { integers, ipv4, categories, bytes: text, coded_text };
