// The second script, for one page of a site: fills <div data-hubbub-ledger></div> with what this browser told, and a
// button to opt out.
import { readLedger, writeLedger } from "./ledger.js";

/** @param {string} name @param {string} [text] @param {Node[]} [inside] */
function element(name, text = "", inside = []) {
  const made = document.createElement(name);
  made.textContent = text;
  made.append(...inside);
  return made;
}

/** What became of a report. @param {import("./ledger.js").Entry} entry */
function outcome({ report, status }) {
  if (report) return "not delivered yet";
  return status === 200 ? "delivered" : "given up";
}

/** @param {import("./ledger.js").Ledger} ledger */
function table(ledger) {
  const rows = Object.values(ledger).map((entry) => {
    const day = new Date(entry.answered * 864e5).toLocaleDateString();
    return element("tr", "", [entry.name, entry.epsilon, day, outcome(entry)].map((text) => element("td", text)));
  });
  const heads = ["survey", "ε", "answered", "report"].map((text) => element("th", text));
  return element("table", "", [element("tr", "", heads), ...rows]);
}

/** Stop or begin to take part. What was not delivered yet is not sent after an opt-out. @param {boolean} out */
const choose = (out) =>
  navigator.locks.request("hubbub", async () => {
    if (!out) return localStorage.removeItem("hubbubOut");
    localStorage.hubbubOut = "1";
    const ledger = readLedger();
    for (const entry of Object.values(ledger)) delete entry.report;
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
      element("p", told ? "This browser answered these surveys of this site:" : "This browser told this site nothing."),
      ...(told ? [table(ledger)] : []),
      element("p", out ? "You opted out: it will tell nothing more. " : "", [button]),
    );
  } catch {
    place.replaceChildren(element("p", "This browser keeps nothing for this site, so it tells nothing."));
  }
}

document.querySelectorAll("[data-hubbub-ledger]").forEach(show);
