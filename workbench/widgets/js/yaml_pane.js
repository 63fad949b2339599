// HyperNode YAML beside the drawing: CodeMirror, with the line of an error marked.
import { yaml } from "@codemirror/lang-yaml";
import { HighlightStyle, syntaxHighlighting } from "@codemirror/language";
import { tags } from "@lezer/highlight";
import { lintGutter, setDiagnostics } from "@codemirror/lint";
import { EditorView, basicSetup } from "codemirror";
import { h } from "./panel.js";

const theme = EditorView.theme({
  "&": { height: "100%", fontSize: "12px", backgroundColor: "var(--wb-ground)", color: "var(--wb-ink)" },
  ".cm-gutters": { backgroundColor: "var(--wb-ground-2)", color: "var(--wb-ink-2)", border: "none" },
  ".cm-activeLine, .cm-activeLineGutter": { backgroundColor: "color-mix(in srgb, var(--wb-accent) 10%, transparent)" },
  ".cm-cursor": { borderLeftColor: "var(--wb-ink)" },
  "&.cm-focused .cm-selectionBackground, .cm-selectionBackground": {
    backgroundColor: "color-mix(in srgb, var(--wb-accent) 30%, transparent) !important" },
});

// JupyterLab's own colours, readable in its light and its dark theme.
const colours = HighlightStyle.define([
  { tag: tags.comment, color: "var(--jp-mirror-editor-comment-color, #557777)", fontStyle: "italic" },
  { tag: [tags.propertyName, tags.definition(tags.propertyName)], color: "var(--jp-mirror-editor-property-color, #0055aa)" },
  { tag: [tags.string, tags.content], color: "var(--wb-ink)" },
  { tag: [tags.number, tags.bool], color: "var(--jp-mirror-editor-number-color, #008800)" },
  { tag: [tags.punctuation, tags.separator, tags.meta], color: "var(--wb-ink-2)" },
]);

/**
 * An editor for YAML.
 *
 * `changed(text)` is called 400 ms after the last key; `set(text)` replaces the text unless it is equal;
 * `mark(line, message)` shows an error, line 0 removes it. An error never changes the text.
 * `flush()` calls a pending `changed` at once. `explain(why)` shows a reason instead of the editor; an empty reason
 * brings the editor back.
 */
export function yamlPane(element, changed) {
  let timer = 0;
  let ours = false;
  const view = new EditorView({
    parent: element,
    extensions: [
      basicSetup, yaml(), syntaxHighlighting(colours), lintGutter(), theme,
      EditorView.updateListener.of((update) => {
        if (!update.docChanged || ours) return;
        clearTimeout(timer);
        timer = setTimeout(flush, 400);
      }),
    ],
  });
  async function flush() {
    if (timer === 0) return;
    clearTimeout(timer);
    timer = 0;
    await changed(view.state.doc.toString());
  }
  const reason = h("p", { class: "wb-quiet wb-no-text", hidden: true });
  element.append(reason);
  return {
    view,
    flush,
    text: () => view.state.doc.toString(),
    set(text) {
      if (text === view.state.doc.toString()) return;
      ours = true;
      view.dispatch({ changes: { from: 0, to: view.state.doc.length, insert: text } });
      ours = false;
    },
    mark(line, message) {
      const diagnostics = [];
      if (line > 0) {
        const at = view.state.doc.line(Math.min(line, view.state.doc.lines));
        diagnostics.push({ from: at.from, to: at.to, severity: "error", message });
      }
      view.dispatch(setDiagnostics(view.state, diagnostics));
    },
    explain(why) {
      reason.textContent = why;
      reason.hidden = why === "";
      view.dom.hidden = why !== "";
      if (why === "") view.requestMeasure();
    },
    destroy() {
      clearTimeout(timer);
      reason.remove();
      view.destroy();
    },
  };
}
