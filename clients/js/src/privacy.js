const TOP = 1n << 64n;

/**
 * The largest and the smallest chance of an answer over all items, in the same unit, from the thresholds of a survey.
 *
 * @param {any} data a survey
 * @param {number} size values of its domain, for `subset`
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
 * Whether a survey executes no more than it states. Exact: everything is whole numbers, and e^epsilon is rounded down,
 * by less than a part in 2^200.
 *
 * @param {any} data a survey whose fields are of the right types
 * @param {number} size values of its domain, for `subset`
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
