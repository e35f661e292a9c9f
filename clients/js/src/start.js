// The self-starting script: <script defer src="https://collector.example/hubbub.js" data-survey="…"></script>
import { categories } from "./categories.js";
import { answer } from "./delivery.js";
import { subset } from "./subset.js";
import { coded_text } from "./textcode.js";
import { textPath } from "./textpath.js";
import { treeWith } from "./tree.js";

const script = /** @type {HTMLScriptElement} */ (document.currentScript);
const parts = { categories, coded_text, tree: treeWith(textPath), subset };
/** @type {any} */
let consent;
/** @type {Promise<void>} */
const consented = new Promise((resolve) => (consent = resolve));

/** @param {unknown} [value] the host that the visitor came from, if it is nothing else */
const tell = async (value) => {
  const { dataset, src } = /** @type {any} */ (script);
  const host = document.referrer.split("/")[2] ?? location.host;
  value ??= dataset.value ?? (host === location.host ? dataset.none ?? "direct" : host);
  if ("consent" in dataset) await consented;
  if (navigator.globalPrivacyControl || navigator.doNotTrack === "1") return;
  await answer(`${new URL("v1/surveys/" + dataset.survey, src)}`, value, Math.min(4, dataset.maxEpsilon ?? 4), parts, JSON.parse);
};

/** Nothing that goes wrong is the page's business. @param {unknown} [value] */
const report = (value) => tell(value).catch(() => {});

window.hubbub = { consent, report };
script?.dataset.manual ?? report();
