// Tables that are sorted by a click on a heading and searched by typing.

/** @param {ParentNode} root */
export function makeSortable(root) {
  for (const table of root.querySelectorAll("table[data-sortable]")) {
    const heads = [...table.querySelectorAll("thead th")];
    heads.forEach((head, column) => {
      head.querySelector("button")?.addEventListener("click", () => {
        const up = head.getAttribute("aria-sort") === "descending";
        for (const each of heads) each.setAttribute("aria-sort", "none");
        head.setAttribute("aria-sort", up ? "ascending" : "descending");
        sort(/** @type {HTMLTableElement} */ (table), column, up);
      });
    });
  }
}

/** @param {HTMLTableElement} table @param {number} column @param {boolean} up */
function sort(table, column, up) {
  const body = table.tBodies[0];
  const key = (/** @type {HTMLTableRowElement} */ row) => row.cells[column].dataset.key ?? "";
  const rows = [...body.rows].sort((one, two) => {
    const [a, b] = [key(one), key(two)];
    const order = column && !Number.isNaN(Number(a)) ? Number(a) - Number(b) : a.localeCompare(b);
    return up ? order : -order;
  });
  body.append(...rows);
}

/** @param {ParentNode} root */
export function makeSearchable(root) {
  const field = /** @type {HTMLInputElement | null} */ (root.querySelector("[data-search]"));
  const none = /** @type {HTMLElement | null} */ (root.querySelector(".nothing"));
  field?.addEventListener("input", () => {
    const wanted = field.value.toLowerCase();
    let seen = 0;
    for (const row of root.querySelectorAll("tbody tr")) {
      const hit = (row.firstElementChild?.textContent ?? "").toLowerCase().includes(wanted);
      /** @type {HTMLElement} */ (row).hidden = !hit;
      if (hit) seen += 1;
    }
    if (none) none.hidden = seen > 0;
  });
}
