/**
 * What this browser has reported on this site, in localStorage: entries by survey id, those of a site's questions by the
 * address of the site, and those of earlier periods by that and `next`. Entries are never removed, so that a survey or a site
 * is answered only once in each period.
 *
 * @typedef {Record<string, Entry>} Ledger
 */

/**
 * An entry is written before random words are drawn for its report, and the report before it is sent. It never holds the
 * value.
 *
 * @typedef {object} Entry
 * @property {string} name
 * @property {any} epsilon the survey's, as a string
 * @property {string} url the survey's address
 * @property {number} answered the day, counted from 1970
 * @property {any} [report] the bytes to send, until they are acknowledged or given up
 * @property {any} [sealed] the same of a report that goes through a relay; each script sends what is its own
 * @property {string} [to] and where to
 * @property {any} [next] if the survey repeats, the day when its next period begins
 * @property {number} [status] the HTTP status of the last reply
 * @property {string} [waits] the name of a site's own question that was drawn, until the page tells its value
 * @property {Record<string, boolean>} [goals] the goals of a site, and whether they were reached since this was drawn
 */

/** The ledger; throws if it cannot be read. @returns {Ledger} */
export const readLedger = () => JSON.parse(localStorage.hubbub ?? "{}");

/** Write the ledger; throws if the browser cannot. @param {Ledger} ledger */
export const writeLedger = (ledger) => (localStorage.hubbub = JSON.stringify(ledger));

/** The day, counted from 1970. */
export const dayOf = () => (Date.now() / 864e5) | 0;

/** Days, and the epsilon that all answers of so many days may cost together: the budget of docs/privacy.md. */
export const WINDOWS = [
  [30, 8],
  [365, 28],
];

/**
 * The epsilon that a window of the budget has left; NaN if an entry is damaged. An answer from the future counts, too: the
 * clock may have been wrong.
 *
 * @param {Ledger} ledger
 * @param {number[]} window its days, and the epsilon that it has in all
 */
export const leftIn = (ledger, [days, most]) =>
  Object.values(ledger).reduce(
    (left, { answered, epsilon }) => (answered < dayOf() - days ? left : epsilon > 0 ? left - epsilon : NaN),
    most,
  );
