import { bits } from "./bits.js";
import { check } from "./check.js";
import { textOf } from "./text.js";

// The blanks of Python's str.strip, which are not quite those of String.prototype.trim.
const BLANKS = String.raw`(?:(?!\ufeff)[\s\x1c-\x1f\x85])*`;

/** What is between blanks in a text, if it matches a pattern; else an exception. @param {string} pattern */
const reader = (pattern) => {
  const whole = new RegExp(`^${BLANKS}(${pattern})${BLANKS}$`);
  return (/** @type {string} */ text) => /** @type {string[]} */ (whole.exec(text))[1];
};
const digitsOf = reader("\\d{1,155}");
const addressOf = reader("(?:(?:25[0-5]|2[0-4]\\d|1\\d\\d|[1-9]?\\d)(?:\\.(?=\\d)|(?![\\d.]))){4}");

/** A whole number that has no more than so many bits. @param {bigint} number @param {number} length */
function fitting(number, length) {
  check(number >= 0 && number >> BigInt(length) === 0n);
  return number.toString(2);
}

/** Whole numbers. @type {import("./domains.js").Kind} */
export const integers = ({ bits: length }) => ({
  size: 2 ** length,
  other: "1".repeat(length),
  lookUp: (value) => fitting(BigInt(typeof value === "string" ? digitsOf(value) : value), length),
});

/** IPv4 addresses. @type {import("./domains.js").Kind} */
export const ipv4 = () => ({
  size: 2 ** 32,
  other: "1".repeat(32),
  lookUp: (value) =>
    typeof value === "string"
      ? addressOf(textOf(value))
          .split(".")
          .map((part) => bits(+part, 8))
          .join("")
      : fitting(BigInt(value), 32),
});
