// Seal reports with the built script: node sealed.js, with a JSON object on standard input: a survey, the public key that it
// names, and for each report a value and its random bytes in hexadecimal. Prints the sealed requests, one a line.
import { webcrypto } from "node:crypto";
import { readFileSync } from "node:fs";
import { Collector, RELAY, Site } from "./page.js";

const { survey, key, reports } = JSON.parse(readFileSync(0, "utf8"));
const collector = await new Collector().start();
collector.keys.set(JSON.parse(survey).key, Buffer.from(key, "hex"));
const [id, src] = [collector.add(survey), /** @type {string} */ (collector.src)];
for (const [value, random] of reports) {
  const getRandomValues = (/** @type {Uint8Array} */ bytes) => (bytes.set(Buffer.from(random, "hex")), bytes);
  const site = new Site();
  const crypto = { subtle: webcrypto.subtle, getRandomValues };
  await site.view({ survey: id, relay: new URL("/", src).href, value }, { src, source: RELAY, crypto });
  console.log(collector.posted.pop()?.toString("hex"));
}
collector.stop();
