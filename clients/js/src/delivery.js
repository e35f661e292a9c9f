import { check, checkText, checkWhole } from "./check.js";
import { WINDOWS, dayOf, leftIn, readLedger, writeLedger } from "./ledger.js";
import { MOST_EPSILON, through } from "./route.js";
import { fromHex } from "./survey.js";
import { utf8 } from "./text.js";

/**
 * A simple request (no CORS preflight) without cookies, referrer or headers of ours. With a body it is a POST.
 *
 * @param {string} url
 * @param {RequestInit} [more]
 */
export const request = (url, more) =>
  fetch(url, {
    ...more,
    keepalive: true,
    credentials: "omit",
    redirect: "error",
    referrerPolicy: "no-referrer",
  });

/**
 * Whether this is the first view of a visit that calls this, whatever page it came from. Who is in the middle of a visit
 * when a period begins answers on the next visit: a later view of a visit does not know where the visitor came from.
 *
 * @param {string} key of the ledger
 */
export const isFirstView = (key) => /** @type {any} */ (sessionStorage[key]) ^ (sessionStorage[key] = 1); // nothing counts as 0

/** What is to be answered: the survey's address, the value if it is known, and more of the entry. @typedef {[string, (() => unknown)?, object?]} Plan */

/**
 * Answer a survey if there is reason to; and send all reports that are not acknowledged yet. A lock prevents two tabs from
 * doing so at once. A page that is prepared in advance waits until it is shown.
 *
 * @param {string} key of the ledger
 * @param {(ledger: import("./ledger.js").Ledger) => any} plan the reason: a Plan, or nothing; it makes way for a new entry
 * @param {any} maxEpsilon the largest epsilon that the survey may state
 * @param {(document: string) => import("./survey.js").Ready} read reads the survey's text; throws if the survey is refused
 * @returns {Promise<void>}
 * @throws if the survey is not answered; the error never contains the value
 */
export const answer = async (key, plan, maxEpsilon = MOST_EPSILON, read) => {
  if (/** @type {any} */ (document).prerendering) await new Promise((shown) => document.addEventListener("prerenderingchange", shown));
  await navigator.locks.request("hubbub", async () => {
    const ledger = readLedger();
    check(!(navigator.globalPrivacyControl || /** @type {any} */ (navigator.doNotTrack) == 1 || localStorage.hubbubOut || navigator.webdriver));
    /** @type {Plan} */
    const planned = await plan(ledger);
    if (planned) {
      const [url, valueOf, more] = planned;
      const document = await (await request(url + "/open")).text(); // empty if the survey is over: then it is not drawn
      const digest = new Uint8Array(await crypto.subtle.digest("SHA-256", utf8(document)));
      check(`${digest}` === `${fromHex(url.slice(-64))}`);
      const [{ name, epsilon, opens, every }, makeReport] = through ? await through(read(document), url) : read(document);
      checkText(epsilon, through ? /^([0-5](\.\d+)?|6)$/ : /^([0-3](\.\d+)?|4)$/);
      every && isFirstView(key);
      const answered = dayOf();
      // Where it is anything else than days, it is over at once, and so refused.
      const next = every && answered + checkWhole(every, 1, 366) - (checkWhole(answered - Date.parse(opens) / 864e5, 0, 1e5) % every);
      /** @type {any} */
      const entry = (ledger[key] = { name, epsilon, url, answered, next, ...more });
      check(!isOver(entry) && +epsilon <= maxEpsilon && WINDOWS.every((window) => leftIn(ledger, window) > -1e-9));
      // Epsilon is spent before random words are drawn. Whatever happens later, they are never drawn again.
      writeLedger(ledger);
      check(localStorage.hubbub.includes(JSON.stringify(entry))); // what the browser does not store must not be sent
      if (valueOf) {
        const random = crypto.getRandomValues(new Uint8Array(40));
        // The wait begins before the value is looked at, so that it hides how long that takes.
        const waited = new Promise((resolve) => {
          setTimeout(resolve, random[32] / 1.275); // 0 to 200 ms
          addEventListener("pagehide", resolve);
        });
        if (through) [entry.to, entry.sealed] = await makeReport(valueOf(), random, digest);
        else entry.report = [1, ...digest, ...makeReport(valueOf(), random)];
        writeLedger(ledger);
        await waited;
      }
    }
    // All at once: a page that goes away gets no second turn. What fails is sent on a later view.
    await Promise.allSettled(Object.values(ledger).map(send));
    writeLedger(ledger);
  });
};

/**
 * The plan for a survey: to answer it unless this browser has answered it before, in this period if it repeats.
 *
 * @param {string} url the survey's address, which ends with its id
 * @param {unknown} value anything
 * @param {any} maxEpsilon
 * @param {(document: string) => import("./survey.js").Ready} read
 */
export const answerSurvey = (url, value, maxEpsilon, read) => {
  const key = url.slice(-64);
  return answer(
    key,
    (ledger) => {
      const before = ledger[key];
      return (!before || (before.next && isFirstView(key) && isOver(before) && (ledger[key + before.next] = before))) && [url, () => value];
    },
    maxEpsilon,
    read,
  );
};

/** Whether the period of an answer is over; never, if its survey does not repeat. @param {any} entry */
const isOver = ({ next }) => next <= dayOf();

/** Send the report of an entry, if it waits, and erase it if it need not be sent again. @param {any} entry */
const send = async (entry) => {
  const waits = through ? "sealed" : "report";
  if (!entry[waits]) return;
  // After 7 days a report is given up: a collector knows its id for longer, so that it is never counted twice.
  if (!isOver(entry) && dayOf() - entry.answered < 8) {
    const reply = await request(through ? entry.to : entry.url + "/reports", { body: new Uint8Array(entry[waits]), method: "POST" });
    entry.status = reply.status;
    // What is refused for good is given up. After anything else, such as 404, 429 or 503, try again later.
    if (through ? !/202|4(00|1[03]|22)/.test(entry.status) : !(reply.ok ? (await reply.json()).statuses : /4(0[03]|1[03]|22)/.test(entry.status))) return;
  }
  delete entry[waits];
};
