// The built script with data-site, in a page simulated in node: what is drawn, what is asked, and what a year looks like.
import assert from "node:assert/strict";
import { createHash, webcrypto } from "node:crypto";
import { after, before, beforeEach, test } from "node:test";
import { readSurvey } from "../src/index.js";
import { Collector, DAY, Site, changed } from "../support/page.js";
import { load, toHex } from "../support/vectors.js";

const HOSTS = load("tree").surveys.find((/** @type {any} */ { name }) => name === "hostnames").survey; // ε = 1.5
const POLL = load("subset").surveys.find((/** @type {any} */ { name }) => name === "closed, 2").survey; // yes, no, perhaps
const KEY = "0123456789abcdef".repeat(2);
const MONTHLY = { every: 28, opens: "2029-12-31T00:00:00Z" }; // its next period begins on 2030-01-28
const OTHER = "f".repeat(32);

/** @type {Collector} */
let collector;
/** @type {Site} */
let site;
/** @type {{ src: string }} */
let at;
/** The address of the site's questions, which is its key in the ledger. */
let key = "";

before(async () => {
  collector = await new Collector().start();
  at = { src: /** @type {string} */ (collector.src) };
  key = at.src.replace("hubbub.js", `v1/sites/${KEY}`);
});
after(() => collector.stop());
beforeEach(() => {
  site = new Site();
  Object.assign(collector, { faults: [], posted: [], requests: [], headers: [], onPost: () => {} });
  collector.surveys.clear();
  collector.sites.clear();
});

/** Random bytes that draw a question and then make the script tell the truth. @param {number} [share] of all questions */
function drawing(share = 0) {
  const drawn = /** @type {string[]} */ ([]);
  const getRandomValues = (/** @type {any} */ array) => {
    drawn.push(array.constructor.name);
    return array instanceof Uint32Array ? array.fill(share * 2 ** 32) : array.fill(7, 0, 16);
  };
  return { drawn, crypto: { subtle: webcrypto.subtle, getRandomValues } };
}

/** What the collector must get for a value, if the script tells the truth. @param {string} document @param {unknown} value */
const truth = (document, value) => toHex(readSurvey(document)(value, new Uint8Array(32).fill(7, 0, 16)));

/** The report of the last batch, in hexadecimal. */
const reported = () => toHex(collector.posted[collector.posted.length - 1]).slice(66);

/**
 * Serve a site with some questions; the surveys' documents.
 *
 * @param {[string, (string | undefined)?, string?][]} questions what each asks, of what, and its survey
 * @param {object} [fields] of every survey
 */
function serve(questions, fields = {}) {
  const documents = questions.map(([, , document = HOSTS], number) => changed(document, { name: `question ${number}`, ...fields }));
  const list = questions.map(([asks, of], number) => ({ asks, of, survey: collector.add(documents[number]) }));
  collector.sites.set(KEY, JSON.stringify({ own: ["site.example"], questions: list, site: KEY, version: 1 }));
  return documents;
}

test("a first view asks for the questions, draws one, and answers it; later views request nothing", async () => {
  const [first, second] = serve([["path"], ["referrer"]], MONTHLY);
  const { drawn, crypto } = drawing(0.5);
  const id = createHash("sha256").update(second).digest("hex");
  await site.view({ site: KEY }, { ...at, crypto, referrer: "https://news.example/x" });
  const requests = [`GET /v1/sites/${KEY}`, `GET /v1/surveys/${id}/open`, `POST /v1/surveys/${id}/reports`];
  assert.deepEqual(collector.requests, requests);
  assert.deepEqual(drawn, ["Uint32Array", "Uint8Array"]);
  assert.equal(reported(), truth(second, "news.example"));
  assert.notEqual(truth(first, "/"), reported());
  assert.deepEqual(Object.keys(site.ledger), [key]);
  const { name, epsilon, next, status, url } = site.ledger[key];
  assert.deepEqual([name, epsilon, next, status], ["question 1", "1.5", site.now / DAY + 27, 200]);
  assert.equal(url, at.src.replace("hubbub.js", `v1/surveys/${id}`));
  for (const session of [site.session, {}]) {
    site.session = session;
    assert.deepEqual((await site.view({ site: KEY }, at)).requests, []);
  }
});

test("the second part of the script has an address of its own, and must be the one that was built", async () => {
  serve([["path"]]);
  const { parts } = await site.view({ site: KEY }, at);
  assert.match(`${parts[0].src}`, /\/hubbub-more-[\da-f]{16}\.js$/);
  assert.match(parts[0].integrity, /^sha256-[\w+/]{43}=$/);
  assert.deepEqual([parts.length, parts[0].crossOrigin, parts[0].nonce], [1, "", "n"]);
  assert.deepEqual((await site.view({ survey: "0".repeat(64) }, at)).parts, []);
});

test("each question has its value, and what does not apply is a value, too", async () => {
  const page = (/** @type {string} */ address, more = {}) => ({ location: new URL(address, "https://site.example/"), ...more });
  const wide = { screen: { width: 1600, height: 900 }, matchMedia: (/** @type {string} */ query) => ({ matches: /fine/.test(query) }) };
  const touch = (/** @type {number} */ width, /** @type {number} */ height) => ({ screen: { width, height }, matchMedia: () => ({ matches: false }) });
  const zone = { Intl: { DateTimeFormat: () => ({ resolvedOptions: () => ({ timeZone: "Europe/Berlin" }) }) } };
  const speaks = (/** @type {string} */ language) => ({ navigator: { language } });
  /** @type {[string, string | undefined, any, string, any?][]} */
  const cases = [
    ["referrer", undefined, { referrer: "https://www.news.example/a?b" }, "www.news.example"],
    ["referrer", undefined, { referrer: "https://news.example:8443/" }, "news.example"],
    ["referrer", undefined, { referrer: "android-app://com.example.reader/" }, "com.example.reader"],
    ["referrer", undefined, { referrer: "" }, "direct"],
    ["referrer", undefined, { referrer: "https://site.example/elsewhere" }, "direct"],
    ["referrer", undefined, { referrer: "https://shop.site.example:8443/" }, "direct"],
    ["referrer", undefined, { referrer: "https://notsite.example/" }, "notsite.example"],
    ["referrer", undefined, { referrer: "https://a.b.partner.example/" }, "direct", { own: "Partner.example other.example" }],
    ["referrer", undefined, { referrer: "https://x.example/" }, "x.example", { own: " , " }],
    ["referrer", undefined, { referrer: "https://www.here.example/", ...page("https://here.example/") }, "direct"],
    ["campaign", undefined, page("/?utm_source=letter&ref=x"), "letter"],
    ["campaign", undefined, page("/?utm_source=&ref=x&source=y"), "x"],
    ["campaign", undefined, page("/?source=y"), "y"],
    ["campaign", undefined, page("/?q=y"), "none"],
    ["path", undefined, page("/a/b%20c?x#y"), "/a/b%20c"],
    ["search", "q", page("/?q=blue+shoes"), "blue shoes"],
    ["search", "q", page("/?Q=blue"), "none"],
    ["device", undefined, wide, "computer"],
    ["device", undefined, touch(390, 844), "phone"],
    ["device", undefined, touch(844, 390), "phone"],
    ["device", undefined, touch(1024, 768), "tablet"],
    ["language", undefined, speaks("de-AT"), "de"],
    ["language", undefined, speaks("PT"), "pt"],
    ["zone", undefined, zone, "Europe/Berlin"],
    ["goal", "bought", {}, "no"],
    ["goal", "constructor", {}, "no"],
    // A browser that lacks what a question needs sends "(other)".
    ["device", undefined, { matchMedia: undefined }, "(other)"],
    ["language", undefined, {}, "(other)"],
    ["path", undefined, { location: { hostname: "site.example" } }, "(other)"],
  ];
  for (const [asks, of, seen, value, dataset] of cases) {
    site = new Site();
    collector.requests = [];
    const [document] = serve([[asks, of]]);
    await site.view({ site: KEY, ...dataset }, { ...at, crypto: drawing().crypto, ...seen });
    assert.equal(reported(), truth(document, value), JSON.stringify([asks, of, value]));
    assert.equal(collector.requests.length, 3);
    assert.doesNotMatch(JSON.stringify(site.storage), /news|letter|shoes|Berlin|tablet/);
  }
});

test("a year of visits: one answer in each period, whatever the list says, and questions have equal shares", async () => {
  const documents = serve([["path"], ["referrer"], ["campaign"]], { ...MONTHLY, epsilon: "0.5", parameters: mild(HOSTS) });
  const answers = /** @type {number[]} */ ([]);
  const start = site.now;
  for (let day = 0; day < 366; day += 3) {
    site.now = start + day * DAY;
    site.session = {};
    const posted = collector.posted.length;
    await site.view({ site: KEY }, at);
    await site.view({ site: KEY }, at); // a later view of the visit
    if (day === 60) serve([["path"]], { ...MONTHLY, epsilon: "0.5", parameters: mild(HOSTS) });
    if (day === 120) serve([["language"], ["path"]], { ...MONTHLY, every: 1, epsilon: "0.4", parameters: mild(HOSTS) });
    if (day === 129) serve([["path"], ["referrer"]], { ...MONTHLY, epsilon: "0.5", parameters: mild(HOSTS) });
    if (collector.posted.length > posted) answers.push(day);
    assert.ok(collector.posted.length <= posted + 1);
  }
  assert.equal(documents.length, 3);
  // The periods begin on the days 0, 27, 55, …; a view comes every third day.
  assert.deepEqual(answers, [0, 27, 57, 84, 111, 141, 168, 195, 225, 252, 279, 309, 336, 363]);
  assert.equal(Object.keys(site.ledger).length, answers.length);
  assert.equal(new Set(collector.posted.map((each) => toHex(each).slice(66, 98))).size, answers.length);
});

/** Parameters that cost next to nothing. @param {string} document */
const mild = (document) => ({ ...JSON.parse(document).parameters, keep_threshold: "1" });

test("every question is drawn equally often", async () => {
  const ids = serve([["path"], ["referrer"], ["campaign"]]).map((document) => createHash("sha256").update(document).digest("hex"));
  const counts = [0, 0, 0];
  for (let visitor = 0; visitor < 300; visitor++) {
    site = new Site();
    const crypto = { subtle: webcrypto.subtle, getRandomValues: (/** @type {any} */ array) => webcrypto.getRandomValues(array) };
    await site.view({ site: KEY }, { ...at, crypto, fetch: async (/** @type {string} */ url, /** @type {any} */ { body }) => {
      if (body) counts[ids.findIndex((id) => url.includes(id))]++;
      if (body) return { ok: true, status: 200, json: async () => ({ statuses: [] }) };
      return { text: async () => collector.sites.get(url.slice(-32)) ?? collector.surveys.get(url.slice(-69, -5)) };
    } }); // prettier-ignore
  }
  assert.equal(counts[0] + counts[1] + counts[2], 300);
  for (const count of counts) assert.ok(count > 50 && count < 150, `${counts}`); // 6 standard errors
  for (const [share, number] of [[0, 0], [0.3333, 0], [0.3334, 1], [0.6666, 1], [0.6667, 2], [1 - 2 ** -32, 2]]) { // prettier-ignore
    site = new Site();
    await site.view({ site: KEY }, { ...at, crypto: drawing(share).crypto });
    assert.equal(site.ledger[key].name, `question ${number}`);
  }
});

test("the draw and the epsilon are stored before any value is read", async () => {
  serve([["referrer"]], MONTHLY);
  let stored = "";
  const document = { get referrer() { return (stored = site.storage.hubbub), ""; } }; // prettier-ignore
  await site.view({ site: KEY }, { ...at, page: document });
  assert.deepEqual([JSON.parse(stored)[key].epsilon, collector.posted.length], ["1.5", 1]);
});

test("clocks that jump give no second answer", async () => {
  serve([["path"], ["referrer"]], MONTHLY);
  const start = site.now;
  await site.view({ site: KEY }, at);
  for (const days of [-1, -27, -400, 26, 0, 5]) {
    site.now = start + days * DAY;
    site.session = {};
    assert.deepEqual((await site.view({ site: KEY }, at)).requests, [], `${days}`);
  }
  site.now = start + 400 * DAY; // far ahead, and back again
  site.session = {};
  await site.view({ site: KEY }, at);
  assert.equal(collector.posted.length, 2);
  for (const days of [0, 27, 60, 365]) {
    site.now = start + days * DAY;
    site.session = {};
    assert.deepEqual((await site.view({ site: KEY }, at)).requests, [], `${days}`);
  }
});

test("two tabs, two lines with one key: one answer; another key or another collector has its own", async () => {
  serve([["path"], ["referrer"]]);
  const tabs = [0, 1, 2].map(() => {
    site.session = {};
    return site.view({ site: KEY }, at);
  });
  await Promise.all(tabs);
  assert.equal(collector.posted.length, 1);
  await site.view({ site: KEY }, { src: at.src.replace("127.0.0.1", "localhost") });
  assert.equal(collector.posted.length, 2);
  collector.sites.set(OTHER, `${collector.sites.get(KEY)}`.replace(KEY, OTHER));
  await site.view({ site: OTHER }, at);
  assert.equal(collector.posted.length, 3);
  assert.equal(Object.keys(site.ledger).length, 3);
});

test("only the first view of a visit draws, so a visit that cannot reach the collector is left out", async () => {
  const [document] = serve([["referrer"]], MONTHLY);
  await site.view({ site: KEY }, { src: at.src, fetch: () => { throw new Error("no"); } }); // prettier-ignore
  await site.view({ site: KEY }, { ...at, referrer: "https://site.example/" });
  assert.deepEqual([collector.requests, site.ledger], [[], {}]);
  site.session = {};
  await site.view({ site: KEY }, { ...at, referrer: "https://news.example/", crypto: drawing().crypto });
  assert.equal(reported(), truth(document, "news.example"));
});

test("an own question waits for its value, within its period", async () => {
  const [document] = serve([["own", "plan"]], MONTHLY);
  const { hubbub } = await site.view({ site: KEY }, { ...at, crypto: drawing().crypto });
  const { epsilon, waits, report, next } = site.ledger[key];
  assert.deepEqual([epsilon, waits, report, collector.posted.length], ["1.5", "plan", undefined, 0]);
  await hubbub.report("another", "gold");
  await hubbub.report("gold");
  assert.equal(collector.posted.length, 0);
  site.now += 20 * DAY;
  const later = await site.view({ site: KEY }, { ...at, crypto: drawing().crypto }); // whatever visit it is
  assert.deepEqual(later.requests, []);
  await later.hubbub.report("plan", "gold");
  assert.equal(reported(), truth(document, "gold"));
  assert.deepEqual([site.ledger[key].waits, site.ledger[key].answered, site.ledger[key].next], [undefined, site.now / DAY, next]);
  await later.hubbub.report("plan", "silver");
  assert.equal(collector.posted.length, 1);
  assert.equal(Object.keys(site.ledger).length, 1);
});

test("an own question that nobody asks is over with its period", async () => {
  serve([["own", "plan"]], MONTHLY);
  await site.view({ site: KEY }, at);
  const [path] = serve([["path"]], MONTHLY);
  site.now += 27 * DAY;
  site.session = {};
  await site.view({ site: KEY }, { ...at, crypto: drawing().crypto });
  assert.equal(reported(), truth(path, "/"));
  assert.deepEqual(Object.values(site.ledger).map(({ waits, epsilon }) => [waits, epsilon]), [[undefined, "1.5"]]); // it cost nothing
});

test("a value that the browser cannot store an answer for is not sent", async () => {
  serve([["own", "plan"]], MONTHLY);
  await site.view({ site: KEY }, at);
  const { drawn, crypto } = drawing();
  const silent = new Proxy(site.storage, { set: () => true });
  for (let view = 0; view < 2; view++) {
    const { hubbub } = await site.view({ site: KEY }, { ...at, crypto, localStorage: silent });
    await hubbub.report("plan", "gold");
  }
  assert.deepEqual([drawn, collector.posted.length], [[], 0]);
});

test("a late answer must fit the budget of its day", async () => {
  const every = { every: 100, opens: "2029-12-31T00:00:00Z" };
  serve([["own", "plan"]], every);
  await site.view({ site: KEY }, at);
  site.now += 40 * DAY;
  const day = site.now / DAY;
  site.storage.hubbub = JSON.stringify({ ...site.ledger, other: { name: "other", epsilon: "7", url: "", answered: day } });
  const { hubbub } = await site.view({ site: KEY }, at);
  await hubbub.report("plan", "gold");
  assert.equal(collector.posted.length, 0);
});

test("a goal is sent as yes or no at the first view of the next period", async () => {
  const [document] = serve([["goal", "bought"]], MONTHLY);
  const { crypto } = drawing();
  const { hubbub, requests } = await site.view({ site: KEY }, { ...at, crypto });
  assert.equal(reported(), truth(document, "no"));
  const before = requests.length;
  await hubbub.report("bought", "no");
  await hubbub.report("constructor", "yes");
  assert.deepEqual(site.ledger[key].goals, { bought: false });
  await hubbub.report("bought", "yes");
  await hubbub.report("bought", "no");
  assert.deepEqual([site.ledger[key].goals, requests.length], [{ bought: true }, before]);
  await site.view({ site: KEY }, at);
  for (const value of ["yes", "no"]) {
    site.now += 28 * DAY;
    site.session = {};
    await site.view({ site: KEY }, { ...at, crypto });
    assert.equal(reported(), truth(document, value));
  }
  assert.deepEqual(Object.values(site.ledger).map(({ goals }) => goals), [undefined, undefined, { bought: false }]
    .sort((a) => (a ? -1 : 1))); // prettier-ignore
});

test("what is requested, and when, is the same for every value", async () => {
  /** @type {[string, string | undefined, any[]][]} */
  const cases = [
    ["referrer", undefined, ["", "https://site.example/", "https://news.example/", `https://${"x".repeat(300)}.example/`].map((referrer) => ({ referrer }))],
    ["campaign", undefined, ["/", "/?ref=a", `/?ref=${"x".repeat(3000)}`].map((path) => ({ location: new URL(path, "https://site.example") }))],
    ["search", "q", ["/", "/?q=a", "/?q="].map((path) => ({ location: new URL(path, "https://site.example") }))],
    ["language", undefined, [{}, { navigator: { language: "de" } }]],
  ];
  for (const [asks, of, pages] of cases) {
    for (const page of pages) {
      site = new Site();
      const [document] = serve([[asks, of]], MONTHLY);
      const id = createHash("sha256").update(document).digest("hex");
      collector.requests = [];
      await site.view({ site: KEY }, { ...at, ...page });
      const requests = [`GET /v1/sites/${KEY}`, `GET /v1/surveys/${id}/open`, `POST /v1/surveys/${id}/reports`];
      assert.deepEqual(collector.requests, requests);
      assert.deepEqual([collector.posted.pop()?.length, site.waits.length], [50, 1]);
    }
  }
});

test("the calls of the page are heard from the first one on, by every script", async () => {
  const [plan, , hosts] = serve([["own", "plan"], ["path"], ["referrer"]], MONTHLY);
  collector.sites.set(OTHER, `${collector.sites.get(KEY)}`.replace(KEY, OTHER));
  const poll = collector.add(POLL);
  // The stub of the documentation.
  /** @type {any} */
  const hubbub = [];
  hubbub.consent = () => hubbub.push(0); hubbub.report = (/** @type {any[]} */ ...given) => hubbub.push(given);
  const { report } = hubbub;
  hubbub.report("plan", "gold");
  hubbub.consent();
  const window = { hubbub };
  const { crypto } = drawing();
  await site.view({ site: KEY, consent: "" }, { ...at, window, crypto });
  assert.equal(reported(), truth(plan, "gold"));
  // A second script, and a survey that waits for the page.
  await site.view({ site: OTHER, consent: "" }, { ...at, window, crypto: drawing(0.7).crypto });
  assert.equal(reported(), truth(hosts, "direct"));
  await site.view({ survey: poll, manual: "", consent: "" }, { ...at, window, crypto });
  assert.equal(collector.posted.length, 2);
  await report("plan", "silver"); // for a site, and not for the poll
  assert.equal(collector.posted.length, 2);
  await report("yes");
  assert.equal(reported(), truth(POLL, "yes"));
  assert.equal(collector.posted.length, 3);
});

test("calls never throw, and nothing happens without consent", async () => {
  serve([["own", "plan"]]);
  const { hubbub, requests } = await site.view({ site: KEY, consent: "" }, { ...at, navigator: {} });
  const hostile = { toString: () => { throw new Error("no"); } }; // prettier-ignore
  for (const given of [[], [1], [hostile, 1], [Symbol("s"), 1], ["plan", hostile], ["__proto__", hostile], [null, null]]) hubbub.report(...given);
  await site.settled();
  assert.deepEqual([requests, site.storage, site.session], [[], {}, {}]);
  hubbub.consent();
  await site.settled();
  assert.equal(collector.posted.length, 1);
});

test("signals, opt-out and browsers that programs drive: nothing is stored or sent", async () => {
  serve([["path"]]);
  for (const navigator of [{ globalPrivacyControl: true }, { doNotTrack: "1" }, { webdriver: true }]) {
    const { hubbub } = await site.view({ site: KEY }, { ...at, navigator });
    await hubbub.report("plan", "yes");
    assert.deepEqual([site.storage, site.session, collector.requests], [{}, {}, []]);
  }
  site.storage.hubbubOut = "1";
  await site.view({ site: KEY }, at);
  assert.deepEqual([Object.keys(site.storage), collector.requests], [["hubbubOut"], []]);
});

test("data-max-epsilon, and a drawn survey that is closed: nothing is booked", async () => {
  serve([["path"]]);
  for (const maxEpsilon of ["1.4", "0", "much"]) {
    site.session = {};
    await site.view({ site: KEY, maxEpsilon }, at);
  }
  assert.deepEqual([collector.posted.length, site.ledger], [0, {}]);
  site.session = {};
  await site.view({ site: KEY, maxEpsilon: "1.5" }, at);
  assert.equal(collector.posted.length, 1);
  site = new Site();
  collector.surveys.clear();
  await site.view({ site: KEY }, at);
  assert.deepEqual([collector.posted.length, site.ledger], [1, {}]);
});

test("data-manifest pins the questions", async () => {
  serve([["path"]]);
  const pin = `sha256-${createHash("sha256").update(`${collector.sites.get(KEY)}`).digest("base64")}`;
  for (const manifest of [pin.replace(/.{5}=$/, "AAAAA="), "sha256-", "sha1-AAAA", "x", `sha512-${pin}`, ` ${pin}`, pin.slice(0, -1)]) {
    site.session = {};
    await site.view({ site: KEY, manifest }, at);
    assert.deepEqual(site.ledger, {}, manifest);
  }
  site.session = {};
  await site.view({ site: KEY, manifest: pin }, at);
  assert.equal(collector.posted.length, 1);
});

test("a list with a wrong field is refused before anything is drawn", async () => {
  serve([["path"], ["goal", "bought"]]);
  const good = JSON.parse(`${collector.sites.get(KEY)}`);
  const [path, goal] = good.questions;
  const wrong = {
    version: [0, 2, "1", [1], null, true, undefined],
    site: [OTHER, KEY.toUpperCase(), null, [KEY], undefined],
    own: [null, "site.example", {}, [1], [null], [[]], [""], ["a b"], ["a/b"], ["x".repeat(254)], undefined],
    questions: [
      ...[null, "path", {}, [], { length: 1, 0: path }, Array(21).fill(path), [null], ["path"], [[]], [{}], undefined],
      ...["constructor", "__proto__", "Path", "", null, ["path"], 1].map((asks) => [path, { ...path, asks }]),
      ...["", "x", path.survey.toUpperCase(), `${path.survey}0`, `../${path.survey}`, [path.survey], null, 7].map((survey) => [path, { ...path, survey }]),
      ...["", "x", null, 0].map((of) => [path, { ...path, of }]),
      ...["", undefined, null, 7, ["bought"], "x".repeat(65)].map((of) => [path, { ...goal, of }]),
    ],
  };
  const { drawn, crypto } = drawing();
  const refuse = async (/** @type {string} */ text) => {
    collector.sites.set(KEY, text);
    site.session = {};
    await site.view({ site: KEY }, { ...at, crypto });
    assert.deepEqual([drawn, site.ledger], [[], {}], text.slice(0, 200));
  };
  for (const [name, values] of Object.entries(wrong)) for (const value of values) await refuse(JSON.stringify({ ...good, [name]: value }));
  for (const text of ["", "null", "[]", "7", '"x"', "{", JSON.stringify({ ...good, more: "x".repeat(16384) })]) await refuse(text);
  for (const each of ["", KEY.toUpperCase(), `${KEY}?`, `../sites/${KEY}`, "x"]) {
    collector.sites.set(each, JSON.stringify({ ...good, site: each }));
    site.session = {};
    await site.view({ site: each }, { ...at, crypto });
    assert.deepEqual([drawn, site.ledger], [[], {}], each);
  }
  collector.sites.set(KEY, JSON.stringify(good));
  site.session = {};
  await site.view({ site: KEY }, { ...at, crypto });
  assert.deepEqual(drawn, ["Uint32Array", "Uint8Array"]);
});

test("data-debug says in one sentence what became of a view, and never the value", async () => {
  serve([["path"]], MONTHLY);
  const say = async (/** @type {any} */ dataset, /** @type {any} */ globals = {}) => {
    const { said } = await site.view({ site: KEY, debug: "", ...dataset }, { ...at, location: new URL("https://site.example/secret"), ...globals });
    await site.settled();
    assert.doesNotMatch(said.join(), /secret/);
    assert.equal(said.length, 1, said.join());
    return said[0];
  };
  assert.match(await say({}, { isSecureContext: false, navigator: { locks: undefined } }), /the page is not secure/);
  assert.match(await say({}, { navigator: { webdriver: true } }), /a program drives/);
  assert.match(await say({}, { navigator: { doNotTrack: "1" } }), /not to be tracked/);
  assert.match(await say({}, { localStorage: null }), /stores nothing/);
  assert.match(await say({ consent: "" }), /hubbub\.consent/);
  assert.match(await say({ site: OTHER }), /no open question/);
  site.session = {};
  assert.match(await say({ maxEpsilon: "1" }), /costs more than data-max-epsilon/);
  assert.match(await say({}), /not the first view/);
  site.session = {};
  assert.match(await say({}, { src: "http://127.0.0.1:1/hubbub.js" }), /cannot be loaded/);
  site.session = {};
  assert.equal(await say({}), "hubbub: this browser answered on 2030-01-01, and sends nothing until 2030-01-28.");
  assert.match(await say({ site: undefined, survey: collector.add(POLL) }), /answered on 2030-01-01, and sends nothing from now on/);
  assert.match(await say({ site: undefined, survey: "0".repeat(64), manual: "" }), /hubbub\.report/);
  site.storage.hubbubOut = "1";
  assert.match(await say({}), /opted out/);
});

test("a page that is prepared in advance asks, stores and sends nothing until it is shown", async () => {
  serve([["path"]]);
  const survey = collector.add(HOSTS);
  for (const dataset of /** @type {Record<string, string>[]} */ ([{ site: KEY }, { survey }])) {
    const show = /** @type {(() => void)[]} */ ([]);
    const addEventListener = (/** @type {string} */ name, /** @type {() => void} */ listener) => name === "prerenderingchange" && show.push(listener);
    site = new Site();
    collector.requests = [];
    await site.view(dataset, { ...at, page: { prerendering: true, addEventListener } });
    assert.deepEqual([collector.requests, site.storage, site.session, show.length], [[], {}, {}, 1]);
    show[0]();
    await site.settled();
    await site.settled();
    assert.equal(Object.values(site.ledger)[0].status, 200);
  }
});
