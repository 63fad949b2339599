// Why a job is pending: who holds what it needs, and the fixes, each with a button that tries it.
import { copyText } from "./clipboard.js";
import { h } from "./panel.js";

// Holders listed at once; the rest is counted.
const LISTED = 8;

/** The panel of a report; `apply(number)` tries a fix. */
export function fixPanel({ headline, holders, fixes, proved }, apply) {
  return h("div", { class: "wb-fix" },
    h("p", {}, h("strong", {}, headline)),
    holders.length ? h("div", {}, h("span", { class: "wb-quiet" }, "Who holds what it needs"),
      h("ul", {}, ...holders.slice(0, LISTED).map((text) => h("li", {}, text)),
        holders.length > LISTED ? h("li", {}, `and ${holders.length - LISTED} more`) : null)) : null,
    fixes.length ? h("ol", { "aria-label": "fixes" }, ...fixes.map((fix, number) => h("li", {}, fixLine(fix, () => apply(number)))))
      : h("p", {}, "No change that was tried helps."),
    fixes.length && !proved ? h("p", { class: "wb-quiet" }, "Not every smaller change could be tried.") : null);
}

function fixLine({ text, cannot, commands }, apply) {
  const lines = commands.join("\n");
  const shown = commands.length === 0 ? null : h("details", { open: Boolean(cannot) }, h("summary", {}, "kubectl"),
    h("pre", {}, lines), h("button", { onclick: () => copyText(lines) }, "Copy"));
  return [h("span", {}, text, " "),
    cannot ? h("span", { class: "wb-quiet" }, `(cannot be tried here: ${cannot})`)
      : h("button", { title: `try it here: ${text}`, "aria-label": `apply: ${text}`, onclick: apply }, "Apply"), shown];
}
