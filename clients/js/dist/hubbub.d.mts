/**
 * Read a survey. Surveys that break a rule of docs/wire-format.md are refused.
 *
 * @param {string} document the survey's canonical JSON
 * @returns {(value: unknown, random: Uint8Array<ArrayBuffer>) => number[]} makes the bytes of a report from any value
 *   and 32 random bytes, of which the first 16 are the report's id
 * @throws {Error} a sentence that says which rule is broken
 */
export declare function readSurvey(document: string): (value: unknown, random: Uint8Array<ArrayBuffer>) => number[];
/**
 * Answer a survey, unless this browser has answered it before, and send all reports that are not acknowledged yet.
 *
 * @param {string} url the survey's address, https://…/v1/surveys/<id>
 * @param {unknown} value anything; a value that does not fit the survey's domain counts as "(other)"
 * @param {{ maxEpsilon?: number }} [options] the largest epsilon that the survey may state; 4 at most
 * @returns {Promise<boolean>} whether the survey is answered, now or before; it never rejects
 */
export declare function answer(url: string, value: unknown, { maxEpsilon }?: {
    maxEpsilon?: number;
}): Promise<boolean>;
