/**
 * What this browser has reported on this site, in localStorage: entries by survey id. Entries are never removed, so that
 * a survey is answered only once.
 *
 * @typedef {Record<string, Entry>} Ledger
 */

/**
 * An entry is written before its report is sent. It never holds the value.
 *
 * @typedef {object} Entry
 * @property {string} name
 * @property {any} epsilon the survey's, as a string
 * @property {string} url
 * @property {number} answered the time, in days since 1970
 * @property {any} closes a time like 2030-01-31T00:00:00Z, or null
 * @property {any} [report] the bytes to send, until they are acknowledged or given up
 * @property {number} [missing] when the collector first replied that there is no such survey, in days since 1970
 * @property {number} [status] the HTTP status of the last reply
 */

/** The ledger; throws if it cannot be read. @returns {Ledger} */
export const readLedger = () => JSON.parse(localStorage.hubbub ?? "{}");

/** Write the ledger; throws if the browser does not store it. @param {Ledger} ledger */
export const writeLedger = (ledger) => (localStorage.hubbub = JSON.stringify(ledger));
