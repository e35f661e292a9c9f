/** Throw if a condition is false. @type {(holds: unknown) => asserts holds} */
export const check = (holds) => {
  if (!holds) throw 0;
};

/** A number; throws unless it is whole and in a range. @param {number} number @param {number} low @param {number} high */
export const checkWhole = (number, low, high) => {
  check(number === (number | 0) && number >= low && number <= high);
  return number;
};

/** A text; throws unless it is one and matches a pattern. @param {string} text @param {RegExp} [pattern] */
export const checkText = (text, pattern = /^/) => {
  check(text === text + "" && pattern.test(text));
  return text;
};
