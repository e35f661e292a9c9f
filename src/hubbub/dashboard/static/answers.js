// An answer that the server sent as HTML, put into a page with its chart and its table.
import { bars } from "./charts.js";
import { makeSearchable, makeSortable } from "./tables.js";

/** Make the answers inside of an element live. @param {ParentNode} root */
export function bringToLife(root) {
  for (const figure of root.querySelectorAll("figure[data-chart]")) bars(/** @type {HTMLElement} */ (figure));
  makeSortable(root);
  makeSearchable(root);
}

/** Replace what an element shows. @param {Element} place @param {string} html of our own server, where values are escaped */
export function show(place, html) {
  const made = new DOMParser().parseFromString(html, "text/html");
  place.replaceChildren(...made.body.childNodes);
  bringToLife(place);
}
