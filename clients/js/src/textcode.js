import { bits, byteBits } from "./bits.js";
import { check } from "./check.js";
import { rules } from "./rules.js";
import { textOf, utf8 } from "./text.js";

/**
 * The table of a text code (docs/text-codes.md).
 *
 * @typedef {{ bytes: string, tokens: string[], ends: string[], class: string, lengths: string[] }} Table
 */

/** Coded text. @type {import("./domains.js").Kind} */
export const coded_text = ({ code: { bytes, tokens, ends, class: after, lengths }, normalization, width }) => {
  const symbols = ["", "", ...bytes, ...tokens, ...ends].map((text) =>
    byteBits([...text].map((byte) => byte.charCodeAt(0))),
  );
  const firstEnd = symbols.length - ends.length;

  return {
    size: 2 ** width,
    other: "1".repeat(width),
    lookUp(value) {
      const text = rules[normalization](textOf(value));
      let input = byteBits(utf8(text));
      let [row] = lengths;
      let code = "";
      const tails = [];

      /**
       * The canonical code word of a symbol: words are ordered by length, then by symbol, and fill the numbers from 0 up.
       *
       * @param {number} symbol
       */
      const codeWord = (symbol) => {
        const own = row[symbol];
        let start = 0;
        [...row].forEach((digit, index) => {
          if (index < symbol ? digit <= own : digit < own) start += 2 ** (15 - parseInt(digit, 16));
        });
        return bits(start, 15).slice(0, parseInt(own, 16));
      };

      for (let symbol = 1; symbol && symbol < firstEnd; ) {
        symbol = input ? 1 : 0;
        symbols.forEach((text, index) => {
          // If two texts both begin the input, the longer one is the greater string.
          if (index < firstEnd ? input.startsWith(text) && text > symbols[symbol] : input === text) symbol = index;
        });
        // A tail: a 1, the number of bytes less 1 in six bits, and the bytes.
        if (input) tails.push(code + codeWord(1) + bits(input.length / 8 + 63, 7) + input);
        code += codeWord(symbol);
        if (symbol === 1) code += "0" + input.slice(0, 8);
        input = input.slice(symbols[symbol].length || 8);
        row = lengths[parseInt(after[symbol], 36)];
      }

      [code] = [code, ...tails].sort((a, b) => a.length - b.length); // the shortest; of several, the first
      check(text !== "(other)" && code.length <= width);
      return code.padEnd(width, "0");
    },
  };
};
