// The second script, for one page of a site: fills <div data-hubbub-ledger></div> with the surveys that this browser has
// answered, what is left of the budget, and a button to opt out.
import { WINDOWS, leftIn, readLedger, writeLedger } from "./ledger.js";

/** @param {string} name @param {string} [text] @param {Node[]} [inside] */
function element(name, text = "", inside = []) {
  const made = document.createElement(name);
  made.textContent = text;
  made.append(...inside);
  return made;
}

/** What became of a report. @param {import("./ledger.js").Entry} entry */
function outcome({ report, sealed, status, waits }) {
  if (report || sealed) return "not delivered yet";
  if (waits) return "drawn, and not asked yet";
  return status === 200 || status === 202 ? "delivered" : "given up";
}

/** @param {import("./ledger.js").Ledger} ledger */
function table(ledger) {
  const rows = Object.entries(ledger).map(([key, entry]) => {
    const day = new Date(entry.answered * 864e5).toLocaleDateString();
    const name = /\/v1\/sites\//.test(key) ? `${entry.name} (the one question drawn of several)` : entry.name;
    return element("tr", "", [name, entry.epsilon, day, outcome(entry)].map((text) => element("td", text)));
  });
  const heads = ["survey", "ε", "answered", "report"].map((text) => element("th", text));
  return element("table", "", [element("tr", "", heads), ...rows]);
}

/** A number without the noise of doubles. @param {number} number */
const rounded = (number) => `${+number.toFixed(6)}`;

/** What was spent, in all and in each window of the budget. @param {import("./ledger.js").Ledger} ledger */
function budget(ledger) {
  const parts = WINDOWS.map(([days, most]) => {
    const left = leftIn(ledger, [days, most]);
    return `${rounded(most - left)} of ${most} in the last ${days} days, so ${rounded(Math.max(0, left))} is left`;
  });
  return `Privacy loss in all: ε = ${rounded(-leftIn(ledger, [Infinity, 0]))}; ${parts.join("; ")}.`;
}

/** What all answers of a year reveal together at most, as odds. @param {import("./ledger.js").Ledger} ledger */
function odds(ledger) {
  const times = Math.exp(-leftIn(ledger, [365, 0]));
  const text = times < 1e6 ? (Math.ceil(times * 10) / 10).toLocaleString() : `10^${Math.ceil(Math.log10(times))}`;
  return `All answers of the last 365 days together changed the odds of any guess about you at most ${text}-fold.`;
}

/** Opt out, or take part again. After an opt-out, reports that are not delivered yet are not sent. @param {boolean} out */
const choose = (out) =>
  navigator.locks.request("hubbub", async () => {
    if (!out) return localStorage.removeItem("hubbubOut");
    localStorage.hubbubOut = "1";
    const ledger = readLedger();
    for (const entry of Object.values(ledger)) delete entry.report, delete entry.sealed;
    writeLedger(ledger);
  });

/** @param {Element} place */
function show(place) {
  try {
    const ledger = readLedger();
    const out = "hubbubOut" in localStorage;
    const told = Object.keys(ledger).length;
    const button = element("button", out ? "Take part again" : "Opt out");
    button.addEventListener("click", () => choose(!out).then(() => show(place)));
    place.replaceChildren(
      element(
        "p",
        told ? "This browser has answered these surveys of this site:" : "This browser has answered no survey of this site.",
      ),
      ...(told ? [table(ledger)] : []),
      element("p", budget(ledger)),
      element("p", odds(ledger)),
      element("p", out ? "You opted out: this browser sends no more reports. " : "", [button]),
    );
  } catch {
    place.replaceChildren(element("p", "This browser stores nothing for this site, so it sends no reports."));
  }
}

/** What is stored, as one text; nothing if that cannot be read. */
const stored = () => {
  try {
    return `${localStorage.hubbub} ${localStorage.hubbubOut}`;
  } catch {}
};

// An answer may be made while the page is open, by the script beside this one or in another tab.
/** @type {string | undefined | null} */
let shown = null;
const refresh = () => {
  const now = stored();
  if (now !== shown) document.querySelectorAll("[data-hubbub-ledger]").forEach(show);
  shown = now;
};
refresh();
setInterval(refresh, 500);
