// All checks that a document is a survey, each with a sentence. The self-starting script leaves them out: it checks only
// the fields that it reads (prepare in survey.js, and the domains and mechanisms), and refuses without a word.
import { WINDOWS } from "./ledger.js";
import { isPrivate } from "./privacy.js";
import { textOf, utf8 } from "./text.js";

/** @param {unknown} holds @param {string} rule @returns {asserts holds} */
function demand(holds, rule) {
  if (!holds) throw new Error(`${rule}, got another`);
}

/** @param {string} name @param {number} number @param {number} low @param {number} high */
function within(name, number, low, high) {
  demand(number >= low && number <= high, `${name} must be from ${low} to ${high}`);
}

// Patterns of canonical JSON. The text is already known to be canonical, so they need not exclude other JSON.
const LETTER = String.raw`(?:[^"\\]|\\(?:u00..|[^u]))`; // any other \u is a lone surrogate
const TEXT = `"${LETTER}*"`;
const TEXTS = String.raw`\[(?:${TEXT},?)*\]`;
const NUMBER = String.raw`\d+`;
const NUMBERS = String.raw`\[[\d,]+\]`;
const STEPS = String.raw`\[(?:"(?!0)[\da-k]{1,200}",?)+\]`;
const THRESHOLD = String.raw`"[1-9]\d{0,19}"`;
const DECIMAL = String.raw`"(?:0|[1-9]\d*)(?:\.\d*[1-9])?"`;
const TIME = `(?:null|${TEXT})`;

const DOMAIN = [
  `"bits":${NUMBER},"kind":"integers"`,
  `"kind":"(?:ipv4|uuid)"`,
  `"digits":${NUMBER},"kind":"hex"`,
  `"kind":"categories","names":${TEXTS},"normalization":1,"other":(?:true|false)`,
  `"kind":"bytes","max_bytes":${NUMBER},"normalization":1`,
  `"code":\\{"bytes":${TEXT},"class":${TEXT},"ends":${TEXTS},"lengths":${TEXTS},"tokens":${TEXTS}\\},` +
    `"kind":"coded_text","normalization":"(?:text-1|words-1|hostnames-[12])","width":${NUMBER}`,
].join("|");

const MECHANISM = [
  [
    "tree",
    `"size":"(?:auto|small|standard)"`,
    `"bucket_bits":${NUMBER},"ends":${NUMBERS},"keep_threshold":${THRESHOLD},"masks":${NUMBER},"steps":${STEPS}`,
  ],
  ["subset", "", `"keep_threshold":${THRESHOLD},"window":${NUMBER}`],
  [
    "jl",
    `"calibration":"onebit","projection":"(?:dense|hadamard)"`,
    `"rows":${NUMBER},"truth_threshold":${THRESHOLD}`,
  ],
  [
    "bucket",
    `"beta":"0\\.0{0,99}(?=[1-9])\\d{0,27}[1-9]","calibration":"onebit","decoder":"(?:hard|soft)"`,
    `"rows_per_trial":${NUMBER},"trials":${NUMBER},"truth_threshold":${THRESHOLD}`,
  ],
];

const SHAPES = MECHANISM.map(
  ([name, options, parameters]) =>
    new RegExp(
      `^\\{"closes":${TIME},"delta":${DECIMAL},"domain":\\{(?:${DOMAIN})\\},"epsilon":${DECIMAL},` +
        `(?:"every":${NUMBER},)?"expected_reports":${NUMBER},"mechanism":"${name}","name":"${LETTER}{1,200}","opens":${TIME},` +
        `"options":\\{${options}\\},"parameters":\\{${parameters}\\},"public_seed":"[\\da-f]{64}","version":1\\}$`,
      "u",
    ),
);

/** @param {string} name @param {string} text */
function checkDecimal(name, text) {
  demand(text.replace(/^[0.]+|\./g, "").length <= 60, `${name} must have at most 60 digits`);
}

/** @param {string} name @param {string | null} text @param {number} otherwise in milliseconds since 1970 */
function readTime(name, text, otherwise) {
  const date = new Date(text ?? otherwise);
  const written = date.toJSON()?.replace(".000", "");
  demand(text === null || written === text, `${name} must be a time like 2030-01-31T00:00:00Z`);
  return text === null ? otherwise : +date;
}

/** A survey that repeats: its periods begin with days, and fit the budget of a browser. @param {any} data */
function checkRepeats({ epsilon, every, opens }) {
  within("every", every, 1, 366);
  demand(opens?.endsWith("T00:00:00Z"), "a survey that repeats must open at 00:00:00Z");
  demand(every % 7 || new Date(opens).getUTCDay() === 1, "a survey that repeats in whole weeks must open on a Monday");
  const [whole, fraction = ""] = epsilon.split(".");
  const fits = WINDOWS.every(([days, most]) => {
    const times = BigInt(Math.ceil(days / every));
    return BigInt(whole + fraction) * times <= BigInt(most) * 10n ** BigInt(fraction.length);
  });
  demand(fits, "a survey that repeats must fit the budget in every period");
}

/** @param {import("./textcode.js").Table} table */
function checkTable(table) {
  const { bytes, tokens, ends, lengths } = table;
  const symbols = 2 + [...bytes].length + tokens.length + ends.length;
  demand(utf8(JSON.stringify(table)).length <= 8192, "a code must be at most 8192 bytes of JSON");
  for (const [list, shortest] of /** @type {[string[], number][]} */ ([[[...bytes], 1], [tokens, 2], [ends, 1]])) {
    const fit = list.every((text) => text.length >= shortest && text.length <= 64 && !/[^\0-\xff]/.test(text));
    demand(fit && new Set(list).size === list.length, "bytes, tokens and ends of a code must be distinct strings of bytes");
  }
  demand(lengths.length >= 1 && lengths.length <= 36, "code.lengths must have 1 to 36 rows");
  for (const row of lengths) {
    const filled = [...row].reduce((sum, digit) => sum + 2 ** (15 - parseInt(digit, 16)), 0);
    const complete = /^[1-9a-f]*$/.test(row) && row.length === symbols && filled === 2 ** 15;
    demand(complete, "a row of code.lengths must be a complete code of all symbols");
  }
  const known = /^[\da-z]*$/.test(table.class) && [...table.class].every((digit) => parseInt(digit, 36) < lengths.length);
  demand(known && table.class.length === symbols, "code.class must be a digit for each symbol");
}

/** The number of values and the bits of an item. @param {any} domain */
function checkDomain({ kind, bits, digits, names, other, max_bytes, code, width }) {
  let length = kind === "uuid" ? 128 : 32;
  if (kind === "integers") within("bits", (length = bits), 1, 512);
  if (kind === "hex") within("digits", (length = 4 * digits) / 4, 1, 128);
  if (kind === "bytes") within("max_bytes", (length = 8 * max_bytes) / 8, 1, 64);
  if (kind === "coded_text") {
    within("width", (length = width), 16, 512);
    checkTable(code);
  }
  if (kind !== "categories") return { size: 2 ** length, length };
  const size = names.length + other;
  const normal = names.every((/** @type {string} */ name) => textOf(name) === name && name !== "(other)");
  demand(size >= 2, "a domain must have at least 2 values");
  demand(normal && new Set(names).size === names.length, "names must be distinct and in normal form");
  return { size, length: (size - 1).toString(2).length };
}

/** Demand that numbers rise, from 1 or more up to an end. @param {string} name @param {number[]} numbers @param {number} end */
function rising(name, numbers, end) {
  const rises = numbers.every((number, at) => number > (numbers[at - 1] ?? 0)) && numbers.at(-1) === end;
  demand(rises, `${name} must rise to ${end}`);
}

/** @param {any} parameters @param {number} length bits of an item @param {boolean} coded */
function checkTree({ bucket_bits, ends, masks, steps }, length, coded) {
  within("bucket_bits", bucket_bits, 1, 20);
  within("masks", masks, 1, 8);
  within("the number of rows", ends.length, 1, 200);
  rising("ends", ends, 2 ** 24);
  const classes = steps.map((/** @type {string} */ digits) => [...digits].map((digit) => parseInt(digit, 36)));
  for (const digits of classes) {
    within("the number of steps", digits.length, 1, ends.length);
    within("a step", Math.max(...digits), 0, bucket_bits);
  }
  const sums = classes.map((/** @type {number[]} */ digits) => digits.reduce((sum, digit) => sum + digit));
  rising("the sums of steps", sums, length);
  if (ends.length === 1) {
    demand(!coded, "ends must have two entries or more for coded text");
    demand(sums[0] === bucket_bits, "steps must be one step of bucket_bits where there is one row");
    demand(masks <= bucket_bits, "masks must be at most bucket_bits where there is one row");
  }
}

/** @param {any} data @param {number} length bits of an item */
function checkOneBit({ mechanism, options, parameters }, length) {
  let { rows } = parameters;
  if (mechanism === "jl") {
    demand(length <= 24, "jl must have at most 2^24 values");
    demand(options.projection === "dense" || rows === 2 ** length, "rows must be all for hadamard");
  } else {
    const { rows_per_trial: perTrial, trials } = parameters;
    // With more rows, nearly every draw of a trial has a row of zeros, and the search would not end.
    within("rows_per_trial", perTrial, length + 1, Math.min(4096, 4 * 2 ** length));
    within("trials", trials, 1, 1024);
    rows = perTrial * trials;
  }
  within("rows", rows, 1, 2 ** 24);
  demand(rows <= 2 ** 21 || !(rows & (rows - 1)), "rows must be at most 2^21, or a power of two up to 2^24");
  demand(BigInt(parameters.truth_threshold) > 1n << 63n, "truth_threshold must be above 2^63");
}

/**
 * Check that a document is a survey that devices answer, and that it costs at most the epsilon that it states.
 *
 * @param {string} document the survey's canonical JSON; any other form is refused
 * @returns {any} the survey, parsed
 * @throws {Error} a sentence that says which rule is broken
 */
export function checkSurvey(document) {
  const data = JSON.parse(document);
  // If writing it again gives the same text, no field is there twice and nothing has another spelling.
  const canonical = JSON.stringify(data) === document && SHAPES.some((shape) => shape.test(document));
  demand(canonical, "a document must be the canonical JSON of a survey for devices");
  const { mechanism, parameters, epsilon, delta } = data;
  within("expected_reports", data.expected_reports, 1, 1e15);
  checkDecimal("epsilon", epsilon);
  within("epsilon", +epsilon, 1e-15, 1000);
  checkDecimal("delta", delta);
  within("delta", +delta, delta === "0" ? 0 : 1e-60, 0.36787944117144232);
  demand(readTime("opens", data.opens, 0) < readTime("closes", data.closes, Infinity), "closes must be after opens");
  if ("every" in data) checkRepeats(data);
  const { size, length } = checkDomain(data.domain);
  if (mechanism === "tree") checkTree(parameters, length, data.domain.kind === "coded_text");
  else if (mechanism !== "subset") checkOneBit(data, length);
  else {
    demand(size <= 4096, "subset must have at most 4096 values");
    within("window", parameters.window, 1, size - 1);
  }
  demand(isPrivate(data, size), `a survey must execute no more than epsilon = ${epsilon}`);
  return data;
}
