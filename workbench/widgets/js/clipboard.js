// Copy, cut and paste by the system's clipboard, so that the most recent copy wins, wherever it was made.

/** Copy a text; false where the page may not, as without a secure connection. */
export async function copyText(text) {
  return await navigator.clipboard?.writeText(text).then(() => true, () => false) ?? false;
}

// Type of a clipboard entry beside the text: a mark by which the kernel knows what was copied.
const MARK = "application/x-topology-workbench";

/**
 * Handle copy, cut and paste of an element while it has the focus.
 *
 * `copy(mark, cut)` returns the text for other programs, or null if nothing is selected; the clipboard then stays.
 * `paste(mark)` is called where such a copy is on the clipboard, `pasteText(text)` where any other text is.
 */
export function listenToClipboard(element, { copy, paste, pasteText }) {
  // Safari first asks, by these events, whether copying or pasting is possible.
  for (const kind of ["beforecopy", "beforecut", "beforepaste"]) element.addEventListener(kind, (event) => event.preventDefault());
  for (const kind of ["copy", "cut"]) {
    element.addEventListener(kind, (event) => {
      const mark = `${Date.now()}-${Math.floor(Math.random() * 2 ** 50)}`;
      const text = copy(mark, kind === "cut");
      if (text === null) return;
      event.clipboardData.setData("text/plain", text);
      event.clipboardData.setData(MARK, mark);
      event.preventDefault();
    });
  }
  element.addEventListener("paste", (event) => {
    const mark = event.clipboardData.getData(MARK);
    const text = event.clipboardData.getData("text/plain");
    event.preventDefault();
    if (mark) paste(mark);
    else if (text.trim()) pasteText(text);
  });
}
