import { answer as deliver } from "./delivery.js";
import { kinds } from "./domains.js";
import { mechanisms } from "./mechanisms.js";
import { checkSurvey } from "./shape.js";
import { encodeReport } from "./survey.js";

const parts = { ...kinds, ...mechanisms };

/**
 * Read a survey. Everything that docs/wire-format.md refuses is refused.
 *
 * @param {string} document the survey's canonical JSON
 * @returns {(value: unknown, random: Uint8Array<ArrayBuffer>) => number[]} from any value, and 32 random bytes of which
 *   the first 16 are the report's id, to the bytes of a report
 * @throws {Error} with a sentence
 */
export function readSurvey(document) {
  const data = checkSurvey(document);
  return (value, random) => encodeReport(data, parts, value, random);
}

/**
 * Answer a survey, unless this browser did before, and send what is not acknowledged yet.
 *
 * @param {string} url the survey's address, https://…/v1/surveys/<id>
 * @param {unknown} value anything; what does not fit the survey's domain is "(other)"
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
