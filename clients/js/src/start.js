// The self-starting script: <script defer src="https://collector.example/hubbub.js" data-survey="…"></script>
// or data-site="…", for which it loads its second part, more.js.
// hubbub-relay.js is built of the same, with relay.js in the place of route.js. The order of these lines is the one that packs best.
import { treeWith } from "./tree.js";
import { categories } from "./categories.js";
import { prepare } from "./survey.js";
import { check } from "./check.js";
import { coded_text } from "./textcode.js";
import { answer, answerSurvey, request } from "./delivery.js";
import { subset } from "./subset.js";

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

/**
 * What the page calls, which is also the list of its calls: of this script, of others like it, and from before any was
 * there, if the page has the stub.
 *
 * @type {any[] & { consent?: unknown, report?: unknown }}
 */
const hub = window.hubbub?.map ? window.hubbub : (window.hubbub = []); // an element with this id is none
hub.consent = () => hub.push(0);
hub.report = (/** @type {unknown[]} */ ...given) => hub.push(given);

/** Do something with every call of the page, from the first one on. @param {(call: any) => any} hear */
const listen = (hear) => {
  const { push } = hub;
  hub.map(hear);
  hub.push = (/** @type {any} */ call) => (push.call(hub, call), hear(call));
};

const { dataset, src, nonce } = script ?? { dataset: {} };

if (dataset.survey) {
  /** @type {any} */
  let consent;
  /** @type {Promise<void>} */
  const consented = new Promise((resolve) => (consent = resolve));

  const { manual, value, none = "direct", maxEpsilon } = dataset;
  /** @param {unknown[]} [given] what the page reports; nothing for the script's own value */
  const report = async (given) => {
    try {
      if ("consent" in dataset) await consented;
      const host = document.referrer.split("/")[2];
      await answerSurvey(new URL("v1/surveys/" + dataset.survey, src).href, given ? given[0] : (value ?? (host && host !== location.host ? host : none)), maxEpsilon, read);
    } catch {
      // An error must never disturb the page.
    }
  };
  manual ?? report();
  // A call with a name and a value is for a site.
  listen((given) => (given ? manual != null && given.length < 2 && report(given) : consent()));
}

if (dataset.site ?? "debug" in dataset)
  document.head.append(
    Object.assign(document.createElement("script"), {
      src: new URL(MORE, src),
      integrity: INTEGRITY,
      crossOrigin: "",
      nonce,
      hubbub: [script, listen, answer, read, request],
    }),
  );
