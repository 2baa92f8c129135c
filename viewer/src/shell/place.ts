// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Where somebody was on the page: what had the focus, and how far things were scrolled. A page that is drawn anew for a
// trace that has grown gives it back.

const SCROLLED = [".page.scroll", ".rows", ".scroller"];
/** In ms: a view may have to be computed first. */
const GIVE_UP = 5000;

function named(label: string): HTMLElement | undefined {
  return [...document.querySelectorAll<HTMLElement>("[aria-label]")].find((one) => one.getAttribute("aria-label") === label);
}

/** Remembers the place; the function that it returns goes there as soon as it exists again. */
export function rememberPlace(): () => void {
  const was = document.activeElement;
  let label = was?.getAttribute("aria-label") ?? "";
  const range = was instanceof HTMLInputElement ? [was.selectionStart, was.selectionEnd] : [null, null];
  const scrolled = new Map(SCROLLED.map((what) => [what, document.querySelector(what)?.scrollTop ?? 0]));
  return () => {
    const end = performance.now() + GIVE_UP;
    const tryAgain = () => {
      for (const [what, top] of scrolled) {
        const box = document.querySelector(what);
        if (box === null || box.scrollHeight - box.clientHeight < top) continue;
        if (top > 0) box.scrollTop = top;
        scrolled.delete(what);
      }
      const found = label === "" ? undefined : named(label);
      if (found !== undefined && document.activeElement === document.body) {
        found.focus({ preventScroll: true });
        if (found instanceof HTMLInputElement && range[0] !== null) found.setSelectionRange(range[0], range[1]);
      }
      if (found !== undefined || document.activeElement !== document.body) label = "";
      const isDone = label === "" && [...scrolled.values()].every((top) => top === 0);
      if (!isDone && performance.now() < end) requestAnimationFrame(tryAgain);
    };
    requestAnimationFrame(tryAgain);
  };
}
