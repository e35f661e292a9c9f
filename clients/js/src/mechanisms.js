import { lengthOf } from "./mechanism.js";
import { bucket, jl } from "./onebit.js";
import { otherPath } from "./otherpath.js";
import { subset } from "./subset.js";
import { textPath } from "./textpath.js";
import { treeWith } from "./tree.js";

/**
 * All mechanisms that devices run; the self-starting script has `subset`, and `tree` for coded text, only.
 *
 * @type {Record<string, import("./mechanism.js").Mechanism>}
 */
export const mechanisms = {
  tree: treeWith((seed, item, fingerprint, domain) =>
    fingerprint ? textPath(seed, item, fingerprint) : otherPath(seed, item.padStart(lengthOf(domain), "0")),
  ),
  subset,
  jl,
  bucket,
};
