// The largest values of sites' questions, which the server searches when somebody looks; and again when reports come in.
import { show } from "./answers.js";

/** Fill the places of all sites on a page, and keep them fresh. @param {(reports: number) => void} told */
export function watchSites(told = () => {}) {
  for (const place of /** @type {NodeListOf<HTMLElement>} */ (document.querySelectorAll("[data-tops]"))) watch(place, told);
}

/** @param {HTMLElement} place @param {(reports: number) => void} told */
async function watch(place, told) {
  const address = `/sites/${place.dataset.tops}`;
  if (document.visibilityState === "visible") {
    try {
      const state = await fetch(`${address}/state`);
      if (state.status === 401) return location.assign("/login");
      const { reports } = await state.json();
      told(reports);
      if (`${reports}` !== place.dataset.shown && !place.contains(document.activeElement)) {
        const reply = await fetch(`${address}/tops`, { headers: { Accept: "text/html" } });
        if (reply.ok && !reply.redirected) {
          show(place, await reply.text());
          place.dataset.shown = reports;
        }
      }
    } catch {
      // the server cannot be reached now; what is shown stays
    }
  }
  setTimeout(watch, 5000, place, told);
}
