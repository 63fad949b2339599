// Copy, cut and paste by the system's clipboard, so that the most recent copy wins, wherever it was made.

// Beside the text, for pages of ours: by this mark the kernel knows what was copied.
const MARK = "application/x-topology-workbench";

/**
 * Let an element be copied from and pasted into while it has the focus.
 *
 * `copy(mark, cut)` gives the text that other programs get; null: nothing is selected, and the clipboard stays as it is.
 * `paste(mark)` is called where such a copy is on the clipboard, `pasteText(text)` where any other text is.
 */
export function listenToClipboard(element, { copy, paste, pasteText }) {
  // Safari asks first whether there is anything to copy, or any place to paste.
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
