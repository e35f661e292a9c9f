/**
 * What this browser told on this site, in localStorage: entries by survey id. None is ever taken away, so a survey is
 * answered once.
 *
 * @typedef {Record<string, Entry>} Ledger
 */

/**
 * An entry is written before its report is sent. It never holds the value.
 *
 * @typedef {object} Entry
 * @property {string} name
 * @property {any} epsilon its spelling
 * @property {string} url
 * @property {number} answered when, in days since 1970; other times likewise
 * @property {any} closes a time like 2030-01-31T00:00:00Z, or null
 * @property {any} [report] the bytes to send, until they are acknowledged or given up
 * @property {number} [missing] when the collector first said that there is no such survey
 * @property {number} [status] of the last reply
 */

/** The ledger; an exception if it cannot be read. @returns {Ledger} */
export const readLedger = () => JSON.parse(localStorage.hubbub ?? "{}");

/** Write the ledger; an exception if the browser does not keep it. @param {Ledger} ledger */
export const writeLedger = (ledger) => (localStorage.hubbub = JSON.stringify(ledger));
