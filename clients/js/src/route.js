// The way of a report of hubbub.js and of the module: to the collector itself. hubbub-relay.js is built from the same
// sources, with relay.js in the place of this file.

/** The largest epsilon that a survey may state. */
export const MOST_EPSILON = 4;

/** What seals reports; nothing does here. @type {any} */
export const through = null;
