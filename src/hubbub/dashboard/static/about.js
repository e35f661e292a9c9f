// "Randomise my value": the code of the browser client, on this page. Nothing is sent.
import { readSurvey } from "/hubbub.mjs";

const SHOWN = 8;
const form = /** @type {HTMLFormElement} */ (document.getElementById("try"));
const field = /** @type {HTMLInputElement} */ (document.getElementById("value"));
const list = /** @type {HTMLElement} */ (document.getElementById("reports"));

/** @param {number[]} bytes */
const hex = (bytes) => bytes.map((byte) => byte.toString(16).padStart(2, "0")).join(" ");

/** @param {string} text */
function say(text) {
  const line = document.createElement("li");
  line.textContent = text;
  list.prepend(line);
  return line;
}

try {
  const survey = await (await fetch(`/v1/surveys/${form.dataset.survey}`)).text();
  const makeReport = readSurvey(survey);
  form.addEventListener("submit", (event) => {
    event.preventDefault();
    const bytes = makeReport(field.value, crypto.getRandomValues(new Uint8Array(32)));
    const line = say(`${hex(bytes.slice(0, 16))} `);
    const answer = document.createElement("b");
    answer.textContent = hex(bytes.slice(16));
    line.append(answer);
    while (list.children.length > SHOWN) list.lastElementChild?.remove();
  });
  form.dataset.ready = "";
} catch (error) {
  say(`This survey cannot be answered in a browser: ${/** @type {Error} */ (error).message}`);
}
