/** Each button after a text copies it; where copying is not allowed, it selects the text. */
export function copyButtons() {
  for (const button of document.querySelectorAll("[data-copy]")) {
    button.addEventListener("click", async () => {
      const text = button.previousElementSibling?.textContent ?? "";
      await navigator.clipboard?.writeText(text).then(
        () => (button.textContent = "Copied"),
        () => getSelection()?.selectAllChildren(/** @type {Node} */ (button.previousElementSibling)),
      );
      setTimeout(() => (button.textContent = "Copy"), 2000);
    });
  }
}
