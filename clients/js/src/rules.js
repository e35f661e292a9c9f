import { check } from "./check.js";
import { cut, utf8 } from "./text.js";

/** @param {string} text */
const text1 = (text) => cut(text.toLowerCase().normalize(), 64);

/** @param {string} text */
const hostnames1 = (text) => {
  const [authority] = text.trim().replace(/^([a-z][a-z\d+.-]*:)?\/\//i, "").split(/[/\\?#]/); // prettier-ignore
  const host = authority.replace(/.*@/s, "").replace(/[A-Z]/g, (letter) => letter.toLowerCase()).normalize(); // prettier-ignore
  const address = /^\[[\da-f:.]+]/.exec(host);
  const name = address ? address[0] : host.replace(/\.*(:.*)?$/s, "").replace(/^(www\.)+(?=.*\.)/, "");
  check((address || /^[^\0-\x20\x7f"%<>[\]^`{|}\s]+$/.test(name)) && utf8(name).length < 65);
  return name;
};

/**
 * The rules of coded text by name (docs/text-codes.md). A rule throws if it refuses a text.
 *
 * @type {Record<string, (text: string) => string>}
 */
export const rules = {
  "text-1": text1,
  "words-1": (text) => text1(text.trim()).trim(),
  "hostnames-1": hostnames1,
};
