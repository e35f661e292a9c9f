import { lengthOf } from "./mechanism.js";
import { bucket, jl } from "./onebit.js";
import { oneRow } from "./onerow.js";
import { otherPath } from "./otherpath.js";
import { subset } from "./subset.js";
import { textPath } from "./textpath.js";
import { treeWith } from "./tree.js";

const manyRows = treeWith(
  (seed, item, fingerprint, domain) =>
    fingerprint ? textPath(seed, item, fingerprint) : otherPath(seed, item.padStart(lengthOf(domain), "0")),
  0,
);

/**
 * All mechanisms that devices run; the self-starting script has only `subset`, and `tree` for coded text.
 *
 * @type {Record<string, import("./mechanism.js").Mechanism>}
 */
export const mechanisms = {
  tree: (parameters, ...rest) => (parameters.ends.length > 1 ? manyRows : oneRow)(parameters, ...rest),
  subset,
  jl,
  bucket,
};
