// For data-debug: says in one sentence on the console what became of this view. The value is never in it.
import { readLedger } from "./ledger.js";

/** @type {[any, string, number]} */
const [dataset, key, step] = /** @type {any} */ (document.currentScript).hubbub;

/** A day as text. @param {number} day */
const dateOf = (day) => new Date(day * 864e5).toJSON().slice(0, 10);

const REFUSED = "has closed, cannot be loaded, breaks a rule, or costs more than data-max-epsilon or this browser's budget allows";

/** What came of it, from the entry of the ledger. @param {any} entry */
const outcome = ({ report, sealed, waits, status, answered, next }) => {
  const until = next ? `until ${dateOf(next)}` : "from now on";
  if (report || sealed) return `a report waits to be sent again, since the ${sealed ? "relay" : "collector"} ${status ? `answered ${status}` : "could not be reached"}`;
  if (waits) return `a question of the page was drawn, and the page has not called hubbub.report(${JSON.stringify(waits)}, value) yet`;
  return `this browser answered on ${dateOf(answered)}, and sends nothing ${until}`;
};

const why = () => {
  if (!isSecureContext) return "nothing was sent: the page is not secure, and needs https";
  if (navigator.globalPrivacyControl || navigator.doNotTrack === "1") return "nothing was sent: the browser asks not to be tracked";
  if (navigator.webdriver) return "nothing was sent: a program drives the browser (navigator.webdriver)";
  try {
    if (localStorage.hubbubOut) return "nothing was sent: the visitor opted out";
    const entry = readLedger()[key];
    if (entry && !(entry.next * 864e5 <= Date.now())) return outcome(entry);
  } catch {
    return "nothing was sent: the browser stores nothing for this page, or what it stores is damaged";
  }
  if (!step) return "nothing was sent: the page has not called hubbub.consent() yet";
  if ("manual" in dataset) return "nothing was sent: the page has not called hubbub.report(value) yet, or the survey " + REFUSED;
  return `nothing was sent: ${[
    "the list of questions cannot be loaded, or is not what data-manifest names",
    "the site has no open question, or none of this key",
    "the list of questions breaks a rule",
    "the survey that was drawn " + REFUSED,
    dataset.site ? "this is not the first view of a visit, and the next visit will answer" : "the survey " + REFUSED,
  ][step - 1]}`;
};

console.info(`hubbub: ${why()}.`);
