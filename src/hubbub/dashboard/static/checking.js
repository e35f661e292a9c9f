// "Check it yourself": starts the worker that measures the script, and shows what it found in sentences.
const form = /** @type {HTMLFormElement} */ (document.getElementById("check"));
const told = /** @type {HTMLElement} */ (document.getElementById("checked"));
const button = /** @type {HTMLButtonElement} */ (form.querySelector("button"));

/** @param {number} share */
const percent = (share) => `${(100 * share).toPrecision(3)} %`;
/** @param {number} number */
const short = (number) => number.toLocaleString("en", { maximumSignificantDigits: 4 });

/** @param {...string} sentences */
function say(...sentences) {
  told.replaceChildren(...sentences.map((text) => Object.assign(document.createElement("li"), { textContent: text })));
}

/** @param {any} found */
function explain(found) {
  const promised = Math.exp(Number(form.dataset.epsilon));
  const answer = [
    `Of ${found.measured.toLocaleString("en")} reports of each, the most telling response (${found.response.join(", ")}) came from “${found.value}” in ${percent(found.often)}, and from “${found.other}” in ${percent(found.seldom)}.`,
    `That is ${short(found.ratio)} times as often. With so many reports the true number is between ${short(found.low)} and ${short(found.high)}. The promise: at most ${short(promised)} times.`,
    found.low > promised
      ? "This script tells more than the survey promises. Do not answer it."
      : "This does not break the promise.",
    `SHA-256 of the script that was measured, hubbub.mjs: ${found.hash}`,
  ];
  if (found.low < 1) answer.splice(2, 1, "So these two values cannot be told apart here: perhaps neither is one of the survey's. Take others.");
  form.dataset.verdict = found.low > promised ? "broken" : "kept";
  say(...answer);
}

form.addEventListener("submit", async (event) => {
  event.preventDefault();
  button.disabled = true;
  const [first, second] = ["first", "second"].map((name) => /** @type {HTMLInputElement} */ (form.elements.namedItem(name)).value);
  const end = () => {
    worker.terminate();
    button.disabled = false;
  };
  const worker = new Worker("/dashboard/check.js", { type: "module" });
  worker.addEventListener("error", () => (say("The script could not be loaded in a worker of this browser."), end()));
  worker.addEventListener("message", ({ data }) => {
    if (data.done !== undefined) return say(`Drawing reports: ${Math.round(100 * data.done)} %`);
    if (data.error) say(`This survey cannot be checked in a browser: ${data.error}`);
    else explain(data);
    end();
  });
  worker.postMessage({ survey: await (await fetch(`/v1/surveys/${form.dataset.survey}`)).text(), values: [first, second] });
});
