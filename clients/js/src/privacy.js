const TOP = 1n << 64n;

/**
 * The largest and the smallest chance of a response over all items, in the same unit, from the thresholds of a survey.
 *
 * @param {any} data a survey
 * @param {number} size the number of values of its domain, for `subset`
 */
function chances({ mechanism, parameters }, size) {
  const told = BigInt(parameters.keep_threshold ?? parameters.truth_threshold);
  const lied = TOP - told;
  if (mechanism === "tree") return { most: lied + (told << BigInt(parameters.masks)), least: lied };
  if (mechanism !== "subset") return { most: told, least: lied };
  const least = lied * (TOP / BigInt(size));
  return { most: least + told * ((TOP - 1n) / BigInt(parameters.window) + 1n), least };
}

/**
 * Whether a survey's thresholds cost at most the epsilon that it states. The check is exact: it uses only whole numbers,
 * and rounds e^epsilon down by less than one part in 2^200.
 *
 * @param {any} data a survey whose fields are of the right types
 * @param {number} size the number of values of its domain, for `subset`
 */
export function isPrivate(data, size) {
  const { most, least } = chances(data, size);
  const [whole, fraction = ""] = data.epsilon.split(".");
  let term = 1n << 256n;
  let sum = 0n;
  for (let count = 1n; term; count++) {
    sum += term;
    term = (term * BigInt(whole + fraction)) / (10n ** BigInt(fraction.length) * count);
  }
  return least > 0 && most << 256n <= sum * least;
}
