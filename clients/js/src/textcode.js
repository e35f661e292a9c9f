import { bits, byteBits } from "./bits.js";
import { check, checkText, checkWhole } from "./check.js";
import { RULES, normal } from "./rules.js";
import { textOf, utf8 } from "./text.js";

/**
 * The table of a text code (docs/text-codes.md).
 *
 * @typedef {{ bytes: string, tokens: string[], ends: string[], class: string, lengths: string[] }} Table
 */

/** Coded text. It has too many items for `size` to be needed. @type {(data: any) => any} */
export const coded_text = ({ code, normalization, width }) => {
  /** @type {Table} */
  const { bytes, tokens, ends, class: after, lengths } = code;
  checkWhole(width, 16, 512);
  const rules = checkWhole(RULES.indexOf(normalization), 0, 3);
  checkText(bytes);
  check([tokens, ends].every(Array.isArray) && JSON.stringify(code).length <= 8192);
  const symbols = ["", "", ...bytes, ...tokens, ...ends].map((text, symbol) => {
    checkWhole(parseInt(after[symbol], 36), 0, lengths.length - 1);
    return byteBits([...checkText(text, /^[\0-\xff]*$/)].map((byte) => byte.charCodeAt(0)));
  });
  const firstEnd = symbols.length - ends.length;
  const rows = lengths.map((row) => {
    return [...checkText(row, RegExp(`^[1-9a-f]{${symbols.length}}$`))].map((digit) => parseInt(digit, 16));
  });

  return {
    fallback: "1".repeat(width),
    lookUp(/** @type {any} */ value) {
      const text = normal(rules, textOf(value));
      let input = byteBits(utf8(text));
      check(input.length <= 512); // the rules cut a text after 64 bytes, but not a host
      let [row] = rows;
      let code = "";
      const codes = [];

      /**
       * The canonical code word of a symbol: words are ordered by length, then by symbol, and fill the numbers from 0 up.
       *
       * @param {number} symbol
       */
      const codeWord = (symbol) => {
        const own = row[symbol];
        let start = 0;
        row.map((length, index) => {
          start += /** @type {any} */ (length < own + /** @type {any} */ (index < symbol)) << (15 - length);
        });
        return bits(start, 15).slice(0, own);
      };

      // A text of 64 bytes has at most 64 symbols and an end. The steps after the end give longer codes, which lose: they are
      // there so that the time does not depend on the text.
      for (let step = 65; step--; ) {
        let symbol = input ? 1 : 0;
        symbols.map((text, index) => {
          // If two texts both begin the input, the longer one is the greater string.
          if (index < firstEnd ? input.startsWith(text) && text > symbols[symbol] : input === text) symbol = index;
        });
        // A tail: a 1, the number of bytes less 1 in six bits, and the bytes.
        const tail = code + codeWord(1) + bits(input.length / 8 + 63, 7) + input;
        if (input) codes.push(tail);
        code += codeWord(symbol) + (symbol === 1 ? "0" + input.slice(0, 8) : "");
        if (!symbol || symbol >= firstEnd) codes.unshift(code);
        input = input.slice(symbols[symbol].length || 8);
        row = rows[parseInt(after[symbol], 36)];
      }

      [code] = codes.sort((a, b) => a.length - b.length); // the shortest; of several, that of symbols alone
      check(text !== "(other)" && code.length <= width);
      return code.padEnd(width, "0");
    },
  };
};
