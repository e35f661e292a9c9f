/**
 * What this browser has reported on this site, in localStorage: entries by survey id, and those of earlier periods by id and
 * `next`. Entries are never removed, so that a survey is answered only once in each period.
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
 * @property {string} url the survey's address; of a sealed report, the relay's
 * @property {number} answered the day, counted from 1970
 * @property {any} [report] the bytes to send, until they are acknowledged or given up
 * @property {any} [sealed] the same of a report that goes through a relay; each script sends what is its own
 * @property {number} [next] if the survey repeats, the day when its next period begins
 * @property {number} [status] the HTTP status of the last reply
 */

/** The ledger; throws if it cannot be read. @returns {Ledger} */
export const readLedger = () => JSON.parse(localStorage.hubbub ?? "{}");

/** Write the ledger; throws if the browser cannot. @param {Ledger} ledger @returns {Ledger} what the browser stored */
export const writeLedger = (ledger) => {
  localStorage.hubbub = JSON.stringify(ledger);
  return readLedger();
};

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
