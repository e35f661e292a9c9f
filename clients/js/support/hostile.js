// Hostile surveys: documents that a collector made up to learn more than epsilon, each served under its own SHA-256.
// `node support/hostile.js [documents] [seed]` runs the built files on many of them, and prints what it found.
import { createHash } from "node:crypto";
import { readFileSync } from "node:fs";
import { argv } from "node:process";
import { fileURLToPath } from "node:url";
import { changed } from "./page.js";
import { load } from "./vectors.js";

const TOP = 1n << 64n;
const SLACK = 1 + 2 ** -39; // the script has a slack of 2^-40, and this file adds up in doubles

/** @param {string} name */
const built = (name) => readFileSync(new URL(`../dist/${name}`, import.meta.url), "utf8");

export const SCRIPT = built("hubbub.js");
export const RELAY = built("hubbub-relay.js");
/** The module as the body of a function that returns what it exports. */
export const MODULE = built("hubbub.mjs").replace(
  /export\s*\{(.*?)\};?\s*$/s,
  (_, names) => `return {${names.replace(/(\w+) as (\w+)/g, "$2:$1")}}`,
);

const sha256 = (/** @type {Uint8Array | string} */ bytes) => createHash("sha256").update(bytes).digest();

/** The key of the collector, which seals nothing here: see `Browser`. */
const KEY = new Uint8Array(65).fill(4);

/**
 * Encryption that hides nothing, so that what the collector can open is what is compared. The real one is in the tests of
 * hpke.js, and of the script in a page.
 */
const transparent = {
  digest: async (/** @type {string} */ _, /** @type {Uint8Array} */ bytes) => new Uint8Array(sha256(bytes)).buffer,
  importKey: async () => ({}),
  generateKey: async () => ({ publicKey: {}, privateKey: {} }),
  exportKey: async () => KEY.buffer,
  deriveBits: async (/** @type {any} */ _, /** @type {any} */ __, /** @type {number} */ size) => new ArrayBuffer(size / 8),
  sign: async () => new ArrayBuffer(32),
  encrypt: async (/** @type {any} */ _, /** @type {any} */ __, /** @type {Uint8Array} */ text) => new Uint8Array([...text, ...Array(16)]).buffer,
};

/** A browser in memory, which runs one of the built files against a collector that serves one document. */
export class Browser {
  storage = /** @type {Record<string, string>} */ ({});
  session = /** @type {Record<string, any>} */ ({});
  now = Date.UTC(2030, 0, 1);
  document = "";
  id = "";
  random = new BigUint64Array(4);
  drew = false;
  /** @type {string[]} */
  posted = [];

  /** @param {string} source */
  constructor(source) {
    const collector = "https://collector.example/";
    const dataset = { manual: "", survey: "later", relay: "https://relay.example" };
    const seen = {
      document: { currentScript: { dataset, src: `${collector}hubbub.js` }, referrer: "" },
      location: { host: "site.example" },
      navigator: { locks: { request: async (/** @type {string} */ _, /** @type {() => any} */ work) => work() } },
      localStorage: this.storage,
      sessionStorage: this.session,
      crypto: {
        subtle: transparent,
        getRandomValues: (/** @type {Uint8Array} */ bytes) => {
          this.drew = true;
          bytes.set(new Uint8Array(this.random.buffer));
          return bytes;
        },
      },
      Date: Object.assign(class extends Date {}, { now: () => this.now }),
      fetch: async (/** @type {string} */ url, /** @type {any} */ { body }) => {
        if (!body) return { text: async () => this.document, arrayBuffer: async () => KEY.buffer };
        this.posted.push(`${url} ${Buffer.from(body).toString("hex")}`);
        return { ok: true, status: url.startsWith(collector) ? 200 : 202, json: async () => ({ statuses: ["accepted"] }) };
      },
      setTimeout: (/** @type {() => void} */ work) => work(),
      addEventListener: () => {},
      window: /** @type {any} */ ({}),
    };
    const exported = new Function(...Object.keys(seen), source)(...Object.values(seen));
    /** @type {(value: unknown) => Promise<unknown>} */
    this.report = exported
      ? (value) => exported.answer(`${collector}v1/surveys/${this.id}`, value)
      : (value) => ((dataset.survey = this.id), seen.window.hubbub.report(value));
  }

  /** @returns {Record<string, any>} */
  get ledger() {
    return JSON.parse(this.storage.hubbub ?? "{}");
  }

  /** Make the collector serve a document. @param {string} document */
  serve(document) {
    this.document = document;
    this.id = createHash("sha256").update(document).digest("hex");
  }

  /**
   * What can be seen of a first view: whether random words were drawn, what was sent, and what was stored.
   *
   * @param {unknown} value
   * @param {bigint} chance the third random word
   * @param {bigint} choice the fourth
   */
  async view(value, chance, choice) {
    delete this.storage.hubbub;
    this.random.set([7n, 8n, chance, choice]);
    Object.assign(this, { drew: false, posted: [] });
    await this.report(value);
    const { epsilon } = this.ledger[this.id] ?? {};
    return { drew: this.drew, epsilon, seen: `${this.drew} ${this.posted} ${epsilon}` };
  }
}

/**
 * Words at which a number below `bound` begins and ends, drawn from a random word; with each, how many words there are.
 *
 * @param {number} bound
 */
function classes(bound) {
  const size = BigInt(bound);
  return [...Array(bound).keys()].map((number) => {
    const start = (BigInt(number) * TOP + size - 1n) / size;
    const next = (BigInt(number + 1) * TOP + size - 1n) / size;
    return { words: [start, next - 1n], weight: next - start };
  });
}

/**
 * What a document makes a browser reveal, measured exactly: all classes of random words are tried.
 *
 * @param {Browser} browser
 * @param {string} document
 * @param {unknown[]} values
 * @returns {Promise<{ loss: number, fault?: string }>} the privacy loss of an answer, 0 if there is none
 */
export async function measure(browser, document, values) {
  browser.serve(document);
  const refused = await browser.view(values[0], 0n, 0n);
  if (!refused.drew && refused.epsilon === undefined && !browser.posted.length) {
    for (const value of values) {
      for (const word of [0n, TOP - 1n]) {
        if ((await browser.view(value, word, word)).seen !== refused.seen) return { loss: 0, fault: "it refuses some values" };
      }
    }
    return { loss: 0 };
  }
  let keep, window, size;
  try {
    const { parameters, domain } = JSON.parse(document);
    keep = BigInt(parameters.keep_threshold ?? parameters.truth_threshold);
    const list = domain.names?.length + domain.other;
    size = parameters.masks ? 2 ** parameters.masks : parameters.window ? (list || 2 ** domain.bits) : 1;
    window = parameters.window ?? 1;
    for (const bound of [size, window]) if (!Number.isInteger(bound) || bound < 1 || bound > 9000) throw 0;
    if (keep < 1n || keep >= TOP) throw 0;
  } catch {
    return { loss: Infinity, fault: "it is answered, although its numbers are none" };
  }
  const laws = [];
  for (const value of values) {
    const thorough = value === values[0]; // the other values get the first word of each class only
    /** @type {Map<string, bigint>} */
    const law = new Map();
    for (const [low, high, bound] of /** @type {[bigint, bigint, number][]} */ ([[0n, keep, window], [keep, TOP, size]])) {
      for (const { words, weight } of classes(bound)) {
        const first = await browser.view(value, low, words[0]);
        const last = thorough ? await browser.view(value, high - 1n, words[1]) : first;
        if (first.seen !== last.seen) return { loss: Infinity, fault: "the threshold or a class is not where it should be" };
        for (const { drew, epsilon } of [first, last]) {
          if (drew && !(epsilon > 0)) return { loss: Infinity, fault: "random words were drawn, and no epsilon was spent" };
        }
        law.set(first.seen, (law.get(first.seen) ?? 0n) + weight * (high - low));
      }
    }
    laws.push(law);
  }
  let loss = 0;
  for (const law of laws) {
    for (const other of laws) {
      for (const [seen, chance] of law) loss = Math.max(loss, Math.log(Number(chance) / Number(other.get(seen) ?? 0n)));
    }
  }
  const stated = Number(refused.epsilon);
  return loss <= stated * SLACK ? { loss } : { loss, fault: `it reveals ${loss}, and states ${stated}` };
}

/**
 * A browser that visits a page on some days, with two views each, while a collector serves one document: how often random
 * words were drawn and reports sent, the epsilon that was booked, and the most of it in 31 and in 366 days.
 *
 * @param {string} source a built file
 * @param {string} document
 * @param {Iterable<number>} days
 */
export async function stay(source, document, days) {
  const browser = new Browser(source);
  browser.serve(document);
  const start = browser.now;
  let draws = 0;
  for (const day of days) {
    browser.now = start + day * 864e5;
    for (const name in browser.session) delete browser.session[name];
    for (let view = 0; view < 2; view++) {
      browser.drew = false;
      await browser.report("a");
      if (browser.drew) draws++;
    }
  }
  const told = Object.values(browser.ledger).map(({ answered, epsilon }) => [answered, +epsilon]);
  /** @param {number} within */
  const most = (within) =>
    Math.max(0, ...told.map(([end]) => told.reduce((sum, [day, loss]) => (day <= end && day >= end - within ? sum + loss : sum), 0)));
  const booked = told.reduce((sum, [, loss]) => sum + loss, 0);
  return { draws, sent: browser.posted.length, booked, month: most(30), year: most(365) };
}

/** Numbers from 0 up to 1 that a seed determines (xorshift). @param {number} seed */
export function generator(seed) {
  let state = Math.imul(seed + 1, 0x9e3779b1) || 1;
  return () => {
    state ^= state << 13;
    state ^= state >>> 17;
    state ^= state << 5;
    return (state >>> 0) / 2 ** 32;
  };
}

/** A survey of the test vectors, parsed. @param {string} file @param {string} name */
const vector = (file, name) => JSON.parse(load(file).surveys.find((/** @type {any} */ each) => each.name === name).survey);

const TABLE = { bytes: "ab", class: "000000", ends: ["b"], lengths: ["223333"], tokens: ["er"] };
const TEXT = vector("tree", "64 classes of coded text 64");
const small = { ...TEXT, domain: { ...TEXT.domain, code: TABLE }, epsilon: "2" };

/** Surveys that the script answers. */
export const OF_SCRIPT = [
  vector("subset", "categories"),
  vector("subset", "closed, 0.1"),
  vector("subset", "closed, 2"),
  { ...small, parameters: { ...small.parameters, masks: 2, keep_threshold: "5543047035272007536" }, epsilon: "1" },
  small,
  JSON.parse(changed(JSON.stringify(small), { every: 28, opens: "2029-12-31T00:00:00Z" })),
];

const SIX = { ...small, epsilon: "6", parameters: { ...small.parameters, masks: 5, keep_threshold: "17087957963763140000" } };

/** Surveys that only the script with sealing answers. */
export const OF_RELAY = [SIX, ...OF_SCRIPT].map((survey) => ({ ...survey, crowd: 100, key: sha256(KEY).toString("hex"), through: "relay" }));

/** Surveys that only the module answers. */
export const OF_MODULE = [
  ...OF_SCRIPT,
  ...["integers 2", "integers 20", "integers 21", "addresses", "categories", "bytes 8"].map((name) => vector("tree", name)),
  ...["integers 1", "integers 5"].map((name) => vector("subset", name)),
  vector("jl", "hadamard 8"),
  vector("bucket", "integers 8"),
];

const VALUES = ["a", "b", "aber", "red", "0", "7", "1.2.3.4", "not on any list", "", null];

// prettier-ignore
export const ODD = [
  "7", -10, ".7e1", 0, -0, -1, 1, 2, 1.5, 0.5, 1e308, -1e308, 5e-324, 2 ** 53, 2 ** 64, 2 ** 32 + 1, 4097, "", " ", " 1 ", "0x10", "0b1",
  "1e0", "1e3", "1e-400", "-1000000", "-1", "+1", "01", "1.", ".5", "1.0", "NaN", "Infinity", "-Infinity", "1_0", "٣", "\n1", "4", "1", "0",
  "18446744073709551615", "18446744073709551616", "-9223372036854775808", "1".repeat(400), `0.${"0".repeat(400)}1`, null, true, false, [],
  {}, [[]], ["1"], [1], [-1], [1.5], [null], ["a", "b"], ["a", "a"], { length: 5 }, { length: -1 }, { 0: "a", length: 1 }, "__proto__",
  "constructor", "toString", "hasOwnProperty", "categories", "coded_text", "integers", "subset", "tree", "jl", "text-1", "hostnames-1", "hostnames-2", "z",
  "2030-01-01T00:00:00Z", "1970-01-01T00:00:00Z",
];

/** Other numbers near one, written as it is: a number, or a text of digits. @param {any} old @returns {any[]} */
function neighbours(old) {
  if (typeof old !== "string") return [old + 1, old - 1, -old, old * 2, old / 2, old * 1e9, old + 2 ** 32, `${old}`, [old]];
  if (!/^\d+$/.test(old)) return [`${+old + 1}`, `${+old * 2}`, `${-old}`, `${+old / 3}`, "4", "0.001", +old, [old]];
  const number = BigInt(old);
  return [number + 1n, number - 1n, -number, number * 2n, number / 2n, number / 100n, number + TOP].map(String);
}

/** Other steps of a class like some; two of them have the same sum. @param {any} old @returns {any[]} */
const respelled = (old) => [
  `${old.slice(1)}${old[0]}`,
  `${old[0]}${[...old.slice(1)].reverse().join("")}`,
  ...[`${old}0`, `${old}1`, `0${old}`, `${old}l`, ` ${old}`, `-${old}`, "", old.slice(1), old.slice(0, -1), old.toUpperCase()],
  ...[`k${old.slice(1)}`, `${old[0]}.5`, old.repeat(99), "1".repeat(201), parseInt(old, 36), [...old], [old]],
];

const MANY = Array(5000).fill("x"); // more than a list may have

/** Other lists like one. @param {any[]} old @returns {any[]} */
const relatives = (old) => [
  [...old, ...old],
  old.slice(1),
  [...old, old[0]],
  [...old].reverse(),
  [...old, null],
  MANY,
  { ...old },
  old.join(),
];

/** A survey's JSON with a few things changed. @param {any} data @param {() => number} random */
function mutate(data, random) {
  /** @template T @param {T[]} list @returns {T} */
  const pick = (list) => list[Math.floor(random() * list.length)];
  const parts = ["domain", "mechanism", "parameters", ...(data.through && random() < 0.2 ? ["crowd", "key", "through"] : [])];
  const gentle = random() < 0.5; // changes that leave a survey well-formed more often than not
  data = structuredClone(data);
  let twice = "";
  do {
    let parent = data;
    let key = gentle ? pick([...parts, "parameters", "epsilon", ...("every" in data ? ["every", "opens"] : [])]) : pick(Object.keys(data));
    while (parent[key] && typeof parent[key] === "object" && Object.keys(parent[key]).length && random() < 0.85) {
      parent = parent[key];
      key = pick(Object.keys(parent));
    }
    const old = parent[key];
    const isNumber = (typeof old === "string" && old !== "" && !isNaN(+old)) || typeof old === "number";
    const isClass = typeof old === "string" && parent === data.parameters?.steps && /^[\da-k]+$/.test(old);
    const like = isClass ? respelled(old) : isNumber ? neighbours(old) : Array.isArray(old) ? relatives(old) : ODD;
    if (gentle) parent[key] = structuredClone(pick(like));
    else {
      const changes = [
        () => (parent[key] = structuredClone(pick(ODD))),
        () => (parent[key] = structuredClone(pick(ODD))),
        () => (parent[key] = structuredClone(pick(like))),
        () => (parent[key] = [old]),
        () => (parent[key] = typeof old === "string" ? +old : `${old}`),
        () => (parent[key] = pick([` ${old}`, `${old} `, `-${old}`, `${old}e0`, `${old}.0`, `0${old}`, `${old}${old}`])),
        () => delete parent[key],
        () => (twice += `${JSON.stringify(pick(["__proto__", ...Object.keys(data)]))}:${JSON.stringify(pick(ODD))},`),
        () => (data[pick(parts)] = structuredClone(pick(OF_MODULE)[pick(parts)])),
      ];
      pick(changes)();
    }
  } while (random() < 0.5);
  return `{${twice}${JSON.stringify(data).slice(1)}`;
}

/**
 * Documents that differ from good surveys in a few things, and for a start those surveys themselves.
 *
 * @param {any[]} surveys
 * @param {number} documents
 * @param {number} seed
 */
export function* hostile(surveys, documents, seed) {
  const random = generator(seed);
  for (let number = 0; number < documents; number++) {
    const survey = surveys[number % surveys.length];
    yield number < surveys.length ? JSON.stringify(survey) : mutate(survey, random);
  }
}

/**
 * Serve hostile documents to a browser; what came of it.
 *
 * @param {string} source a built file
 * @param {Iterable<string>} documents
 */
export async function attack(source, documents) {
  const each = new Browser(source);
  const lasting = new Browser(source); // one that sees all documents within a day
  const faults = [];
  let served = 0;
  let answered = 0;
  let total = 0; // what the second browser really reveals
  for (const document of documents) {
    const { loss, fault } = await measure(each, document, VALUES.slice(served % 9, (served % 9) + 2));
    served++;
    if (fault) faults.push(`${fault}: ${document.slice(0, 2000)}`);
    if (loss) answered++;
    lasting.serve(document);
    if (loss && !lasting.ledger[lasting.id]) {
      await lasting.report("a");
      if (lasting.ledger[lasting.id]) total += loss;
    }
  }
  return { served, answered, faults, total };
}

if (argv[1] === fileURLToPath(import.meta.url)) {
  const documents = Number(argv[2] ?? 50_000);
  const seed = Number(argv[3] ?? Date.now() % 1e9);
  console.log(`hostile surveys: ${documents} for each file, seed ${seed}`);
  const files = /** @type {[string, string, any[]][]} */ ([["hubbub.js", SCRIPT, OF_SCRIPT], ["hubbub-relay.js", RELAY, OF_RELAY], ["hubbub.mjs", MODULE, OF_MODULE]]); // prettier-ignore
  for (const [name, source, surveys] of files) {
    const { served, answered, faults, total } = await attack(source, hostile(surveys, documents, seed));
    console.log(`${name}: ${served} served, ${answered} answered, ${faults.length} faults; one browser told ${total.toFixed(3)}`);
    for (const fault of faults.slice(0, 10)) console.log(`  ${fault}`);
    if (faults.length || total > 8.001) process.exitCode = 1;
  }
}
