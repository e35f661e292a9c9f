// The forecast beside the form of a new survey.

const form = /** @type {HTMLFormElement} */ (document.getElementById("new"));
const place = /** @type {HTMLElement} */ (document.getElementById("preview"));
/** @type {number | undefined} */
let timer;
/** @type {AbortController | undefined} */
let last;

/** @param {string} name @param {string} className @param {(string | Node)[]} inside */
function element(name, className, ...inside) {
  const made = document.createElement(name);
  made.className = className;
  made.append(...inside);
  return made;
}

/** @param {{people: string, share: string | null, count: string, width: number}} crowd @param {number} index */
function row(crowd, index) {
  const bar = element("i", "");
  bar.style.width = `${crowd.width && Math.max(1, 100 * crowd.width)}%`;
  const note = crowd.share ? `what about ${crowd.count} of them hold, and more` : "too few people to see through the noise";
  return element("li", index === 1 ? "now" : "",
    element("div", "muted", `With ${crowd.people} people`), element("div", "share", crowd.share ?? "nothing yet"),
    element("div", "meter", bar), element("div", "muted", note));
}

async function ask() {
  last?.abort(); // an answer to what was written before must not come after this one
  last = new AbortController();
  const body = new URLSearchParams(/** @type {any} */ (new FormData(form)));
  place.setAttribute("aria-busy", "true");
  const reply = await fetch(form.dataset.preview ?? "/new/preview", { method: "POST", body, signal: last.signal }).catch(() => null);
  if (!reply?.ok) return;
  place.removeAttribute("aria-busy");
  const { before, complaint, verdict, crowds, words, sums } = await reply.json();
  if (complaint) return place.replaceChildren(element("p", "muted", complaint));
  /** @param {string[]} sentences */
  const paragraphs = (sentences) => sentences.map((said) => element("p", "muted", said));
  place.replaceChildren(
    ...(before ? [element("p", "", before)] : []), element("p", "verdict", verdict), element("p", "", words[0]), ...paragraphs(words.slice(1, 2)),
    element("ol", "", ...crowds.map(row)), ...paragraphs(words.slice(2)),
    ...(sums.length ? [element("details", "", element("summary", "", "The sums, seen from outside"), ...paragraphs(sums))] : []),
  );
}

// Hosts of other scripts are spelled as browsers send them, münchen.example as xn--mnchen-3ya.example.
const site = /** @type {HTMLInputElement | null} */ (document.getElementById("site"));
site?.addEventListener("change", () => {
  site.value = site.value
    .split(",")
    .map((text) => (/[^\0-\x7f]/.test(text) ? originOf(text) : text))
    .join(",");
});

/** @param {string} text an address, or a host */
function originOf(text) {
  try {
    return new URL(text.includes("://") ? text : `https://${text.trim()}`).origin;
  } catch {
    return text; // the server says what is wrong with it
  }
}

form.addEventListener("input", () => {
  clearTimeout(timer);
  timer = setTimeout(ask, 250);
});
ask();
