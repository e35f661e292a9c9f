// The code is in the fragment of the link. It leaves the address at once, and goes to the server once.

const form = /** @type {HTMLFormElement} */ (document.getElementById("login"));
const field = /** @type {HTMLInputElement} */ (document.getElementById("code"));
const said = /** @type {HTMLElement} */ (document.getElementById("said"));

/** @param {string} text a link, or its code */
async function logIn(text) {
  const code = text.trim().split("#").pop();
  const reply = await fetch("/login", { method: "POST", body: JSON.stringify({ code }) }).catch(() => null);
  if (reply?.ok) return location.replace("/");
  const detail = reply ? (await reply.json()).detail.replaceAll("`", "") : "the server cannot be reached";
  said.textContent = `${detail[0].toUpperCase()}${detail.slice(1)}.`;
}

form.addEventListener("submit", (event) => {
  event.preventDefault();
  logIn(field.value);
});

function readFragment() {
  const code = location.hash.slice(1);
  history.replaceState(null, "", location.pathname);
  if (code) logIn(code);
  return code;
}

addEventListener("hashchange", readFragment); // a link that is opened where this page is already
if (!readFragment()) fetch("/session").then((reply) => reply.ok && location.replace("/"), () => {});
