import { check, checkText, checkWhole } from "./check.js";
import { WINDOWS, dayOf, leftIn, readLedger, writeLedger } from "./ledger.js";
import { through } from "./route.js";
import { fromHex } from "./survey.js";
import { utf8 } from "./text.js";

/**
 * A simple request (no CORS preflight) without cookies, referrer or headers of ours. With a body it is a POST.
 *
 * @param {string} url
 * @param {Uint8Array<ArrayBuffer>} [body]
 */
export const request = (url, body) =>
  fetch(url, {
    body,
    method: body && "POST",
    keepalive: true,
    credentials: "omit",
    redirect: "error",
    referrerPolicy: "no-referrer",
  });

/**
 * Whether this is the first view of a visit that calls this, whatever page it came from. Who is in the middle of a visit
 * when a period begins answers on the next visit: a later view of a visit does not know where the visitor came from.
 */
const isFirstView = () => /** @type {any} */ (sessionStorage.hubbub) ^ (sessionStorage.hubbub = 1); // nothing counts as 0

/**
 * Answer a survey, unless this browser has answered it before, in this period if it repeats; and send all reports that are
 * not acknowledged yet. A lock prevents two tabs from doing so at once.
 *
 * @param {string} url the survey's address, which ends with its id
 * @param {unknown} value anything
 * @param {number} maxEpsilon the largest epsilon that the survey may state
 * @param {(document: string) => any} read reads the survey's text; throws if the survey is refused
 * @returns {Promise<void>}
 * @throws if the survey is not answered; the error never contains the value
 */
export const answer = (url, value, maxEpsilon, read) =>
  navigator.locks.request("hubbub", async () => {
    const id = url.slice(-64);
    let ledger = readLedger();
    check(!(navigator.globalPrivacyControl || /** @type {any} */ (navigator).doNotTrack == 1 || localStorage.hubbubOut));
    const before = ledger[id];
    if (!before || (before.next && isFirstView() && isOver(before))) {
      const document = await (await request(url + "/open")).text(); // empty if the survey is over: then it is not drawn
      const digest = new Uint8Array(await crypto.subtle.digest("SHA-256", utf8(document)));
      check(digest + "" == /** @type {any} */ (fromHex(id)));
      const [{ name, epsilon, every, opens }, makeReport] = through ? await read(document) : read(document);
      checkText(epsilon, through ? /^([0-5](\.\d+)?|6)$/ : /^([0-3](\.\d+)?|4)$/);
      const answered = dayOf();
      if (before) ledger[id + before.next] = before;
      else if (every) isFirstView();
      // Where it is anything else than days, it is over at once, and so refused.
      const next = every && answered + checkWhole(every, 1, 366) - (checkWhole(answered - Date.parse(opens) / 864e5, 0, 1e5) % every);
      ledger[id] = { name, epsilon, url: through ? makeReport.to : url, answered, next };
      check(!isOver(ledger[id]) && +epsilon <= maxEpsilon && WINDOWS.every((window) => leftIn(ledger, window) > -1e-9));
      // Epsilon is spent before random words are drawn. Whatever happens later, they are never drawn again.
      ledger = writeLedger(ledger);
      check(!isOver(ledger[id])); // what the browser does not store must not be sent; it may still have the last answer
      const random = crypto.getRandomValues(new Uint8Array(40));
      // The wait begins before the value is looked at, so that it hides how long that takes.
      const waited = new Promise((resolve) => {
        setTimeout(resolve, random[32] / 1.275); // 0 to 200 ms
        addEventListener("pagehide", resolve);
      });
      ledger[id][through ? "sealed" : "report"] = through
        ? await makeReport(value, random, digest)
        : [1, ...digest, ...makeReport(value, random)];
      writeLedger(ledger);
      await waited;
    }
    // All at once: a page that goes away gets no second turn. What fails is sent on a later view.
    await Promise.allSettled(Object.values(ledger).map(send));
    writeLedger(ledger);
  });

/** Whether the period of an answer is over; never, if its survey does not repeat. @param {any} entry */
const isOver = ({ next }) => next <= dayOf();

/** Send the report of an entry, if it waits, and erase it if it need not be sent again. @param {any} entry */
const send = async (entry) => {
  if (!entry[through ? "sealed" : "report"]) return;
  // After 7 days a report is given up: a collector knows its id for longer, so that it is never counted twice.
  if (!isOver(entry) && dayOf() - entry.answered < 8) {
    const reply = await request(through ? entry.url : entry.url + "/reports", new Uint8Array(entry[through ? "sealed" : "report"]));
    entry.status = reply.status;
    // What is refused for good is given up. After anything else, such as 404, 429 or 503, try again later.
    if (through) {
      if (!/202|4(00|1[03]|22)/.test(entry.status)) return;
    } else if (!(reply.ok ? (await reply.json()).statuses : /4(0[03]|1[03]|22)/.test(entry.status))) return;
  }
  delete entry[through ? "sealed" : "report"];
};
