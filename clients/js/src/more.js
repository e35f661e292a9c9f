// The second part of the self-starting script, for data-site and data-debug. The first one loads it.
import { check, checkText } from "./check.js";
import { dayOf, writeLedger } from "./ledger.js";
import { questions } from "./questions.js";

/**
 * @type {[
 *   HTMLScriptElement,
 *   (hear: (given: any) => any) => void,
 *   typeof import("./delivery.js").answer,
 *   (document: string) => import("./survey.js").Ready,
 *   typeof import("./delivery.js").request,
 * ]}
 */
const [script, listen, answer, read, request] = /** @type {any} */ (document.currentScript).hubbub;
const { dataset, src, nonce } = script;
const site = /** @type {any} */ (dataset.site);
/** @type {any} */
const key = site == null ? dataset.survey : new URL("v1/sites/" + site, src).href;

/** What is being done, for data-debug: 1 loads the questions, 2 checks that there are any, 3 checks them, 4 answers. */
let step = 0;

/** What the page told about its own questions and goals on this view. @type {any} */
const told = Object.create(null);

/**
 * The questions of a site, and the hosts that belong to it. Throws if a field is not as it should be.
 *
 * @param {string} text
 */
const readManifest = (text) => {
  step = 2;
  check(text);
  step = 3;
  checkText(site, /^[\da-f]{32}$/); // it has one spelling
  const { own, questions: list, site: named, version } = JSON.parse(text);
  check(version === 1 && named === site && text.length <= 16384 && list[0] && list.length <= 20);
  own.map((/** @type {string} */ host) => checkText(host, /^[^\s/]{1,253}$/));
  list.map((/** @type {any} */ { asks, of, survey }) => {
    check(Object.keys(questions).includes(asks) && (/^(search|goal|own)$/.test(asks) ? checkText(of, /^[^]{1,64}$/) : of === undefined));
    checkText(survey, /^[\da-f]{64}$/);
  });
  return { own, list };
};

/** Why this browser answers now, and what; nothing if it does not. @param {import("./ledger.js").Ledger} ledger */
const plan = async (ledger) => {
  const entry = ledger[key];
  const { goals: reached, waits, next, url } = entry ?? {};
  // Only the first view of a visit knows where the visitor came from.
  const isFirst = /** @type {any} */ (sessionStorage[key]) ^ (sessionStorage[key] = 1);
  for (const name in reached) reached[name] ||= told[name] === "yes";
  writeLedger(ledger); // at once, for the page may go away
  if (isFirst && (!entry || next <= dayOf())) {
    step = 1;
    const { manifest, own: more = "" } = dataset;
    const integrity = manifest && checkText(manifest, /^sha256-[\w+/]{43}=$/); // browsers ignore what is none
    const { own, list } = readManifest(await (await request(key, { integrity })).text());
    // One question, drawn by the browser. This is written down before any value is read.
    const { asks, of, survey } = list[((/** @type {any} */ (crypto.getRandomValues(new Uint32Array(1))) * list.length) / 2 ** 32) | 0];
    if (entry) delete entry.goals;
    if (entry && !waits) ledger[key + next] = entry; // what nobody asked for has told nothing
    step = 4;
    const goals = Object.fromEntries(list.flatMap((/** @type {any} */ each) => (each.asks === "goal" ? [[each.of, false]] : [])));
    const waiting = asks === "own" && !(of in told) ? of : undefined;
    const hosts = [location.hostname, ...own, ...more.toLowerCase().split(/[\s,]+/)];
    const valueOf = () => {
      try {
        return questions[asks]({ of, own: hosts, reached, told });
      } catch {
        // A browser that lacks something. It counts as "(other)".
      }
    };
    return [new URL("../surveys/" + survey, key).href, waiting ? undefined : valueOf, { goals, waits: waiting }];
  }
  if (waits && waits in told) return [url, () => told[waits], { next, goals: reached }];
};

/** @type {any} */
let consent;
const consented = new Promise((resolve) => (consent = resolve));

const explain = () =>
  "debug" in dataset &&
  document.head.append(
    Object.assign(document.createElement("script"), { src: new URL("hubbub-debug.js", src), nonce, hubbub: [dataset, key, step] }),
  );

const run = async () => {
  try {
    if ("consent" in dataset) {
      explain();
      await consented;
    }
    step ||= 5;
    await (site == null ? navigator.locks.request("hubbub", () => {}) : answer(key, plan, dataset.maxEpsilon, read));
  } catch {
    // An error must never disturb the page.
  }
  explain();
};

run();
listen((/** @type {any} */ given) => {
  if (!given) return consent();
  if (site == null || given.length < 2) return;
  try {
    told[given[0]] = given[1];
  } catch {
    // A name that cannot be a text.
  }
  return run();
});
