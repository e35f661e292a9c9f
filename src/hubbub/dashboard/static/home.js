import { sparkline } from "./charts.js";
import { watchSites } from "./tops.js";

/** What is known of smallest shares, by survey and reports. @type {Map<string, Promise<any>>} */
const known = new Map();

/** Ask for the smallest share that a survey shows, once for each number of reports. @param {HTMLElement} card */
async function fillLimit(card) {
  const key = `${card.dataset.survey} ${card.dataset.reports}`;
  const asked = known.get(key) ?? fetch(`/surveys/${card.dataset.survey}/limit`).then((reply) => (reply.ok ? reply.json() : {}));
  known.set(key, asked);
  const limits = await asked.catch(() => (known.delete(key), {}));
  for (const place of /** @type {NodeListOf<HTMLElement>} */ (card.querySelectorAll("[data-limit]")))
    place.textContent = limits[place.dataset.limit ?? ""] ?? "none yet";
}

// A limit costs the server some work, so it is asked for when somebody sees the card.
const seen = new IntersectionObserver((changes) => {
  for (const { isIntersecting, target } of changes) {
    if (!isIntersecting) continue;
    seen.unobserve(target);
    fillLimit(/** @type {HTMLElement} */ (target));
  }
});

/** @param {ParentNode} cards */
function show(cards) {
  for (const place of cards.querySelectorAll(".spark")) sparkline(/** @type {HTMLElement} */ (place));
  for (const card of cards.querySelectorAll("[data-survey]:has([data-limit])")) seen.observe(card);
}

/** What there is to be seen of some cards. @param {ParentNode} cards */
const facts = (cards) =>
  [.../** @type {NodeListOf<HTMLElement>} */ (cards.querySelectorAll("[data-survey]"))]
    .map(({ dataset }) => [dataset.survey, dataset.reports, dataset.state])
    .join();

show(document);
watchSites();

// New reports are shown without a click, as long as somebody looks.
setInterval(async () => {
  if (document.visibilityState !== "visible") return;
  const reply = await fetch(location.href, { headers: { Accept: "text/html" } }).catch(() => null);
  if (!reply?.ok || reply.redirected) return;
  const page = new DOMParser().parseFromString(await reply.text(), "text/html");
  const [now, old] = [page.querySelector("#surveys"), document.querySelector("#surveys")];
  if (!now || !old || facts(now) === facts(old)) return;
  const focused = document.activeElement?.getAttribute("href");
  seen.disconnect();
  old.replaceWith(now);
  show(now);
  if (focused) /** @type {HTMLElement | null} */ (now.querySelector(`a[href="${CSS.escape(focused)}"]`))?.focus();
}, 5000);
