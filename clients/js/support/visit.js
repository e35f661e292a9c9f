// Visit pages with the self-starting script, each time with another browser: node visit.js SCRIPT SURVEY HOST…
// Prints how many reports were acknowledged.
import { Site } from "./page.js";

const [src, survey, ...hosts] = process.argv.slice(2);
let acknowledged = 0;
for (const host of hosts) {
  const site = new Site();
  site.now = Date.now();
  await site.view({ survey }, { src, referrer: `https://${host}/` });
  const { status, report } = site.ledger[survey];
  if (status === 200 && !report) acknowledged++;
}
console.log(acknowledged);
