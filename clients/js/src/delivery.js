import { check, checkText } from "./check.js";
import { WINDOWS, dayOf, readLedger, spentIn, writeLedger } from "./ledger.js";
import { fromHex } from "./survey.js";
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
    redirect: "error",
    referrerPolicy: "no-referrer",
  });

/**
 * Answer a survey, unless this browser has answered it before, and send all reports that are not acknowledged yet. A lock
 * prevents two tabs from doing so at once.
 *
 * @param {string} url the survey's address, which ends with its id
 * @param {unknown} value anything
 * @param {number} maxEpsilon the largest epsilon that the survey may state
 * @param {(document: string) => import("./survey.js").Ready} read reads the survey's text; throws if the survey is refused
 * @returns {Promise<void>}
 * @throws if the survey is not answered; the error never contains the value
 */
export const answer = (url, value, maxEpsilon, read) =>
  navigator.locks.request("hubbub", async () => {
    const id = url.slice(-64);
    let ledger = readLedger();
    check(!(navigator.globalPrivacyControl || navigator.doNotTrack === "1" || localStorage.hubbubOut));
    if (!ledger[id]) {
      const document = await (await request(url)).text();
      const digest = new Uint8Array(await crypto.subtle.digest("SHA-256", utf8(document)));
      check(`${digest}` === `${fromHex(id)}`);
      const [{ name, epsilon, closes }, makeReport] = read(document);
      checkText(epsilon, /^[0-4](\.\d+)?$/);
      ledger[id] = { name, epsilon, closes, url, answered: dayOf() };
      check(!isClosed(ledger[id]) && epsilon <= maxEpsilon && WINDOWS.every(([days, most]) => spentIn(ledger, days) < most + 1e-9));
      // Epsilon is spent before random words are drawn. Whatever happens later, they are never drawn again.
      ledger = writeLedger(ledger);
      check(ledger[id]); // what the browser does not store must not be sent
      const random = crypto.getRandomValues(new Uint8Array(40));
      // The wait begins before the value is looked at, so that it hides how long that takes.
      const waited = new Promise((resolve) => {
        setTimeout(resolve, random[32] / 1.275); // 0 to 200 ms
        addEventListener("pagehide", resolve);
      });
      ledger[id].report = [1, ...digest, ...makeReport(value, random)];
      ledger = writeLedger(ledger);
      await waited;
    }
    // All at once: a page that goes away gets no second turn. What fails is sent on a later view.
    await Promise.allSettled(Object.values(ledger).map(send));
    writeLedger(ledger);
  });

/** Whether a survey has closed. @param {{ closes: any }} survey */
const isClosed = ({ closes }) => Date.now() > Date.parse(closes);

/** Send the report of an entry, if it waits, and erase it if it need not be sent again. @param {import("./ledger.js").Entry} entry */
const send = async (entry) => {
  if (!entry.report) return;
  let done = isClosed(entry);
  if (!done) {
    const reply = await request(entry.url + "/reports", new Uint8Array(entry.report));
    const status = (entry.status = reply.status);
    if (status === 200) done = (await reply.json()).statuses;
    else if (status === 404 || status === 410) done = dayOf() - (entry.missing ??= dayOf()) > 7;
    else done = /^4(?!0[89]|2[59])/.test(`${status}`); // after 408, 409, 425, 429 and 5xx, try again later
  }
  if (done) delete entry.report;
};
