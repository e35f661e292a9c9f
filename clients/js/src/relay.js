// The way of a report of hubbub-relay.js: sealed for the collector, and sent to a relay, which cannot read it.
import { check, checkWhole } from "./check.js";
import { request } from "./delivery.js";
import { join, sealFor } from "./hpke.js";
import { fromHex } from "./survey.js";

export const MOST_EPSILON = 6;

const { relay } = /** @type {any} */ (document.currentScript)?.dataset ?? {};

/**
 * A survey that goes through a relay, and what seals its reports. Throws if the survey does not say how, or if what it names
 * cannot be had: before anything is drawn.
 *
 * @param {import("./survey.js").Ready} ready
 * @param {string} url the survey's address at the collector
 */
export const through = async ([survey, makeReport], url) => {
  const { key, crowd } = survey;
  const header = join([1], fromHex(key), new Uint8Array(new Uint32Array([checkWhole(crowd, 2, 1e6)]).buffer));
  const to = new URL("v1/sealed", relay.replace(/\/?$/, "/")).href;
  const receiver = new Uint8Array(await (await request(new URL("../keys/" + key, url).href)).arrayBuffer());
  check(new Uint8Array(await crypto.subtle.digest("SHA-256", receiver)) + "" === fromHex(key) + "");
  const seal = await sealFor(receiver, "hubbub sealed report 1", header);

  /** @param {unknown} value @param {Uint8Array<ArrayBuffer>} random @param {Uint8Array<ArrayBuffer>} digest of the survey */
  const makeSealed = async (value, random, digest) => {
    const report = makeReport(value, random);
    const message = new Uint8Array(96); // one size for all surveys and values
    message.set(join(digest, [report.length], report));
    return [to, await seal(message)];
  };
  return /** @type {[any, any]} */ ([survey, makeSealed]);
};
