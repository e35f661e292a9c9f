// A site's page: its largest values go on by themselves, lines are copied, and a list comes from a file.
import { copyButtons } from "./copying.js";
import { watchSites } from "./tops.js";

const counter = /** @type {HTMLElement} */ (document.getElementById("reports"));
const live = document.getElementById("live");

watchSites((reports) => {
  counter.textContent = reports.toLocaleString("en");
  if (live && reports > 0) {
    live.classList.add("on");
    live.textContent = "First report received";
  }
});
copyButtons();

document.querySelector("[type=file]")?.addEventListener("change", async (event) => {
  const [file] = /** @type {HTMLInputElement} */ (event.target).files ?? [];
  const values = /** @type {HTMLTextAreaElement} */ (document.getElementById("values"));
  if (file) values.value = (await file.text()).slice(0, 300_000);
  values.dispatchEvent(new Event("input", { bubbles: true }));
});
