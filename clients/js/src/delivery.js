import { check } from "./check.js";
import { readLedger, writeLedger } from "./ledger.js";
import { encodeReport, fromHex } from "./survey.js";
import { utf8 } from "./text.js";

/**
 * A simple request, without a preflight: no cookie, no referrer, no header of ours. It is a POST if there is a body.
 *
 * @param {string} url
 * @param {Uint8Array<ArrayBuffer>} [body]
 */
const request = (url, body) =>
  fetch(url, {
    body,
    method: body && "POST",
    keepalive: true,
    credentials: "omit",
    referrerPolicy: "no-referrer",
  });

/**
 * Answer a survey, unless this browser did before, and send what is not acknowledged yet. No two tabs do so at once.
 *
 * @param {string} url the survey's address, which ends with its id
 * @param {unknown} value anything
 * @param {number} maxEpsilon the largest epsilon that the survey may state
 * @param {import("./survey.js").Parts} parts
 * @param {(document: string) => any} parse from the survey's text to its JSON; throws at one that is refused
 * @returns {Promise<void>}
 * @throws if nothing was told; never with anything of the value
 */
export const answer = (url, value, maxEpsilon, parts, parse) =>
  navigator.locks.request("hubbub", async () => {
    const id = url.slice(-64);
    const days = Date.now() / 864e5;
    let ledger = readLedger();
    check(!navigator.globalPrivacyControl && navigator.doNotTrack !== "1" && !localStorage.hubbubOut);
    if (!ledger[id]) {
      const document = await (await request(url)).text();
      const digest = new Uint8Array(await crypto.subtle.digest("SHA-256", utf8(document)));
      check(`${digest}` === `${fromHex(id)}`);
      const data = parse(document);
      const { epsilon } = data;
      // What all reports of 30 days tell together has a limit.
      let left = 10 - epsilon;
      for (const entry of Object.values(ledger)) if (entry.answered > days - 30) left -= entry.epsilon;
      check(epsilon <= maxEpsilon && left >= 0);
      const report = [1, ...digest, ...encodeReport(data, parts, value, crypto.getRandomValues(new Uint8Array(32)))];
      ledger[id] = { name: data.name, epsilon, closes: data.closes, url, report, answered: days };
      writeLedger(ledger);
      ledger = readLedger(); // what the browser does not keep must not be sent
    }
    for (const entry of Object.values(ledger)) {
      // No reply, or none that a collector wrote: later.
      if (entry.report && (await send(entry, days).catch(() => {}))) delete entry.report;
    }
    writeLedger(ledger);
  });

/** Send a report, unless the survey is closed; whether that was final. @param {import("./ledger.js").Entry} entry @param {number} days */
async function send(entry, days) {
  if (Date.now() > Date.parse(entry.closes)) return true;
  const reply = await request(entry.url + "/reports", new Uint8Array(entry.report));
  const status = (entry.status = reply.status);
  if (status === 200) return (await reply.json()).statuses;
  if (status === 404 || status === 410) return days - (entry.missing ??= days) > 7;
  return /^4(?!0[89]|2[59])/.test(`${status}`); // 408, 409, 425 and 429 say nothing final; neither does a server in trouble
}
