// The self-starting script: <script defer src="https://collector.example/hubbub.js" data-survey="…"></script>
// hubbub-relay.js is this, too, with relay.js in the place of route.js. The order of these lines is the one that packs best.
import { treeWith } from "./tree.js";
import { categories } from "./categories.js";
import { prepare } from "./survey.js";
import { check } from "./check.js";
import { coded_text } from "./textcode.js";
import { answer } from "./delivery.js";
import { subset } from "./subset.js";
import { MOST_EPSILON, through } from "./route.js";

const script = /** @type {HTMLScriptElement} */ (document.currentScript);
const tree = treeWith(2, (many) => many);

/** Read a survey of a kind that this script answers; throws otherwise. @param {string} document @returns {import("./survey.js").Ready} */
const read = (document) => {
  const survey = JSON.parse(document);
  // The kind of the domain need not be read: only lists have names, and only coded text has a code.
  if (survey.mechanism === "subset") return prepare(survey, categories, subset);
  check(survey.mechanism === "tree");
  return prepare(survey, coded_text, tree);
};

/** @type {any} */
let consent;
/** @type {Promise<void>} */
const consented = new Promise((resolve) => (consent = resolve));

/** @param {(dataset: any) => unknown} valueOf */
const tell = async (valueOf) => {
  try {
    const { dataset, src } = /** @type {any} */ (script);
    if ("consent" in dataset) await consented;
    const url = new URL("v1/surveys/" + dataset.survey, src).href;
    await answer(url, valueOf(dataset), dataset.maxEpsilon ?? MOST_EPSILON, through ? through(read, dataset.relay, url) : read);
  } catch {
    // An error must never disturb the page.
  }
};

window.hubbub = { consent, report: (value) => tell(() => value) };

script?.dataset.manual ??
  tell(({ value, none = "direct" }) => {
    const host = document.referrer.split("/")[2];
    return value ?? (host && host != location.host ? host : none);
  });
