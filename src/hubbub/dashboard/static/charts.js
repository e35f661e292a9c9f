// All charts: inline SVG, made of numbers and text. Nothing is ever parsed as HTML.

const NAMESPACE = "http://www.w3.org/2000/svg";

/** An element of SVG. @param {string} name @param {Record<string, string | number>} attributes @param {string} [text] */
function shape(name, attributes, text) {
  const made = document.createElementNS(NAMESPACE, name);
  for (const [key, value] of Object.entries(attributes)) made.setAttribute(key, String(value));
  if (text !== undefined) made.textContent = text;
  return made;
}

/** @param {number} value */
const whole = (value) => (Math.round(value) || 0).toLocaleString("en"); // never "-0"

/** The next round number above; a few people are a multiple of four, so that each quarter is a whole number. @param {number} value */
function roundUp(value) {
  if (value < 40) return 4 * Math.ceil(value / 4);
  const unit = 10 ** Math.floor(Math.log10(value));
  return /** @type {number} */ ([1, 1.2, 1.6, 2, 2.4, 3.2, 4, 5, 6, 8, 10].find((step) => step * unit >= value)) * unit;
}

/** Columns, one for each day. @param {HTMLElement} place with data-days: numbers as JSON */
export function sparkline(place) {
  /** @type {number[]} */
  const days = JSON.parse(place.dataset.days ?? "[]");
  const most = Math.max(1, ...days);
  const svg = shape("svg", { viewBox: `0 0 ${days.length * 10} 44`, height: 44, preserveAspectRatio: "none", "aria-hidden": "true" });
  days.forEach((reports, day) => {
    const height = reports ? Math.max(3, (42 * reports) / most) : 2;
    svg.append(shape("rect", { x: day * 10 + 1, y: 44 - height, width: 8, height, rx: 1.5, class: reports ? "" : "none" }));
  });
  place.replaceChildren(svg);
}

/** Bars with intervals, and the line below which values may go unseen. @param {HTMLElement} figure with data-chart */
export function bars(figure) {
  const place = /** @type {HTMLElement} */ (figure.querySelector(".plot"));
  const { rows, limit, limit_text: said } = JSON.parse(figure.dataset.chart ?? "{}");
  const draw = () => {
    const width = Math.max(260, place.clientWidth);
    const wide = width > 560;
    const labels = wide ? Math.min(240, width * 0.32) : 0;
    const room = width - labels - 70;
    const most = roundUp(Math.max(1, ...rows.map((/** @type {any} */ row) => Math.max(row.count, row.high))));
    const least = Math.min(0, ...rows.map((/** @type {any} */ row) => row.low));
    const at = (/** @type {number} */ value) => labels + ((Math.max(value, least) - least) / (most - least)) * room;
    const step = wide ? 30 : 46;
    const top = 22;
    const bottom = top + rows.length * step;
    const svg = shape("svg", { width, height: bottom + 24, viewBox: `0 0 ${width} ${bottom + 24}`, role: "presentation" });
    for (const part of [0, 0.25, 0.5, 0.75, 1]) {
      const x = at(most * part);
      svg.append(shape("line", { x1: x, x2: x, y1: top, y2: bottom, class: "grid" }));
      if (wide || part !== 0.25 && part !== 0.75)
        svg.append(shape("text", { x, y: bottom + 17, class: "quiet", "text-anchor": part ? "middle" : "start" }, whole(most * part)));
    }
    const texts = shape("g", {}); // above the line of the limit
    rows.forEach((/** @type {any} */ row, /** @type {number} */ index) => {
      const y = top + index * step;
      const middle = wide ? y + step / 2 : y + 31;
      const fits = Math.floor((wide ? labels - 12 : width - 10) / 7.6);
      const label = [...row.value].length > fits ? `${[...row.value].slice(0, fits - 1).join("")}…` : row.value;
      const place = wide ? { x: labels - 10, y: middle + 4.5, "text-anchor": "end" } : { x: 0, y: y + 15, "text-anchor": "start" };
      texts.append(shape("text", place, label));
      const end = at(row.count);
      svg.append(shape("rect", { x: Math.min(at(0), end), y: middle - 8, width: Math.abs(end - at(0)), height: 16, rx: 3, class: row.stands ? "bar" : "bar faint" }));
      const [low, high] = [at(row.low), at(row.high)];
      svg.append(shape("path", { d: `M${low} ${middle}H${high}M${low} ${middle - 4}v8M${high} ${middle - 4}v8`, class: "whisker", fill: "none" }));
      texts.append(shape("text", { x: Math.max(end, high) + 7, y: middle + 4.5, class: "quiet" }, row.text));
    });
    const note = /** @type {HTMLElement | null} */ (figure.querySelector(".limit-note"));
    if (note) note.hidden = limit === null || limit >= most; // the caption speaks of the line only if it is drawn
    if (limit !== null && limit < most) {
      const x = at(limit);
      svg.append(shape("line", { x1: x, x2: x, y1: top - 4, y2: bottom, class: "limit" }));
      const late = x > width - 170;
      svg.append(shape("text", { x: late ? x - 5 : x + 5, y: 12, class: "limit-text", "text-anchor": late ? "end" : "start" }, said));
    }
    svg.append(texts);
    place.replaceChildren(svg);
  };
  let last = 0;
  new ResizeObserver(() => {
    if (place.clientWidth !== last) draw();
    last = place.clientWidth;
  }).observe(place);
}
