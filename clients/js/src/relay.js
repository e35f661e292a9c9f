// The way of a report of hubbub-relay.js: sealed for the collector, and sent to a relay, which cannot read it.
import { check, checkWhole } from "./check.js";
import { request } from "./delivery.js";
import { join, sealFor } from "./hpke.js";
import { fromHex } from "./survey.js";

export const MOST_EPSILON = 6;

/**
 * Read surveys that go through a relay, and seal their reports.
 *
 * @param {(document: string) => import("./survey.js").Ready} read
 * @param {string} relay its address
 * @param {string} url the survey's address at the collector
 */
export const through = (read, relay, url) => async (/** @type {string} */ document) => {
  const [survey, makeReport] = read(document);
  const { key, crowd } = survey;
  const header = join([1], fromHex(key), new Uint8Array(new Uint32Array([checkWhole(crowd, 2, 1e6)]).buffer));
  const to = new URL("v1/sealed", relay.replace(/\/?$/, "/")).href;
  const receiver = new Uint8Array(await (await request(new URL("../keys/" + key, url).href)).arrayBuffer());
  check(new Uint8Array(await crypto.subtle.digest("SHA-256", receiver)) + "" == /** @type {any} */ (fromHex(key)));
  const seal = await sealFor(receiver, "hubbub sealed report 1", header);

  /** @type {(value: unknown, random: Uint8Array<ArrayBuffer>, digest: Uint8Array<ArrayBuffer>) => Promise<number[]>} */
  const makeSealed = (value, random, digest) => {
    const report = makeReport(value, random);
    const message = new Uint8Array(96); // one size for all surveys and values
    message.set(join(digest, [report.length], report));
    return seal(message);
  };
  return [survey, Object.assign(makeSealed, { to })];
};
