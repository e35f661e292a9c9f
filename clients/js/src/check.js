/** Stop here, unless something holds. @param {unknown} holds @returns {asserts holds} */
export function check(holds) {
  if (!holds) throw 0;
}
