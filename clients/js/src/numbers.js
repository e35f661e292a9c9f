import { bits, byteBits } from "./bits.js";
import { check } from "./check.js";
import { textOf } from "./text.js";

// The blanks that Python's str.strip removes, which differ a little from those of String.prototype.trim.
const BLANKS = String.raw`(?:(?!\ufeff)[\s\x1c-\x1f\x85])*`;

/** A function that removes blanks around a text, and throws if the rest does not match. @param {string} pattern */
const reader = (pattern) => {
  const whole = new RegExp(`^${BLANKS}(${pattern})${BLANKS}$`);
  return (/** @type {string} */ text) => /** @type {string[]} */ (whole.exec(text))[1];
};
const digitsOf = reader("\\d{1,155}");
const addressOf = reader("(?:(?:25[0-5]|2[0-4]\\d|1\\d\\d|[1-9]?\\d)(?:\\.(?=\\d)|(?![\\d.]))){4}");

/** A whole number in base 2; throws if it has more bits than `length`. @param {any} value @param {number} length */
function fitting(value, length) {
  check(/string|number|bigint/.test(typeof value)); // BigInt would take true, [] and objects that look like numbers
  const number = BigInt(value);
  check(number >= 0 && number >> BigInt(length) === 0n);
  return number.toString(2);
}

/** Whole numbers. @type {import("./domains.js").Kind} */
export const integers = ({ bits: length }) => ({
  size: 2 ** length,
  fallback: "1".repeat(length),
  lookUp: (value) => fitting(typeof value === "string" ? digitsOf(value) : value, length),
});

/** IPv4 addresses. @type {import("./domains.js").Kind} */
export const ipv4 = () => ({
  size: 2 ** 32,
  fallback: "1".repeat(32),
  lookUp: (value) =>
    typeof value === "string"
      ? addressOf(textOf(value))
          .split(".")
          .map((part) => bits(+part, 8))
          .join("")
      : fitting(value, 32),
});

/** Ids of so many hexadecimal digits. @type {import("./domains.js").Kind} */
export const hex = ({ digits = 32 }) => {
  const idOf = reader(`[\\da-fA-F](?:[-:]?[\\da-fA-F]){${digits - 1}}`);
  return {
    size: 16 ** digits,
    fallback: "1".repeat(4 * digits),
    lookUp: (value) => byteBits([...idOf(textOf(value)).replace(/[-:]/g, "")].map((digit) => parseInt(digit, 16)), 4),
  };
};
