// A worker: draws reports of the browser client for two values, and measures how much the most telling response tells.
import { readSurvey } from "/hubbub.mjs";

const IDS = 20;
const LEARNED = 250; // reports of each value and id, to find an id and a response that tell much
const MEASURED = 45_000; // reports of each value
const WIDTH = 3.891; // standard errors: wrong in one check of 10,000
const BUFFER = new Uint8Array(65_536 - 65_536 % 16);
let used = BUFFER.length;

/** 16 random bytes of the browser. */
function drawn() {
  if (used === BUFFER.length) {
    crypto.getRandomValues(BUFFER);
    used = 0;
  }
  return BUFFER.subarray(used, (used += 16));
}

/** @param {string} text */
const sha256 = async (text) =>
  [...new Uint8Array(await crypto.subtle.digest("SHA-256", new TextEncoder().encode(text)))]
    .map((byte) => byte.toString(16).padStart(2, "0"))
    .join("");

/**
 * How often each response came, of so many reports of a value with one id.
 * @param {ReturnType<typeof readSurvey>} makeReport @param {string} value @param {Uint8Array} id
 * @param {number} many
 */
function responses(makeReport, value, id, many) {
  const counts = /** @type {Map<string, number>} */ (new Map());
  const random = new Uint8Array(32);
  random.set(id);
  for (let made = 0; made < many; made++) {
    random.set(drawn(), 16);
    const report = String(makeReport(value, random));
    counts.set(report, (counts.get(report) ?? 0) + 1);
  }
  return counts;
}

/** @param {{survey: string, values: string[]}} asked */
async function check({ survey, values }) {
  const makeReport = readSurvey(survey);
  const hash = await sha256(await (await fetch("/hubbub.mjs")).text());
  let best = { odds: 0, id: new Uint8Array(16), report: "", from: 0 };
  for (let number = 0; number < IDS; number++) {
    const id = drawn().slice();
    const seen = values.map((value) => responses(makeReport, value, id, LEARNED));
    for (const from of [0, 1]) {
      for (const [report, count] of seen[from]) {
        // Of responses that tell the same, the one that comes more often is measured better.
        const odds = (count - Math.sqrt(count)) / ((seen[1 - from].get(report) ?? 0) + 1);
        if (odds > best.odds) best = { odds, id, report, from };
      }
    }
    postMessage({ done: (number + 1) / (IDS * 2) });
  }
  const hits = [best.from, 1 - best.from].map((place, turn) => {
    const count = responses(makeReport, values[place], best.id, MEASURED).get(best.report) ?? 0;
    postMessage({ done: (turn + 2) / 3 });
    return count;
  });
  const [often, seldom] = hits.map((count) => Math.max(count, 0.5) / MEASURED);
  const spread = WIDTH * Math.sqrt((1 - often) / often / MEASURED + (1 - seldom) / seldom / MEASURED);
  const ratio = often / seldom;
  postMessage({
    hash,
    measured: MEASURED,
    value: values[best.from],
    other: values[1 - best.from],
    response: best.report.split(",").slice(16).map(Number),
    often,
    seldom,
    ratio,
    low: ratio * Math.exp(-spread),
    high: ratio * Math.exp(spread),
  });
}

addEventListener("message", ({ data }) => {
  check(data).catch((error) => postMessage({ error: error.message }));
});
