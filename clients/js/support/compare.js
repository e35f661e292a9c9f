// Compare with another implementation, whose results are lines of JSON on standard input: node compare.js < lines
//   {"rule": NAME, "texts": […], "expected": […]}          texts that a rule gives, null for those it refuses
//   {"domain": {…}, "values": […], "expected": […]}        items in hexadecimal
//   {"survey": "…", "values": […], "random": […], "expected": […]}   reports; random bytes and reports in hexadecimal
import { createInterface } from "node:readline";
import { kinds } from "../src/domains.js";
import { readSurvey } from "../src/index.js";
import { RULES, normal } from "../src/rules.js";
import { cut, textOf } from "../src/text.js";
import { itemOf, toHex } from "./vectors.js";

/** @param {string} name @param {string} text */
function applied(name, text) {
  try {
    if (name === "nfc-1") return textOf(text);
    if (name === "cut-20") return cut(textOf(text), 20);
    const found = normal(RULES.indexOf(name), textOf(text));
    return new TextEncoder().encode(found).length > 64 ? null : found; // coded text refuses what is longer
  } catch {
    return null;
  }
}

/** The results of this implementation. @param {any} line @returns {(string | null)[]} */
function answers({ rule, texts, domain, survey, values, random }) {
  if (rule) return texts.map((/** @type {string} */ text) => applied(rule, text));
  if (domain) {
    const read = kinds[domain.kind](domain);
    return values.map((/** @type {unknown} */ value) => itemOf(read, value));
  }
  const encode = readSurvey(survey);
  return values.map((/** @type {unknown} */ value, /** @type {number} */ at) => {
    const bytes = new Uint8Array(32);
    bytes.set(Buffer.from(random[at], "hex"));
    return toHex(encode(value, bytes));
  });
}

let compared = 0;
let different = 0;
for await (const text of createInterface({ input: process.stdin })) {
  const line = JSON.parse(text);
  answers(line).forEach((answer, at) => {
    compared++;
    if (answer === line.expected[at]) return;
    if (++different <= 10) {
      const given = JSON.stringify((line.texts ?? line.values)[at]);
      const got = `${JSON.stringify(answer)}, not ${JSON.stringify(line.expected[at])}`;
      console.log(`${line.rule ?? line.domain?.kind ?? line.survey.slice(0, 200)}: ${given} gave ${got}`);
    }
  });
}
console.log(`${compared} compared, ${different} different`);
process.exitCode = different || !compared ? 1 : 0;
