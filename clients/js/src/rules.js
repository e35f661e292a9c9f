import { checkText } from "./check.js";
import { encoder } from "./text.js";

/** A text in lower case, cut after 64 bytes. @param {string} text */
const lower = (text, low = text.toLowerCase().normalize()) => low.slice(0, encoder.encodeInto(low, new Uint8Array(64)).read);

/** The names of the rules of coded text (docs/text-codes.md). */
export const RULES = ["text-1", "words-1", "hostnames-1", "hostnames-2"];

/**
 * The normal form of a text. Throws if the rules refuse it; a host of more than 64 bytes is left to the caller.
 *
 * @param {number} rules their place in RULES
 * @param {string} text
 */
export const normal = (rules, text) =>
  rules < 1
    ? lower(text)
    : rules < 2
      ? lower(text.trim()).trim()
      : checkText(
          (
            rules + // for the last step
            text
              .trim()
              .replace(/^([a-z][a-z\d+.-]*:)?\/\//i, "")
              .replace(/^[^/\\?#]*@|[/\\?#].*/gs, "")
              .replace(/[A-Z]/g, (letter) => letter.toLowerCase())
              .normalize()
              .replace(/^(\[[\da-f:.]+]).*|\.*(:.*)?$/s, "$1")
          ) // an address in brackets stays, or dots and a port go
            .replace(/^(2(www\.)*|3((www|m|lm?|mobile|amp|old)\.)*)(?=.*\.)|^./, ""),
          /^(\[[\da-f:.]+]|[^\0- \x7f"%<>[\]^`{|}\s]+)$/,
        );
