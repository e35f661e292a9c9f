import { fromBits } from "./bits.js";
import { bucket, jl } from "./onebit.js";
import { independentMasks } from "./onerow.js";
import { subset } from "./subset.js";
import { treeWith } from "./tree.js";

/**
 * All mechanisms that devices run; the self-starting script has only `subset`, and `tree` for coded text.
 *
 * @type {Record<string, import("./mechanism.js").Mechanism>}
 */
export const mechanisms = {
  tree: treeWith(1, (many, first, length, ends) => (ends.length > 1 ? many : independentMasks(first, length))),
  subset: (parameters, domain, hash) => {
    const { odds, respond } = subset(parameters, domain, hash);
    return { odds, respond: (item, ...rest) => respond(/** @type {any} */ (fromBits(item)), ...rest) };
  },
  jl,
  bucket,
};
