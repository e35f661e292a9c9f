import { check } from "./check.js";
import { readLedger, writeLedger } from "./ledger.js";
import { encodeReport, fromHex } from "./survey.js";
import { utf8 } from "./text.js";

/**
 * A simple request (no CORS preflight) without cookies, referrer or headers of ours. With a body it is a POST.
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
 * Answer a survey, unless this browser has answered it before, and send all reports that are not acknowledged yet. A lock
 * prevents two tabs from doing so at once.
 *
 * @param {string} url the survey's address, which ends with its id
 * @param {unknown} value anything
 * @param {number} maxEpsilon the largest epsilon that the survey may state
 * @param {import("./survey.js").Parts} parts
 * @param {(document: string) => any} parse reads the survey's text; throws if the survey is refused
 * @returns {Promise<void>}
 * @throws if the survey is not answered; the error never contains the value
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
      // The reports of 30 days may use an epsilon of 10 in total.
      let left = 10 - epsilon;
      for (const entry of Object.values(ledger)) if (entry.answered > days - 30) left -= entry.epsilon;
      check(epsilon <= maxEpsilon && left >= 0);
      const report = [1, ...digest, ...encodeReport(data, parts, value, crypto.getRandomValues(new Uint8Array(32)))];
      ledger[id] = { name: data.name, epsilon, closes: data.closes, url, report, answered: days };
      writeLedger(ledger);
      ledger = readLedger(); // a report that the browser does not store must not be sent
    }
    for (const entry of Object.values(ledger)) {
      // Without a reply from a collector, the report is sent later.
      if (entry.report && (await send(entry, days).catch(() => {}))) delete entry.report;
    }
    writeLedger(ledger);
  });

/** Send a report, unless the survey is closed; true if it need not be sent again. @param {import("./ledger.js").Entry} entry @param {number} days */
async function send(entry, days) {
  if (Date.now() > Date.parse(entry.closes)) return true;
  const reply = await request(entry.url + "/reports", new Uint8Array(entry.report));
  const status = (entry.status = reply.status);
  if (status === 200) return (await reply.json()).statuses;
  if (status === 404 || status === 410) return days - (entry.missing ??= days) > 7;
  return /^4(?!0[89]|2[59])/.test(`${status}`); // after 408, 409, 425, 429 and 5xx, try again later
}
