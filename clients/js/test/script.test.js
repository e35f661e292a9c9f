// The built self-starting script, in a page simulated in node: when it sends a report, what it sends, and to whom.
import assert from "node:assert/strict";
import { webcrypto } from "node:crypto";
import { after, before, beforeEach, test } from "node:test";
import { readSurvey } from "../src/index.js";
import { Collector, DAY, SCRIPT, Site, changed } from "../support/page.js";
import { load, randomOf, toHex, valueOf } from "../support/vectors.js";

const HOSTS = load("tree").surveys.find((/** @type {any} */ { name }) => name === "hostnames").survey; // ε = 1.5
const POLL = load("subset").surveys.find((/** @type {any} */ { name }) => name === "closed, 2").survey;

/** @type {Collector} */
let collector;
/** @type {Site} */
let site;
/** @type {string} */
let survey;
/** @type {{ src: string }} */
let at;

before(async () => {
  collector = await new Collector().start();
  at = { src: /** @type {string} */ (collector.src) };
});
after(() => collector.stop());
beforeEach(() => {
  site = new Site();
  survey = collector.add(HOSTS);
  Object.assign(collector, { faults: [], posted: [], requests: [], headers: [], onPost: () => {} });
});

/** Random bytes that make the script tell the truth. */
function truthful() {
  const random = new Uint8Array(32).fill(7, 0, 16);
  return {
    random,
    crypto: { subtle: webcrypto.subtle, getRandomValues: (/** @type {Uint8Array} */ bytes) => (bytes.set(random), bytes) },
  };
}

/** What the collector must get for a value. @param {string} document @param {unknown} value */
const truth = (document, value) => toHex(readSurvey(document)(value, truthful().random));

/** The report of the last batch, in hexadecimal. */
const reported = () => toHex(collector.posted[collector.posted.length - 1]).slice(66);

test("the first view loads the survey and sends a report; later views request nothing", async () => {
  const first = await site.view({ survey }, at);
  assert.deepEqual(collector.requests, [`GET /v1/surveys/${survey}/open`, `POST /v1/surveys/${survey}/reports`]);
  assert.equal(toHex(collector.posted[0]).slice(0, 66), "01" + survey);
  assert.equal(collector.posted[0].length, 50);
  const { name, epsilon, report, status, answered } = site.ledger[survey];
  assert.deepEqual([name, epsilon, report, status, answered], ["vectors", "1.5", undefined, 200, site.now / DAY]);
  site = new Site();
  site.now += 0.7 * DAY;
  await site.view({ survey }, at);
  assert.equal(site.ledger[survey].answered, Date.UTC(2030, 0, 1) / DAY); // the day, and not the time of day
  assert.equal(first.requests.length, 2);
  for (let view = 0; view < 3; view++) assert.deepEqual((await site.view({ survey }, at)).requests, []);
});

test("requests are simple: no preflight, no cookie, no referrer, no header", async () => {
  const { requests } = await site.view({ survey }, { ...at, referrer: "https://news.example/secret" });
  for (const { options } of requests) {
    assert.equal(options.credentials, "omit");
    assert.equal(options.redirect, "error");
    assert.equal(options.referrerPolicy, "no-referrer");
    assert.equal(options.headers, undefined);
  }
  assert.equal(requests[1].options.keepalive, true);
  assert.ok(requests[1].options.body instanceof Uint8Array);
  for (const headers of collector.headers) {
    assert.deepEqual([headers.cookie, headers.referer, headers["content-type"]], [undefined, undefined, undefined]);
  }
  assert.doesNotMatch(SCRIPT, /sendBeacon|cookie|Math\.random|localStorage\.clear/);
});

test("the value is the host of the referrer, or direct", async () => {
  /** @type {[Record<string, string>, string, string][]} */
  const cases = [
    [{}, "https://www.news.example/a?b", "news.example"],
    [{}, "https://news.example:8443/", "news.example"],
    [{}, "android-app://com.example.reader/", "com.example.reader"],
    [{}, "", "direct"],
    [{}, "https://site.example/elsewhere", "direct"],
    [{ none: "typed" }, "", "typed"],
    [{ value: "checkout" }, "https://news.example/", "checkout"],
    [{ value: "" }, "https://news.example/", ""],
  ];
  for (const [attributes, referrer, value] of cases) {
    site = new Site();
    await site.view({ survey, ...attributes }, { ...at, referrer, crypto: truthful().crypto });
    assert.equal(reported(), truth(HOSTS, value), JSON.stringify([attributes, referrer]));
  }
});

test("every value makes one report of the same size", async () => {
  const values = ["", "a", "x".repeat(1000), "\ud800", "(other)", 7, null, undefined, {}, [], Symbol("s"), NaN, 10n, true];
  const hostile = { toString: () => assert.fail(), get then() { return assert.fail(); } }; // prettier-ignore
  for (const value of [...values, hostile, new Proxy({}, { get: () => assert.fail() })]) {
    site = new Site();
    const { hubbub } = await site.view({ survey, manual: "" }, at);
    hubbub.report(value);
    await site.settled();
    assert.equal(collector.posted.pop()?.length, 50);
    assert.equal(collector.requests.length, 2);
    collector.requests = [];
  }
});

test("manual: nothing is sent before report is called, and then one report", async () => {
  const { hubbub, requests } = await site.view({ survey, manual: "" }, { ...at, crypto: truthful().crypto });
  assert.deepEqual([requests.length, site.storage], [0, {}]);
  await Promise.all([hubbub.report("a.example"), hubbub.report("b.example")]);
  assert.equal(collector.posted.length, 1);
  assert.equal(reported(), truth(HOSTS, "a.example"));
});

test("consent: nothing is stored or sent before it", async () => {
  const { hubbub, requests } = await site.view({ survey, consent: "" }, at);
  assert.deepEqual([requests.length, site.storage], [0, {}]);
  hubbub.consent();
  await site.settled();
  assert.equal(collector.posted.length, 1);
});

test("Global Privacy Control, Do Not Track and opt-out: nothing is stored or sent", async () => {
  for (const navigator of [{ globalPrivacyControl: true }, { doNotTrack: "1" }]) {
    assert.deepEqual((await site.view({ survey }, { ...at, navigator })).requests, []);
    assert.deepEqual(site.storage, {});
  }
  site.storage.hubbubOut = "1";
  assert.deepEqual((await site.view({ survey }, at)).requests, []);
  delete site.storage.hubbubOut;
  await site.view({ survey }, { ...at, navigator: { globalPrivacyControl: false, doNotTrack: "unspecified" } });
  assert.equal(collector.posted.length, 1);
});

test("a report is written down before it is sent", async () => {
  let stored = "";
  collector.onPost = () => (stored = site.storage.hubbub);
  await site.view({ survey }, at);
  const entry = JSON.parse(stored)[survey];
  assert.deepEqual([entry.epsilon, entry.report], ["1.5", [...collector.posted[0]]]);
  assert.doesNotMatch(stored, /direct/);
});

test("later views send the same bytes, until a collector acknowledges them", async () => {
  const faults = [503, 500, 408, 409, 425, 429, 0, "<html>", "{}", 204, 404];
  for (const fault of faults) {
    collector.faults = [fault];
    await site.view({ survey }, at);
    assert.equal(site.ledger[survey].report.length, 50, `${fault}`);
  }
  await site.view({ survey }, at);
  assert.equal(collector.posted.length, faults.length + 1);
  assert.equal(new Set(collector.posted.map(toHex)).size, 1);
  assert.equal(collector.requests.filter((each) => each.startsWith("GET")).length, 1);
  assert.equal(site.ledger[survey].report, undefined);
});

test("other refusals are final", async () => {
  for (const fault of [400, 403, 410, 413, 422]) {
    site = new Site();
    collector.faults = [fault];
    await site.view({ survey }, at);
    assert.deepEqual([site.ledger[survey].report, site.ledger[survey].status], [undefined, fault]);
    assert.deepEqual((await site.view({ survey }, at)).requests, []);
  }
});

test("a report is given up 7 days after it was made", async () => {
  for (const fault of [404, 503]) {
    site = new Site();
    for (const [days, kept] of [[0, true], [7.9, true], [8, false]]) { // prettier-ignore
      collector.faults = kept ? [fault] : [];
      site.now = Date.UTC(2030, 0, 1) + Number(days) * DAY;
      await site.view({ survey }, at);
      assert.equal(!!site.ledger[survey].report, kept);
    }
    assert.deepEqual((await site.view({ survey }, at)).requests, []);
  }
});

test("a report is given up when the collector says that the survey has closed", async () => {
  collector.faults = [503, 410];
  await site.view({ survey }, at);
  await site.view({ survey }, at);
  assert.deepEqual([site.ledger[survey].report, site.ledger[survey].status], [undefined, 410]);
  assert.deepEqual((await site.view({ survey }, at)).requests, []);
  assert.equal(collector.posted.length, 2);
});

test("a report to a survey that is not open yet is sent later", async () => {
  collector.faults = [409];
  const id = collector.add(changed(HOSTS, { opens: "2030-01-02T00:00:00Z" }));
  await site.view({ survey: id }, at);
  await site.view({ survey: id }, at);
  assert.equal(site.ledger[id].status, 200);
});

test("without working storage nothing is sent", async () => {
  const full = new Proxy({}, { set: () => { throw new Error("QuotaExceededError"); } }); // prettier-ignore
  const silent = new Proxy({}, { set: () => true });
  const blocked = { get localStorage() { throw new Error("SecurityError"); } }; // prettier-ignore
  for (const localStorage of [full, silent, undefined, null]) {
    await site.view({ survey }, { ...at, localStorage });
    await site.view({ survey }, { ...at, localStorage });
  }
  assert.throws(() => blocked.localStorage);
  assert.equal(collector.posted.length, 0);
});

test("a damaged ledger is left unchanged, and nothing is sent", async () => {
  for (const text of ["", "no JSON", "null", "5", '"text"', "[]", "{"]) {
    site.storage.hubbub = text;
    await site.view({ survey }, at);
    await site.view({ survey }, at);
    assert.equal(site.storage.hubbub, text);
  }
  assert.equal(collector.posted.length, 0);
});

test("a document that does not match the survey's id is not answered", async () => {
  collector.surveys.set(survey, changed(HOSTS, { name: "another" }));
  await site.view({ survey }, at);
  collector.surveys.delete(survey);
  await site.view({ survey }, at);
  assert.deepEqual([collector.posted.length, site.ledger], [0, {}]);
});

test("without TLS there is no crypto.subtle, and nothing is sent", async () => {
  const crypto = { getRandomValues: webcrypto.getRandomValues.bind(webcrypto) };
  await site.view({ survey }, { ...at, crypto });
  await site.view({ survey }, { ...at, navigator: { locks: undefined } });
  assert.deepEqual([collector.posted.length, site.ledger], [0, {}]);
});

test("a survey may have an epsilon of 4 at most, and data-max-epsilon only lowers that", async () => {
  const four = load("tree").surveys.find((/** @type {any} */ each) => /"epsilon":"3"/.test(each.survey)).survey;
  const high = collector.add(changed(four, { epsilon: "4.01" }));
  for (const maxEpsilon of [undefined, "4", "9", "Infinity"]) {
    const dataset = /** @type {Record<string, string>} */ ({ survey: high, ...(maxEpsilon && { maxEpsilon }) });
    await site.view(dataset, at);
  }
  for (const maxEpsilon of ["1.4", "0", "-1", "much"]) await site.view({ survey, maxEpsilon }, at);
  assert.equal(collector.posted.length, 0);
  await site.view({ survey: collector.add(changed(four, { epsilon: "4" })) }, at);
  await site.view({ survey, maxEpsilon: "1.5" }, at);
  assert.equal(collector.posted.length, 2);
});

test("a survey that costs more epsilon than it states is not answered", async () => {
  let refused = 0;
  for (const { name, survey: document, reason } of load("bad_surveys").surveys) {
    const mechanism = reason === "privacy" && JSON.parse(document).mechanism;
    // One threshold above the exact one is less than the slack of 10^-12; the module has no slack.
    if (!mechanism || (/above the claim/.test(name) && !/18446744073709551615/.test(name))) continue;
    await site.view({ survey: collector.add(document) }, at);
    refused++;
  }
  for (const [document, parameters] of /** @type {[string, any][]} */ ([
    [HOSTS, { keep_threshold: "18446744073709551616" }],
    [HOSTS, { keep_threshold: "36893488147419103232" }],
    [HOSTS, { masks: 7.5 }],
    [HOSTS, { masks: 69, keep_threshold: "1" }],
    [POLL, { window: 3 }],
    [POLL, { window: 1e6 }],
    [POLL, { window: 0.5 }],
    [POLL, { window: -1 }],
  ])) {
    const data = JSON.parse(document);
    await site.view({ survey: collector.add(changed(document, { parameters: { ...data.parameters, ...parameters } })) }, at);
  }
  for (const epsilon of ["1.49", "NaN", "", "-1.5", "1.5.1", 1.4, null, "0x1.8"]) {
    await site.view({ survey: collector.add(changed(HOSTS, { epsilon })) }, at);
  }
  assert.ok(refused >= 6);
  assert.deepEqual([collector.posted.length, site.ledger], [0, {}]);
});

test("a list with a malformed field is refused before anything is drawn", async () => {
  const list = JSON.parse(POLL);
  const drawn = /** @type {unknown[]} */ ([]);
  const crypto = { subtle: webcrypto.subtle, getRandomValues: (/** @type {any} */ bytes) => (drawn.push(bytes), bytes) };
  for (const other of ["7", -10, ".7e1", 1, 0, null, [], {}, [1], 1.5, "true", ""]) {
    await site.view({ survey: collector.add(changed(POLL, { domain: { ...list.domain, other } })) }, { ...at, crypto });
  }
  for (const names of ["yes", {}, { length: 3 }, [1, 2], ["yes", null], [], ["yes"], Array(4097).fill("x"), null]) {
    await site.view({ survey: collector.add(changed(POLL, { domain: { ...list.domain, names } })) }, { ...at, crypto });
  }
  const fields = { mechanism: ["constructor", "__proto__", ["subset"], null], name: [7, "", null, "x".repeat(401)] };
  for (const [name, values] of Object.entries({ ...fields, public_seed: ["", "AB".repeat(32), "00", 7] })) {
    for (const value of values) await site.view({ survey: collector.add(changed(POLL, { [name]: value })) }, { ...at, crypto });
  }
  assert.deepEqual([drawn, collector.posted, site.ledger], [[], [], {}]);
});

test("a tree whose steps, ends or sizes are wrong is refused before anything is drawn", async () => {
  const drawn = /** @type {unknown[]} */ ([]);
  const crypto = { subtle: webcrypto.subtle, getRandomValues: (/** @type {any} */ bytes) => (drawn.push(bytes), bytes) };
  const { parameters, domain } = JSON.parse(HOSTS);
  const good = { ...parameters, bucket_bits: 20, ends: [1, 2, 3, 4, 5, 6, 2 ** 24], steps: ["k", "kj", "kkkkkkg"] };
  const wrong = {
    steps: [
      ...[null, "kkkkkkg", 7, {}, { 0: "kkkkkkg" }, [], [""], [136], [null], [["kkkkkkg"]], ["kkkkkkf"], ["kkkkkkh"], ["KKKKKKG"]],
      ...[["kkkkkkg", "k"], ["k", "k", "kkkkkkg"], ["0", "kkkkkkg"], ["k", "0kkkkkkg"], ["k", 7, "kkkkkkg"], ["k", "kkkkkk6a"]],
      ...[["lkkkkkf"], [" kkkkkkg"], ["kkkkkkg "], ["kkkkkk.g"], ["-kkkkkkg"], ["kkkkkkg\n"], Array(600).fill("kkkkkkg"), ["k".repeat(201)]],
    ],
    ends: [
      ...[null, "16777216", 2 ** 24, [], [2 ** 24], [1, 2, 3, 4, 5, 6, 7], [0, 2, 3, 4, 5, 6, 2 ** 24], [1, 1, 3, 4, 5, 6, 2 ** 24]],
      ...[[1, 3, 2, 4, 5, 6, 2 ** 24], [1, 2, 3, 4, 5, 6, 2 ** 24, 2 ** 24], [1, 2, 3, 4, 5, "6", 2 ** 24], [1, 1.5, 2, 3, 4, 5, 2 ** 24]],
      ...[[1, 2, 3, 4, 5, 6, 2 ** 25], [1, 2, 3, 4, 2 ** 24], [...Array(200).keys(), 2 ** 24]],
    ],
    bucket_bits: [null, 0, 19, 21, "20", 20.5, [20]],
    masks: [null, 0, 9, "2", 1.5, [2]],
  };
  assert.equal(domain.width, 136);
  for (const [name, values] of Object.entries(wrong)) {
    for (const value of values) {
      const id = collector.add(changed(HOSTS, { parameters: { ...good, [name]: value } }));
      await site.view({ survey: id }, { ...at, crypto });
      assert.deepEqual([drawn.length, site.ledger], [0, {}], `${name} ${JSON.stringify(value).slice(0, 80)}`);
    }
  }
  await site.view({ survey: collector.add(changed(HOSTS, { parameters: good })) }, { ...at, crypto });
  assert.deepEqual([drawn.length, collector.posted.length], [1, 1]);
});

test("no survey refills the budget", async () => {
  for (const epsilon of ["-1000000", "-1", "0", "-0", "NaN", "-Infinity", "1e-400", "0x0", " ", "", " 2", "2e0", "+2", null, -5, 2, [2]]) {
    await site.view({ survey: collector.add(changed(POLL, { epsilon })) }, at);
  }
  for (const keep_threshold of ["0", "-1", "18446744073709551616", "1e3", "0x10", " 5", "", "05", 5, null, ["5"]]) {
    const parameters = { ...JSON.parse(POLL).parameters, keep_threshold };
    await site.view({ survey: collector.add(changed(POLL, { parameters })) }, at);
  }
  assert.deepEqual([collector.posted.length, site.ledger], [0, {}]);
  for (const damage of [{ epsilon: "-1000000" }, { epsilon: "much" }, { epsilon: undefined }, null, "text"]) {
    const entry = damage && typeof damage === "object" ? { answered: site.now / DAY, ...damage } : damage;
    site.storage.hubbub = JSON.stringify({ damaged: entry });
    await site.view({ survey }, at);
    assert.deepEqual([collector.posted.length, Object.keys(site.ledger)], [0, ["damaged"]]);
  }
});

test("the surveys of 30 days have an epsilon of 8 at most in total, and those of 365 days 28", async () => {
  const three = load("tree").surveys.find((/** @type {any} */ each) => each.name === "coded text").survey;
  let number = 0;
  const ask = () => site.view({ survey: collector.add(changed(three, { name: `survey ${number++}` })) }, at);
  const told = [];
  for (let month = 0; month < 13; month++) {
    for (let times = 0; times < 4; times++) await ask();
    told.push(collector.posted.length);
    site.now += 31 * DAY;
  }
  assert.deepEqual(told, [2, 4, 6, 8, 9, 9, 9, 9, 9, 9, 9, 9, 11]);
  site.now -= 100 * DAY; // answers from the future count
  await ask();
  assert.equal(collector.posted.length, 11);
});

test("the budget can be spent to its end", async () => {
  for (let number = 0; number < 6; number++) {
    await site.view({ survey: collector.add(changed(HOSTS, { epsilon: "1.6", name: `survey ${number}` })) }, at);
  }
  assert.equal(collector.posted.length, 5); // 8, whatever 1.6 is in doubles
});

test("an id has one spelling", async () => {
  for (const id of [survey.toUpperCase(), `${survey}?`, `${survey}%20`, survey.slice(0, 63)]) {
    for (const each of [id, id.slice(-64)]) collector.surveys.set(each, HOSTS);
    await site.view({ survey: id }, at);
  }
  assert.deepEqual([collector.posted.length, site.ledger], [0, {}]);
});

test("what goes wrong after the draw has spent epsilon, and nothing is drawn again", async () => {
  let writes = 0;
  let draws = 0;
  const crypto = { subtle: webcrypto.subtle, getRandomValues: (/** @type {any} */ bytes) => (draws++, bytes) };
  const localStorage = new Proxy(site.storage, {
    set: (target, name, text) => {
      if (writes++) throw new Error("QuotaExceededError");
      target[name] = text;
      return true;
    },
  });
  for (let view = 0; view < 3; view++) await site.view({ survey }, { ...at, crypto, localStorage });
  assert.equal(site.ledger[survey].epsilon, "1.5");
  await site.view({ survey }, { ...at, crypto });
  assert.deepEqual([draws, collector.posted.length, site.ledger[survey].report], [1, 0, undefined]);
});

test("a report waits for up to 200 ms, and is sent at once when the page goes away", async () => {
  for (const [byte, wait] of [[0, 0], [51, 40], [255, 200]]) { // prettier-ignore
    site = new Site();
    const getRandomValues = (/** @type {Uint8Array} */ bytes) => bytes.fill(byte);
    await site.view({ survey }, { ...at, crypto: { subtle: webcrypto.subtle, getRandomValues } });
    assert.deepEqual(site.waits, [wait]);
  }
  /** @type {any} */
  let leave;
  site = new Site();
  const answered = new Promise((resolve) => {
    const globals = { setTimeout: () => {}, addEventListener: (/** @type {string} */ name, /** @type {any} */ listener) => {
      assert.equal(name, "pagehide");
      leave = listener;
      setTimeout(() => resolve(undefined), 50);
    } }; // prettier-ignore
    site.view({ survey }, { ...at, ...globals });
  });
  await answered;
  assert.equal(collector.posted.length, 3);
  assert.equal(site.ledger[survey].report.length, 50);
  leave();
  await site.settled();
  assert.deepEqual([collector.posted.length, site.ledger[survey].report], [4, undefined]);
});

test("waiting reports of other surveys of the site are sent too", async () => {
  collector.faults = [503];
  await site.view({ survey }, at);
  const other = collector.add(changed(HOSTS, { name: "another" }));
  await site.view({ survey: other }, at);
  assert.equal(collector.posted.length, 3);
  const [first, ...later] = collector.posted.map(toHex); // the two of the second view arrive in any order
  assert.ok(later.includes(first));
  assert.ok(!site.ledger[survey].report && !site.ledger[other].report);
});

test("two tabs make one report", async () => {
  await Promise.all([1, 2, 3].map(() => site.view({ survey }, at)));
  assert.equal(collector.posted.length, 1);
});

test("no error reaches the page, whatever is missing", async () => {
  /** @type {unknown[]} */
  const thrown = [];
  const note = (/** @type {unknown} */ error) => thrown.push(error);
  process.on("unhandledRejection", note);
  await site.view({}, at);
  await site.view({ survey: "" }, at);
  await site.view({ survey: "no id" }, at);
  await site.view({ survey }, { src: "http://127.0.0.1:1/hubbub.js" });
  await site.view({ survey }, { src: "no address" });
  await site.view({ survey }, { ...at, fetch: () => { throw new Error("no"); } }); // prettier-ignore
  for (const name of ["location", "navigator", "localStorage", "fetch", "crypto"]) {
    await site.view({ survey }, { ...at, referrer: "https://a.example/", [name]: null });
  }
  await site.view({ survey }, { ...at, document: { currentScript: null, referrer: "" } });
  await new Promise((resolve) => setTimeout(resolve, 20));
  process.off("unhandledRejection", note);
  assert.deepEqual(thrown, []);
  assert.equal(collector.posted.length, 0);
});

test("the script makes the reports of the test vectors", async () => {
  let cases = 0;
  for (const file of ["tree", "subset"]) {
    for (const entry of load(file).surveys) {
      const { domain, epsilon } = JSON.parse(entry.survey);
      if (!["categories", "coded_text"].includes(domain.kind) || epsilon > 4) continue;
      if (file === "tree" && domain.kind === "categories") continue; // the module has these
      const id = collector.add(entry.survey);
      for (const { value, random_words: words, report } of entry.cases) {
        site = new Site();
        const getRandomValues = (/** @type {Uint8Array} */ bytes) => (bytes.set(randomOf(words)), bytes);
        const crypto = { subtle: webcrypto.subtle, getRandomValues };
        const { hubbub } = await site.view({ survey: id, manual: "" }, { ...at, crypto });
        await hubbub.report(valueOf(value));
        assert.equal(reported(), report, `${entry.name} ${JSON.stringify(value)}`);
        cases++;
      }
    }
  }
  assert.ok(cases > 100);
});

test("surveys that the script leaves to the module are not answered", async () => {
  for (const [file, name] of [["tree", "categories"], ["tree", "bytes 8"], ["tree", "integers 32"], ["tree", "uuids"], ["jl", "hadamard 8"]]) { // prettier-ignore
    const entry = load(file).surveys.find((/** @type {any} */ each) => each.name === name);
    await site.view({ survey: collector.add(entry.survey) }, at);
  }
  assert.deepEqual([collector.posted.length, site.ledger], [0, {}]);
});

const MONTHLY = changed(HOSTS, { every: 28, opens: "2029-12-31T00:00:00Z" }); // its next period begins on 2030-01-28

test("a survey that repeats is answered once in each period, with fresh noise", async () => {
  const id = collector.add(MONTHLY);
  const day = site.now / DAY;
  for (const [days, posted] of [[0, 1], [1, 1], [26.99, 1], [27, 2], [54.99, 2], [55, 3], [200, 4]]) { // prettier-ignore
    site.session = {};
    site.now = (day + days) * DAY;
    const { requests } = await site.view({ survey: id }, at);
    assert.equal(collector.posted.length, posted, `day ${days}`);
    if (days === 1 || days === 54.99) assert.deepEqual(requests, []);
  }
  assert.equal(new Set(collector.posted.map((report) => toHex(report).slice(66, 98))).size, 4); // ids
  const entries = Object.values(site.ledger);
  assert.deepEqual(entries.map(({ epsilon }) => epsilon), Array(4).fill("1.5"));
  assert.deepEqual(entries.map(({ answered }) => answered - day).sort((a, b) => a - b), [0, 27, 55, 200]);
  assert.equal(site.ledger[id].next, day + 223);
});

test("a report that is not delivered is given up when the next period begins, and never doubled", async () => {
  const id = collector.add(MONTHLY);
  site.now += 25 * DAY;
  collector.faults = [503, 0];
  await site.view({ survey: id }, at);
  site.now += 1 * DAY;
  await site.view({ survey: id }, at);
  assert.equal(new Set(collector.posted.map(toHex)).size, 1); // the same bytes
  site.now += 1 * DAY;
  site.session = {};
  await site.view({ survey: id }, at);
  const [first, again, next] = collector.posted.map(toHex);
  assert.ok(first === again && next !== first && collector.posted.length === 3);
  const entries = Object.values(site.ledger);
  assert.deepEqual(entries.map(({ report }) => report), [undefined, undefined]);
  assert.deepEqual(entries.map(({ epsilon }) => epsilon), ["1.5", "1.5"]);
});

test("who is in the middle of a visit when a period begins answers on the next visit", async () => {
  const id = collector.add(MONTHLY);
  const ask = (/** @type {string} */ referrer) => site.view({ survey: id }, { ...at, referrer, crypto: truthful().crypto });
  site.now += 27 * DAY - 1;
  await ask("https://news.example/"); // the first view of all
  site.now += 1;
  for (const referrer of ["https://site.example/", "", "https://other.example/"]) {
    assert.deepEqual((await ask(referrer)).requests, []); // whatever the referrer is: waiting reveals nothing of it
  }
  site.session = {}; // another visit
  site.now += DAY;
  await ask("https://other.example/");
  assert.deepEqual([collector.posted.length, reported()], [2, truth(HOSTS, "other.example")]);
  site.now += 27 * DAY; // a tab that stayed open
  await ask("https://site.example/");
  assert.equal(collector.posted.length, 2);
  // A first view that cannot reach the collector is the first view of its visit all the same.
  site.session = {};
  await site.view({ survey: id }, { src: "http://127.0.0.1:1/hubbub.js" });
  await ask("https://site.example/");
  assert.equal(collector.posted.length, 2);
});

test("a survey that does not repeat knows no visits", async () => {
  const sessionStorage = new Proxy({}, { get: () => assert.fail(), set: () => assert.fail() });
  for (const storage of [sessionStorage, null, undefined]) {
    site = new Site();
    for (let view = 0; view < 3; view++) await site.view({ survey }, { ...at, sessionStorage: storage });
    assert.deepEqual([collector.posted.length, site.ledger[survey].status], [1, 200]);
    assert.deepEqual(Object.keys(site.ledger[survey]).sort(), ["answered", "epsilon", "name", "status", "url"]);
    collector.posted = [];
  }
});

test("a period is not answered again if the browser does not store that it was", async () => {
  const id = collector.add(MONTHLY);
  await site.view({ survey: id }, at);
  site.now += 28 * DAY;
  let draws = 0;
  const crypto = { subtle: webcrypto.subtle, getRandomValues: (/** @type {any} */ bytes) => (draws++, bytes) };
  const silent = new Proxy(site.storage, { set: () => true }); // keeps what it has
  for (let view = 0; view < 3; view++) {
    site.session = {};
    await site.view({ survey: id }, { ...at, crypto, localStorage: silent });
  }
  assert.deepEqual([draws, collector.posted.length], [0, 1]);
});

test("a survey that is over costs nothing, and is no error", async () => {
  const id = collector.add(MONTHLY);
  await site.view({ survey: id }, at);
  collector.surveys.clear(); // 204 from now on
  site.now += 28 * DAY;
  for (let view = 0; view < 2; view++) {
    site.session = {};
    await site.view({ survey: id }, at);
    await site.view({ survey }, at);
  }
  assert.deepEqual([collector.posted.length, Object.keys(site.ledger)], [1, [id]]);
});

test("a clock that is set back gives no second answer", async () => {
  const id = collector.add(MONTHLY);
  site.now += 100 * DAY;
  for (const days of [0, -30, -99, 5]) {
    site.session = {};
    site.now += days * DAY;
    await site.view({ survey: id }, at);
  }
  assert.equal(collector.posted.length, 1);
});
