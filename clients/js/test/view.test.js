// The built second script: what it shows, and the opt-out. The document has only what the script needs.
import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { test } from "node:test";
import { DAY, Site } from "../support/page.js";

const SCRIPT = readFileSync(new URL("../dist/hubbub-ledger.js", import.meta.url), "utf8");

class Element {
  /** @type {Element[]} */
  children = [];
  textContent = "";
  click = async () => {};
  /** @param {string} name */
  constructor(name) {
    this.name = name;
  }
  /** @param {Element[]} more */
  append(...more) {
    this.children.push(...more);
  }
  /** @param {Element[]} more */
  replaceChildren(...more) {
    this.children = more;
  }
  /** @param {string} _ @param {() => Promise<void>} listener */
  addEventListener(_, listener) {
    this.click = listener;
  }
  /** @returns {string[]} */
  get texts() {
    return [this.textContent, ...this.children.flatMap((child) => child.texts)].filter(Boolean);
  }
  /** @returns {Element[]} */
  get all() {
    return [this, ...this.children.flatMap((child) => child.all)];
  }
}

/** @type {() => void} */
let later = () => {};

/** @param {Site} site @param {any} [localStorage] */
function shown(site, localStorage = site.storage) {
  const place = new Element("div");
  const document = {
    createElement: (/** @type {string} */ name) => new Element(name),
    querySelectorAll: (/** @type {string} */ selector) => (selector === "[data-hubbub-ledger]" ? [place] : []),
  };
  const setInterval = (/** @type {() => void} */ work) => (later = work);
  new Function("document", "localStorage", "navigator", "setInterval", SCRIPT)(document, localStorage, { locks: site.locks }, setInterval);
  return place;
}

test("the list of answered surveys, and an opt-out that erases reports not delivered yet", async () => {
  const site = new Site();
  assert.ok(shown(site).texts.includes("This browser has answered no survey of this site."));
  const entry = { name: "<b>hosts</b>", epsilon: "1.5", url: "", closes: null, answered: Math.floor(Date.now() / DAY) };
  site.storage.hubbub = JSON.stringify({ a: { ...entry, report: [1] }, b: { ...entry, status: 200 }, c: { ...entry, status: 422 } });
  const storage = Object.assign(site.storage, { removeItem: (/** @type {string} */ name) => delete site.storage[name] });
  const place = shown(site, storage);
  for (const text of ["<b>hosts</b>", "1.5", "not delivered yet", "delivered", "given up", "Opt out"]) {
    assert.ok(place.texts.includes(text), text);
  }
  const spent = "ε = 4.5; 4.5 of 8 in the last 30 days, so 3.5 is left; 4.5 of 28 in the last 365 days, so 23.5 is left.";
  assert.ok(place.texts.includes(`Privacy loss in all: ${spent}`), place.texts.join());
  /** @param {string} text */
  const press = async (text) => {
    await place.all.find((each) => each.textContent === text)?.click();
    await site.settled();
  };
  await press("Opt out");
  assert.equal(site.storage.hubbubOut, "1");
  assert.equal(site.ledger.a.report, undefined);
  assert.equal(Object.keys(site.ledger).length, 3);
  await press("Take part again");
  assert.ok(!("hubbubOut" in site.storage) && place.texts.includes("Opt out"));
});

test("old answers leave the windows of the budget, and stay in the total", () => {
  const site = new Site();
  const today = Math.floor(Date.now() / DAY);
  const ages = [0, 30, 31, 365, 366];
  const entries = ages.map((age) => [`${age}`, { name: "hosts", epsilon: "1.1", url: "", closes: null, answered: today - age }]);
  site.storage.hubbub = JSON.stringify(Object.fromEntries(entries));
  const spent = "ε = 5.5; 2.2 of 8 in the last 30 days, so 5.8 is left; 4.4 of 28 in the last 365 days, so 23.6 is left.";
  assert.ok(shown(site).texts.includes(`Privacy loss in all: ${spent}`), shown(site).texts.join());
});

test("without storage it says so", () => {
  assert.match(shown(new Site(), null).texts.join(), /stores nothing/);
});

test("an answer that is made while the page is open is shown, and questions of a site are told from surveys", () => {
  const site = new Site();
  const place = shown(site);
  const first = place.children[0];
  later();
  assert.equal(place.children[0], first); // nothing has changed
  const entry = { name: "hosts", epsilon: "1", url: "", answered: 1, status: 200 };
  const key = "https://collector.example/v1/sites/0123";
  site.storage.hubbub = JSON.stringify({ [key]: { ...entry, next: 29 }, [`${key}29`]: { ...entry, name: "plans", waits: "plan" } });
  later();
  assert.ok(!place.texts.includes("This browser has answered no survey of this site."));
  const rows = place.all.filter(({ name }) => name === "tr").map((row) => row.texts);
  const several = "(the one question drawn of several)";
  assert.deepEqual(rows.slice(1).map(([name, , , report]) => [name, report]), [
    [`hosts ${several}`, "delivered"],
    [`plans ${several}`, "drawn, and not asked yet"],
  ]); // prettier-ignore
});
