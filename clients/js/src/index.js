import { answerSurvey as deliver } from "./delivery.js";
import { kinds } from "./domains.js";
import { mechanisms } from "./mechanisms.js";
import { checkSurvey } from "./shape.js";
import { prepare } from "./survey.js";

/** Read a survey; throws if it is refused. @param {string} document @returns {import("./survey.js").Ready} */
function read(document) {
  const survey = checkSurvey(document);
  const { domain, mechanism, options } = survey;
  return prepare(survey, kinds[domain.kind], (...given) => mechanisms[mechanism](given[0], given[1], given[2], options));
}

/**
 * Read a survey. Surveys that break a rule of docs/wire-format.md are refused.
 *
 * @param {string} document the survey's canonical JSON
 * @returns {(value: unknown, random: Uint8Array<ArrayBuffer>) => number[]} makes the bytes of a report from any value
 *   and 32 random bytes, of which the first 16 are the report's id
 * @throws {Error} a sentence that says which rule is broken
 */
export function readSurvey(document) {
  const [, makeReport] = read(document);
  return (value, random) => {
    if (random.length !== 32) throw new Error(`random must be 32 bytes, got ${random.length}`);
    return makeReport(value, new Uint8Array(random)); // a copy, for the bytes may be part of a larger buffer
  };
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
    await deliver(url, value, maxEpsilon, read);
    return true;
  } catch {
    return false;
  }
}
