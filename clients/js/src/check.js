/** Throw if a condition is false. @param {unknown} holds @returns {asserts holds} */
export function check(holds) {
  if (!holds) throw 0;
}
