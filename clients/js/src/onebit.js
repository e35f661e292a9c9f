import { bits, fromBits } from "./bits.js";
import { below } from "./mechanism.js";

/** 1 if two strings of equal length have an odd number of ones in common, else 0. @param {string} a @param {string} b */
const dot = (a, b) => [...a].reduce((sum, digit, at) => sum ^ (+digit & +b[at]), 0);

/**
 * One bit about one row; the row follows from the report's id by the public hash.
 *
 * @param {any} parameters
 * @param {import("./hash.js").Hash} hash
 * @param {number} rows
 * @param {(item: string, row: number) => number} sign
 * @returns {import("./mechanism.js").Randomizer}
 */
const oneBit = ({ truth_threshold }, hash, rows, sign) => ({
  keep: truth_threshold,
  odds: 2 - 2 ** 64 / truth_threshold,
  respond(item, id, honest) {
    const row = below(BigInt("0b" + hash(1, ...id)), rows);
    return [sign(item, row) ^ +!honest];
  },
});

/** JL-HH with one bit. @type {import("./mechanism.js").Mechanism} */
export const jl = (parameters, domain, hash, options) =>
  oneBit(parameters, hash, parameters.rows, (item, row) =>
    options.projection === "dense"
      ? +hash(2, fromBits(item), 0, row >> 6)[63 - (row & 63)]
      : dot(item.padStart(24, "0"), bits(row, 24)),
  );

/**
 * Whether rows of bits over GF(2) have full rank, so that they determine a number of `length` bits.
 *
 * @param {string[]} rows
 * @param {number} length
 */
function fullRank(rows, length) {
  /** @type {Map<number, bigint>} */
  const basis = new Map(); // by the number of bits of a row
  for (const digits of rows) {
    for (let row = BigInt("0b" + digits); row; ) {
      const size = row.toString(2).length;
      const known = basis.get(size);
      if (!known) basis.set(size, row);
      row ^= known ?? row;
    }
  }
  return basis.size === length;
}

/** The Bucket mechanism with one bit. @type {import("./mechanism.js").Mechanism} */
export const bucket = (parameters, { fallback: { length } }, hash) => {
  const { rows_per_trial: perTrial, trials } = parameters;

  /** @param {number} trial @param {number} attempt @param {number} row */
  const draw = (trial, attempt, row) => {
    let drawn = "";
    for (let word = 0; drawn.length < length; word++) drawn = hash(4, trial, attempt, row, word) + drawn;
    return drawn.slice(drawn.length - length);
  };

  /** @param {number} trial */
  const rowsOf = (trial) => {
    for (let attempt = 0; ; attempt++) {
      const rows = [];
      while (rows.length < perTrial) {
        const row = draw(trial, attempt, rows.length);
        if (!row.includes("1")) break; // a row of zeros ends the attempt
        rows.push(row);
      }
      if (rows.length === perTrial && fullRank(rows, length)) return rows;
    }
  };

  return oneBit(parameters, hash, perTrial * trials, (item, row) => {
    const drawn = rowsOf(Math.floor(row / perTrial))[row % perTrial];
    return dot(drawn, item) ^ +hash(5, row)[63];
  });
};
