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

/** @param {(dataset: any) => unknown} valueOf */
const tell = async (valueOf) => {
  try {
    const { dataset, src } = /** @type {any} */ (script);
    if ("consent" in dataset) await consented;
    const url = new URL("v1/surveys/" + dataset.survey, src).href;
    await answer(url, valueOf(dataset), Math.min(4, dataset.maxEpsilon ?? 4), parts, JSON.parse);
  } catch {
    // An error must never disturb the page.
  }
};

window.hubbub = { consent, report: (value) => tell(() => value) };

script?.dataset.manual ??
  tell(({ value, none = "direct" }) => {
    const host = document.referrer.split("/")[2] ?? location.host;
    return value ?? (host === location.host ? none : host);
  });
