import { utf8 } from "./text.js";

/** CRC-32 of the UTF-8 of a text, as in zlib. @param {string} text @returns {number} from 0 to 2^32 - 1 */
export const crc32 = (text) => {
  let crc = -1;
  for (const byte of utf8(text)) {
    crc ^= byte;
    for (let bit = 8; bit--; ) crc = (crc >>> 1) ^ ((crc & 1) * 0xedb88320);
  }
  return ~crc >>> 0;
};
