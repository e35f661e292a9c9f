// How long the built module takes to make a report of host names: node support/timing.js
// Medians of 500 reports of each, in turns, after 100 that are not counted.
import { performance } from "node:perf_hooks";
import { readSurvey } from "../dist/hubbub.mjs";
import { load } from "./vectors.js";

const HOSTS = load("tree").surveys.find((/** @type {any} */ { name }) => name === "hostnames").survey;
const VALUES = {
  "8 characters": "abcd.org",
  "62 characters": `${"shop-of-things".repeat(4)}.co.uk`.padStart(62, "x"),
  "refused, 70 characters": `${"x".repeat(66)}.org`,
};

const encode = readSurvey(HOSTS);
const random = crypto.getRandomValues(new Uint8Array(32));
/** @type {Record<string, number[]>} */
const times = Object.fromEntries(Object.keys(VALUES).map((name) => [name, []]));
for (let round = -100; round < 500; round++) {
  for (const [name, value] of Object.entries(VALUES)) {
    const start = performance.now();
    encode(value, random);
    if (round >= 0) times[name].push(performance.now() - start);
  }
}
for (const [name, found] of Object.entries(times)) {
  const median = found.sort((a, b) => a - b)[found.length / 2];
  console.log(`${name}: ${median.toFixed(2)} ms`);
}
