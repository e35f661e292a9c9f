import { answer as deliver } from "./delivery.js";
import { kinds } from "./domains.js";
import { mechanisms } from "./mechanisms.js";
import { checkSurvey } from "./shape.js";
import { encodeReport } from "./survey.js";

const parts = { ...kinds, ...mechanisms };

/**
 * Read a survey. Surveys that break a rule of docs/wire-format.md are refused.
 *
 * @param {string} document the survey's canonical JSON
 * @returns {(value: unknown, random: Uint8Array<ArrayBuffer>) => number[]} makes the bytes of a report from any value
 *   and 32 random bytes, of which the first 16 are the report's id
 * @throws {Error} a sentence that says which rule is broken
 */
export function readSurvey(document) {
  const data = checkSurvey(document);
  return (value, random) => encodeReport(data, parts, value, random);
}

/**
 * Answer a survey, unless this browser has answered it before, and send all reports that are not acknowledged yet.
 *
 * @param {string} url the survey's address, https://…/v1/surveys/<id>
 * @param {unknown} value anything; a value that does not fit the survey's domain counts as "(other)"
 * @param {{ maxEpsilon?: number }} [options] the largest epsilon that the survey may state; 4 at most
 * @returns {Promise<boolean>} whether the survey is answered, now or before; it never rejects
 */
export async function answer(url, value, { maxEpsilon = 4 } = {}) {
  try {
    await deliver(url, value, Math.min(4, maxEpsilon), parts, checkSurvey);
    return true;
  } catch {
    return false;
  }
}
