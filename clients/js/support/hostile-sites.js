// Hostile lists of questions: what a collector could serve for a site, to make a browser ask what it should not, or twice.
// `node support/hostile-sites.js [documents] [seed]` serves many of them to the built script, and prints what it found.
import { createHash } from "node:crypto";
import { readFileSync } from "node:fs";
import { argv } from "node:process";
import { fileURLToPath } from "node:url";
import { ODD, OF_SCRIPT, SCRIPT, generator } from "./hostile.js";

const KEY = "0123456789abcdef".repeat(2);
const COLLECTOR = "https://collector.example/";
const MORE = readFileSync(new URL("../dist/hubbub-more.js", import.meta.url), "utf8");
const START = Date.UTC(2030, 0, 1);
const REPEATING = OF_SCRIPT[OF_SCRIPT.length - 1]; // every 28 days from 2029-12-31 on

/** The surveys that there are, by their id: five repeat, one does not, and one has closed. @type {Map<string, string>} */
const SURVEYS = new Map();
for (const [number, survey] of [...Array(5).fill(REPEATING), OF_SCRIPT[0]].entries()) {
  const document = JSON.stringify({ ...survey, name: `question ${number}` });
  SURVEYS.set(createHash("sha256").update(document).digest("hex"), document);
}
const IDS = [...SURVEYS.keys(), "0".repeat(64)];
const KINDS = ["referrer", "campaign", "path", "search", "device", "language", "zone", "goal", "own"];
const NAMED = ["search", "goal", "own"];

/** Compile a script once: a function of what it sees. @param {string} source @param {string[]} names */
const compile = (source, names) => new Function(...names, source);

/** A browser in memory, which views pages with `data-site`. */
export class Visitor {
  storage = /** @type {any} */ ({});
  now = START;
  /** @type {string[]} */
  requests = [];
  /** The arrays that were filled with random words, by their lengths in bytes. @type {number[]} */
  drawn = [];
  /** @type {any} */
  #scripts;

  /** @param {string} [source] @param {string} [more] */
  constructor(source = SCRIPT, more = MORE) {
    this.sources = [source, more];
  }

  /** The first view of a visit. @param {string} manifest what the collector serves for the site */
  async visit(manifest) {
    const last = { work: Promise.resolve() };
    const seen = {
      document: { referrer: "https://news.example/", currentScript: { dataset: { site: KEY }, src: `${COLLECTOR}hubbub.js` } },
      location: { hostname: "site.example", pathname: "/", search: "?q=1" },
      navigator: { language: "de", locks: { request: (/** @type {any} */ _, /** @type {any} */ work) => (last.work = work()) } },
      localStorage: this.storage,
      sessionStorage: {},
      screen: { width: 1, height: 1 },
      matchMedia: () => ({ matches: true }),
      crypto: {
        subtle: { digest: async (/** @type {any} */ _, /** @type {Uint8Array} */ bytes) => new Uint8Array(createHash("sha256").update(bytes).digest()).buffer },
        getRandomValues: (/** @type {any} */ words) => (this.drawn.push(words.byteLength), crypto.getRandomValues(words)),
      },
      Date: Object.assign(class extends Date {}, { now: () => this.now }),
      fetch: async (/** @type {string} */ url, /** @type {any} */ { body }) => {
        this.requests.push(url);
        if (body) return { ok: true, status: 200, json: async () => ({ statuses: ["accepted"] }) };
        return { text: async () => (url === `${COLLECTOR}v1/sites/${KEY}` ? manifest : (SURVEYS.get(url.slice(-69, -5)) ?? "")) };
      },
      setTimeout: (/** @type {() => void} */ work) => work(),
      addEventListener: () => {},
      window: {},
    };
    const page = /** @type {any} */ (seen.document);
    this.#scripts ??= this.sources.map((source) => compile(source, Object.keys(seen)));
    page.createElement = () => ({});
    page.head = {
      append: (/** @type {any} */ part) => this.#scripts[1](...Object.values({ ...seen, document: { ...page, currentScript: part } })),
    };
    this.#scripts[0](...Object.values(seen));
    await last.work.catch(() => {});
  }

  /** @returns {any[]} */
  get entries() {
    return Object.values(JSON.parse(this.storage.hubbub ?? "{}"));
  }
}

/** A good list. @param {() => number} random */
function good(random) {
  const pick = (/** @type {any[]} */ list) => list[Math.floor(random() * list.length)];
  const questions = [...Array(1 + Math.floor(random() * random() * 20)).keys()].map((number) => {
    const asks = pick(KINDS);
    return { asks, ...(NAMED.includes(asks) && { of: `name ${number}` }), survey: pick(IDS) };
  });
  return /** @type {any} */ ({ own: ["site.example", "example.org"].slice(random() * 3), questions, site: KEY, version: 1 });
}

/** A list with a few things changed, as text. @param {() => number} random */
function mutated(random) {
  const pick = (/** @type {any[]} */ list) => list[Math.floor(random() * list.length)];
  const data = good(random);
  let twice = "";
  do {
    const question = pick(data.questions ?? []) ?? {};
    const parent = pick([data, question, question, data.own ?? {}]);
    const names = { 0: "own", 1: "asks", 2: "of", 3: "survey", 4: "version", 5: "site", 6: "questions", 7: "more" };
    const key = Array.isArray(parent) ? Math.floor(random() * 3) : random() < 0.7 ? pick(Object.keys(parent)) : pick(Object.values(names));
    const old = parent?.[key];
    const changes = [
      () => (parent[key] = structuredClone(pick(ODD))),
      () => (parent[key] = [old]),
      () => (parent[key] = typeof old === "string" ? pick([`${old} `, ` ${old}`, old.toUpperCase(), old.slice(1), `${old}${old}`, `../${old}`]) : `${old}`),
      () => delete parent[key],
      () => (parent.asks = pick([...KINDS, "eval", "cookie", "title"])),
      () => (data.questions = pick([[...[data.questions].flat(), ...Array(20).fill(question)], { ...data.questions }, [], JSON.stringify(data.questions)])),
      () => (twice += `${JSON.stringify(pick([...Object.values(names), "__proto__"]))}:${JSON.stringify(pick(ODD))},`),
      () => (parent.__proto__x = 1),
    ];
    if (parent && typeof parent === "object") pick(changes)();
  } while (random() < 0.4);
  const text = `{${twice}${JSON.stringify(data).slice(1)}`;
  if (random() < 0.02) return pick(["", " ", "null", "[]", "{}", text.slice(1), `${text}x`, `${text}${" ".repeat(16384)}`, `\ufeff${text}`]);
  return text;
}

/**
 * Whether a browser may answer one of these questions: the rules of the documentation, written once more.
 *
 * @param {string} text
 */
export function isList(text) {
  /** @type {any} */
  let data;
  try {
    data = JSON.parse(text);
  } catch {
    return false;
  }
  const isText = (/** @type {unknown} */ value, /** @type {number} */ most) => typeof value === "string" && value.length >= 1 && value.length <= most;
  if (text.length > 16384 || data === null || typeof data !== "object" || Array.isArray(data)) return false;
  if (data.version !== 1 || data.site !== KEY || !Array.isArray(data.own) || !Array.isArray(data.questions)) return false;
  if (!data.own.every((/** @type {any} */ host) => isText(host, 253) && !/[\s/]/.test(host))) return false;
  if (data.questions.length < 1 || data.questions.length > 20) return false;
  return data.questions.every((/** @type {any} */ question) => {
    if (question === null || typeof question !== "object" || !KINDS.includes(question.asks)) return false;
    if (typeof question.survey !== "string" || !/^[0-9a-f]{64}$/.test(question.survey)) return false;
    return NAMED.includes(question.asks) ? isText(question.of, 64) : question.of === undefined;
  });
}

/**
 * Serve hostile lists; what came of it. Each document is served to a new browser, and to one that stays for a month.
 *
 * @param {number} documents
 * @param {number} seed
 * @param {string} [more] instead of the built second part
 */
export async function attack(documents, seed, more = MORE) {
  const random = generator(seed);
  const lasting = new Visitor(SCRIPT, more);
  const fresh = new Visitor(SCRIPT, more);
  const faults = /** @type {string[]} */ ([]);
  let listed = 0;
  let answered = 0;
  for (let number = 0; number < documents; number++) {
    const text = number % 4 ? mutated(random) : JSON.stringify(good(random));
    Object.assign(fresh, { requests: [], drawn: [] });
    delete fresh.storage.hubbub;
    await fresh.visit(text);
    const { drawn, entries, requests } = fresh;
    const fault = (/** @type {string} */ what) => faults.push(`${what}: ${text.slice(0, 2000)}`);
    const isGood = isList(text);
    if (isGood) listed++;
    if (drawn.length !== (isGood ? 1 + Number(requests.length === 3) : 0)) fault(`${drawn} was drawn`);
    if (!isGood && (requests.length !== 1 || entries.length)) fault("it is refused, and something came of it");
    if (!requests.every((url) => /^https:\/\/collector\.example\/v1\/(sites\/[\da-f]{32}|surveys\/[\da-f]{64}\/(open|reports))$/.test(url))) fault(`it asks ${requests}`);
    if (entries.length > 1 || requests.length > 3) fault("more than one answer");
    if (entries.length) {
      const [{ epsilon, url, waits, status }] = entries;
      const survey = JSON.parse(SURVEYS.get(url.slice(-64)) ?? "{}");
      if (epsilon !== survey.epsilon) fault(`${epsilon} was booked`);
      if (!waits && status !== 200) fault("the answer was not sent");
      if (!waits) answered++;
    }
    const told = lasting.requests.filter((url) => url.endsWith("reports")).length;
    lasting.now = START + (number / documents) * 26 * 864e5;
    await lasting.visit(text);
    if (lasting.entries.length > 1 || lasting.requests.filter((url) => url.endsWith("reports")).length > 1) fault(`one browser told ${told} times`);
  }
  return { documents, listed, answered, faults, lasting: lasting.entries.length };
}

if (argv[1] === fileURLToPath(import.meta.url)) {
  const documents = Number(argv[2] ?? 20_000);
  const seed = Number(argv[3] ?? Date.now() % 1e9);
  const { listed, answered, faults } = await attack(documents, seed);
  console.log(`hostile lists of questions: ${documents}, seed ${seed}: ${listed} good ones, ${answered} answered, ${faults.length} faults`);
  for (const fault of faults.slice(0, 10)) console.log(`  ${fault}`);
  if (faults.length) process.exitCode = 1;
}
