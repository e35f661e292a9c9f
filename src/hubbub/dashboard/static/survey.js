// A survey's page: goes on by itself while reports come in, keeps names, copies lines.
import { bringToLife, show } from "./answers.js";
import { copyButtons } from "./copying.js";

/** @param {string} id */
const part = (id) => /** @type {HTMLElement} */ (document.getElementById(id));
const counter = part("reports");
const address = `/surveys/${counter.dataset.survey}`;
const place = part("answer");
const fresh = part("fresh");
const live = document.getElementById("live");
const HTML = { headers: { Accept: "text/html" } };
let shown = Number(/** @type {HTMLElement | null} */ (place.querySelector(".answer"))?.dataset.reports ?? -1);

let seen = -1;

/** Whether somebody works with the answer now, so that it must not move. */
const inUse = () =>
  place.contains(document.activeElement) || Number(/** @type {HTMLInputElement | null} */ (place.querySelector("[data-forged]"))?.value ?? 0) || /** @type {HTMLInputElement | null} */ (place.querySelector("[data-search]"))?.value;

async function refresh() {
  await ask("0");
}

/** Show the answer if so many reports are forged. @param {string} forged */
async function ask(forged) {
  const query = new URLSearchParams(location.search);
  query.set("forged", forged);
  const reply = await fetch(`${address}/answer?${query}`, HTML);
  if (!reply.ok || reply.redirected || (forged === "0" && inUse())) return;
  show(place, await reply.text());
  shown = Number(/** @type {HTMLElement | null} */ (place.querySelector(".answer"))?.dataset.reports ?? -1);
}

async function watch() {
  if (document.visibilityState === "visible") {
    try {
      const reply = await fetch(`${address}/state`);
      if (reply.status === 401) return location.assign("/login");
      const { reports, above, version } = await reply.json();
      part("above").hidden = !above;
      counter.textContent = reports.toLocaleString("en");
      if (live && reports > 0) {
        const first = live.dataset.first === "0";
        live.classList.add("on");
        live.textContent = first ? "First report received" : "Reports have come in";
      }
      // The answer about a period has fewer reports than there are: it changes with the version of the sums.
      if (location.search ? version !== seen : reports !== shown) await refresh();
      seen = version;
      fresh.textContent = shown < 0 ? "" : `from ${shown.toLocaleString("en")} ${shown === 1 ? "report" : "reports"}`;
    } catch {
      fresh.textContent = "The server cannot be reached; this page tries again.";
    }
  }
  setTimeout(watch, 3000);
}

copyButtons();

const form = /** @type {HTMLFormElement | null} */ (document.getElementById("naming"));
if (form) {
  const complaint = /** @type {HTMLElement} */ (form.querySelector(".complaint"));
  const told = /** @type {HTMLElement} */ (form.querySelector("[role=status] ul"));
  const names = /** @type {HTMLTextAreaElement | null} */ (form.elements.namedItem("names"));
  form.querySelector("[type=file]")?.addEventListener("change", async (event) => {
    const [file] = /** @type {HTMLInputElement} */ (event.target).files ?? [];
    if (file && names) names.value = (await file.text()).slice(0, 900_000);
  });
  /** @param {string[]} sentences */
  const tell = (sentences) =>
    told.replaceChildren(...sentences.map((said) => Object.assign(document.createElement("li"), { textContent: said })));
  form.addEventListener("submit", async (event) => {
    event.preventDefault();
    complaint.textContent = "";
    tell(["Looking for them…"]);
    const body = new URLSearchParams();
    for (const area of form.querySelectorAll("textarea")) body.set(area.name, area.value);
    const reply = await fetch(`${address}/names`, { method: "POST", body, headers: { Accept: "application/problem+json" } });
    const { detail, fixed, later, sentences } = await reply.json();
    complaint.textContent = reply.ok ? "" : detail;
    if (!reply.ok) return tell([]);
    if (names) names.value = (later.length || shown > 0 ? later : fixed).join("\n");
    await refresh();
    tell([names ? "The names are kept, and in the answer above." : "The groups are kept.", ...sentences]);
  });
}

place.addEventListener("change", (event) => {
  const field = /** @type {HTMLInputElement} */ (event.target);
  if (field.matches("[data-forged]")) ask(field.value || "0");
});

bringToLife(place);
watch();
