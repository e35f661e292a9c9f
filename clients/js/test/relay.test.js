// The built script with sealing, in a page simulated in node: what goes to the collector, what to the relay, and when.
import assert from "node:assert/strict";
import { createHash, createDecipheriv, createHmac, hkdfSync, webcrypto } from "node:crypto";
import { after, before, beforeEach, test } from "node:test";
import { readSurvey } from "../src/index.js";
import { Collector, DAY, RELAY, SCRIPT, Site, changed } from "../support/page.js";
import { load, toHex } from "../support/vectors.js";

const HOSTS = load("tree").surveys.find((/** @type {any} */ { name }) => name === "hostnames").survey; // ε = 1.5
const POLL = load("subset").surveys.find((/** @type {any} */ { name }) => name === "closed, 2").survey;
const CURVE = { name: "ECDH", namedCurve: "P-256" };

/** @type {Collector} */
let collector;
/** @type {Collector} */
let relay;
/** @type {CryptoKeyPair} */
let pair;
/** @type {Uint8Array<ArrayBuffer>} */
let point;
/** @type {Site} */
let site;
/** @type {string} */
let survey;
/** @type {any} */
let at;
/** @type {Record<string, string>} */
let page;

before(async () => {
  collector = await new Collector().start();
  relay = await new Collector().start();
  pair = /** @type {CryptoKeyPair} */ (await webcrypto.subtle.generateKey(CURVE, true, ["deriveBits"]));
  point = new Uint8Array(await webcrypto.subtle.exportKey("raw", pair.publicKey));
});
after(() => [collector, relay].forEach((server) => server.stop()));
beforeEach(() => {
  site = new Site();
  for (const server of [collector, relay]) Object.assign(server, { faults: [], posted: [], requests: [], headers: [], onPost: () => {} });
  relay.faults = Array(99).fill(202);
  collector.keys.set(hash(point), point);
  survey = collector.add(relayed(HOSTS));
  page = { survey, relay: new URL("/", /** @type {string} */ (relay.src)).href };
  at = { src: collector.src, source: RELAY };
});

/** @param {Uint8Array | string} bytes */
const hash = (bytes) => createHash("sha256").update(bytes).digest("hex");

/** A survey through a relay. @param {string} document @param {Record<string, unknown>} [fields] */
const relayed = (document, fields) => changed(document, { crowd: 100, key: hash(point), through: "relay", ...fields });

/** What is in a sealed request: opened by other primitives than those that sealed it. @param {Buffer} request */
async function opened(request) {
  assert.equal(request.length, 214);
  const [header, enc, sealed, tag] = [request.subarray(0, 37), request.subarray(37, 102), request.subarray(102, 198), request.subarray(198)];
  const theirs = await webcrypto.subtle.importKey("raw", new Uint8Array(enc), CURVE, false, []);
  const agreed = Buffer.from(await webcrypto.subtle.deriveBits({ name: "ECDH", public: theirs }, pair.privateKey, 256));
  const suite = "HPKE\0\x10\0\x01\0\x01";
  const text = (/** @type {string} */ label) => Buffer.from(`HPKE-v1${label}`, "latin1");
  const expand = (/** @type {Buffer} */ salt, /** @type {Buffer} */ material, /** @type {string} */ label, /** @type {Buffer} */ info, /** @type {number} */ size) =>
    Buffer.from(hkdfSync("sha256", material, salt, Buffer.concat([Buffer.from([0, size]), text(label), info]), size));
  const extract = (/** @type {string} */ label) => createHmac("sha256", "").update(text(suite + label)).digest();
  const kem = "KEM\0\x10";
  const shared = expand(Buffer.alloc(0), Buffer.concat([text(`${kem}eae_prk`), agreed]), `${kem}shared_secret`, Buffer.concat([enc, point]), 32);
  const context = Buffer.concat([Buffer.alloc(1), extract("psk_id_hash"), extract("info_hashhubbub sealed report 1")]);
  const [key, nonce] = [expand(shared, text(`${suite}secret`), `${suite}key`, context, 16), expand(shared, text(`${suite}secret`), `${suite}base_nonce`, context, 12)];
  const cipher = createDecipheriv("aes-128-gcm", key, nonce).setAAD(header).setAuthTag(tag);
  const plain = Buffer.concat([cipher.update(sealed), cipher.final()]);
  const size = plain[32];
  assert.deepEqual([plain.length, [...plain.subarray(33 + size)]], [96, Array(63 - size).fill(0)]);
  return { header, id: toHex(plain.subarray(0, 32)), report: toHex(plain.subarray(33, 33 + size)) };
}

/** Random bytes that make the script tell the truth; keys of messages stay random. */
const truthful = { subtle: webcrypto.subtle, getRandomValues: (/** @type {Uint8Array} */ bytes) => bytes.fill(0).fill(7, 0, 16) };

test("the collector is asked for the survey and the key, and the relay gets the report, sealed", async () => {
  await site.view(page, { ...at, referrer: "https://news.example/a", crypto: truthful });
  assert.deepEqual(collector.requests, [`GET /v1/surveys/${survey}/open`, `GET /v1/keys/${hash(point)}`]);
  assert.deepEqual(relay.requests, ["POST /v1/sealed"]);
  const { header, id, report } = await opened(relay.posted[0]);
  assert.equal(toHex(header), `01${hash(point)}64000000`);
  assert.equal(id, survey);
  const random = new Uint8Array(32).fill(7, 0, 16);
  assert.equal(report, toHex(readSurvey(HOSTS)("news.example", random)));
  const { url, ...entry } = site.ledger[survey];
  assert.deepEqual(entry, { name: "vectors", epsilon: "1.5", answered: site.now / DAY, to: `${page.relay}v1/sealed`, status: 202 });
  assert.deepEqual((await site.view(page, at)).requests, []);
});

test("requests to the relay are simple, and name neither page nor visitor", async () => {
  const { requests } = await site.view(page, { ...at, referrer: "https://news.example/secret" });
  assert.equal(requests.length, 3);
  for (const { options } of requests) {
    assert.deepEqual([options.credentials, options.redirect, options.referrerPolicy, options.headers], ["omit", "error", "no-referrer", undefined]);
  }
  for (const { cookie, referer, "content-type": type } of relay.headers) assert.deepEqual([cookie, referer, type], [undefined, undefined, undefined]);
});

test("every value makes one request of 214 bytes, and the ledger holds no plain report", async () => {
  const hostile = { toString: () => assert.fail(), get then() { return assert.fail(); } }; // prettier-ignore
  for (const document of [HOSTS, POLL]) {
    const id = collector.add(relayed(document));
    for (const value of ["", "a", "x".repeat(1000), "\ud800", 7, null, undefined, {}, Symbol("s"), hostile]) {
      site = new Site();
      relay.faults = [503];
      const { hubbub } = await site.view({ ...page, survey: id, manual: "" }, { ...at, crypto: truthful });
      await hubbub.report(value);
      const [request] = relay.posted.splice(0);
      assert.equal(request.length, 214);
      assert.deepEqual(site.ledger[id].sealed, [...request]);
      assert.doesNotMatch(site.storage.hubbub, new RegExp([...Buffer.from((await opened(request)).report, "hex")].join()));
    }
  }
});

test("only what says through: relay, with a crowd and a key that is served, is answered", async () => {
  let draws = 0;
  const crypto = { subtle: webcrypto.subtle, getRandomValues: (/** @type {any} */ bytes) => (draws++, bytes) };
  const off = new Uint8Array(65).fill(4); // no point of the curve
  collector.keys.set(hash(off), off);
  collector.keys.set("ab".repeat(32), point); // another hash than its own
  const bad = [{ through: undefined }, { through: "" }, { through: "Relay" }, { through: true }, { through: ["relay"] }, { key: undefined }];
  const keys = ["ab".repeat(32), "cd".repeat(32), hash(off), hash(point).toUpperCase(), "", null, 7, [hash(point)]].map((key) => ({ key }));
  const crowds = [undefined, null, 1, 0, -100, 1e6 + 1, 2.5, "100", [100], 2 ** 32 + 100].map((crowd) => ({ crowd }));
  for (const fields of [...bad, ...keys, ...crowds]) {
    await site.view({ ...page, survey: collector.add(relayed(HOSTS, fields)) }, { ...at, crypto });
    await site.view({ ...page, survey: collector.add(relayed(POLL, fields)) }, { ...at, crypto });
  }
  await site.view({ ...page, survey: collector.add(HOSTS) }, { ...at, crypto });
  for (const wrong of [undefined, "", "relay.example", "//", "http://"]) {
    const { relay: _, ...rest } = page;
    await site.view(wrong === undefined ? rest : { ...rest, relay: wrong }, { ...at, crypto });
  }
  assert.deepEqual([draws, relay.posted.length, collector.posted.length, site.ledger], [0, 0, 0, {}]);
});

test("the scripts without sealing refuse a survey that goes through a relay", async () => {
  for (const document of [HOSTS, POLL]) {
    await site.view({ ...page, survey: collector.add(relayed(document)) }, { ...at, source: SCRIPT });
    assert.throws(() => readSurvey(relayed(document)), Error);
  }
  assert.deepEqual([relay.posted.length, collector.posted.length, site.ledger], [0, 0, {}]);
});

test("epsilon is 6 at most, data-max-epsilon only lowers that, and the budget books it", async () => {
  const six = relayed(POLL, { epsilon: "6" });
  for (const maxEpsilon of ["5.99", "4", "0", "much"]) await site.view({ ...page, survey: collector.add(six), maxEpsilon }, at);
  for (const epsilon of ["6.01", "7", "60", "6.", "06", 6]) await site.view({ ...page, survey: collector.add(relayed(POLL, { epsilon })) }, at);
  assert.deepEqual([relay.posted.length, site.ledger], [0, {}]);
  await site.view({ ...page, survey: collector.add(six), maxEpsilon: "9" }, at);
  await site.view({ ...page, survey: collector.add(relayed(POLL, { epsilon: "2.01", name: "too much" })) }, at); // 8 in 30 days
  await site.view({ ...page, survey: collector.add(relayed(POLL, { epsilon: "2", name: "the rest" })) }, at);
  assert.deepEqual([relay.posted.length, Object.values(site.ledger).map(({ epsilon }) => epsilon)], [2, ["6", "2"]]);
});

test("later views send the same bytes until the relay takes them; a refusal is final", async () => {
  relay.faults = [503, 500, 404, 403, 429, 0, 200, 204, "{}", "<html>"];
  const tries = relay.faults.length;
  for (let view = 0; view < tries; view++) {
    await site.view(page, at);
    assert.equal(site.ledger[survey].sealed.length, 214, `${view}`);
  }
  relay.faults = [202];
  await site.view(page, at);
  assert.equal(relay.posted.length, tries + 1);
  assert.equal(new Set(relay.posted.map(toHex)).size, 1);
  assert.equal(site.ledger[survey].sealed, undefined);
  for (const fault of [400, 410, 413, 422]) {
    site = new Site();
    relay.faults = [fault];
    for (let view = 0; view < 2; view++) await site.view(page, at);
    assert.deepEqual([site.ledger[survey].sealed, site.ledger[survey].status], [undefined, fault]);
  }
  assert.equal(relay.posted.length, tries + 5);
});

test("a report is given up after 7 days", async () => {
  for (const [days, kept] of [[0, true], [7.9, true], [8, false]]) { // prettier-ignore
    relay.faults = [503];
    site.now = Date.UTC(2030, 0, 1) + Number(days) * DAY;
    await site.view(page, at);
    assert.equal(!!site.ledger[survey].sealed, kept);
  }
  assert.equal(relay.posted.length, 2);
});

test("on pages of one site, each of the two scripts sends what is its own", async () => {
  const plain = collector.add(HOSTS);
  relay.faults = [503];
  collector.faults = [503];
  await site.view(page, at);
  await site.view({ survey: plain }, { ...at, source: SCRIPT });
  assert.deepEqual([relay.posted.length, collector.posted.length], [1, 1]);
  assert.ok(site.ledger[survey].sealed && site.ledger[plain].report);
  relay.faults = [202];
  await site.view(page, at);
  assert.deepEqual([relay.posted.length, collector.posted.length], [2, 1]);
  assert.ok(!site.ledger[survey].sealed && site.ledger[plain].report);
  await site.view({ survey: plain }, { ...at, source: SCRIPT });
  assert.deepEqual([relay.posted.length, collector.posted.length], [2, 2]);
});

test("a sealed report is sent at once when the page goes away, and nothing is lost if that is too early", async () => {
  /** @type {any} */
  let leave;
  const globals = { setTimeout: () => {}, addEventListener: (/** @type {any} */ _, /** @type {any} */ listener) => (leave = listener) };
  const viewed = site.view(page, { ...at, ...globals });
  while (!site.ledger[survey]?.sealed) await new Promise((resolve) => setTimeout(resolve, 1));
  assert.equal(relay.posted.length, 0);
  leave();
  await viewed;
  assert.equal(relay.posted.length, 1);
  assert.deepEqual([site.ledger[survey].sealed, site.ledger[survey].status], [undefined, 202]);
});

test("a site whose questions go through a relay", async () => {
  const key = "0123456789abcdef".repeat(2);
  const questions = [{ asks: "referrer", survey }];
  collector.sites.set(key, JSON.stringify({ own: ["own.example"], questions, site: key, version: 1 }));
  const { survey: _, ...rest } = page;
  await site.view({ ...rest, site: key }, { ...at, referrer: "https://news.example/", crypto: truthful });
  const random = new Uint8Array(32).fill(7, 0, 16);
  const { id, report } = await opened(relay.posted[0]);
  assert.deepEqual([id, report], [survey, toHex(readSurvey(HOSTS)("news.example", random))]);
  const six = collector.add(relayed(POLL, { epsilon: "6" }));
  collector.sites.set(key, JSON.stringify({ own: [], questions: [{ asks: "campaign", survey: six }], site: key, version: 1 }));
  for (const fresh of [new Site(), new Site()]) await fresh.view({ ...rest, site: key }, { ...at, source: SCRIPT });
  await new Site().view({ ...rest, site: key }, at);
  assert.deepEqual([collector.posted.length, relay.posted.length], [0, 2]);
});

test("a relay has an address with or without a slash at its end, and may have a path", async () => {
  const origin = new URL("/", /** @type {string} */ (relay.src)).href.slice(0, -1);
  for (const [address, path] of [["", "/v1/sealed"], ["/", "/v1/sealed"], ["/a/b", "/a/b/v1/sealed"], ["/a/b/", "/a/b/v1/sealed"]]) { // prettier-ignore
    site = new Site();
    await site.view({ ...page, relay: origin + address }, at);
    assert.equal(relay.requests.pop(), `POST ${path}`);
  }
});
