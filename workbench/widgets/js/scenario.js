// Save and open a scenario: drawing, jobs and policies in one file.
import { acceptFiles, download, h, openPanel } from "./panel.js";

function render(context) {
  const panel = openPanel(context, "scenario");
  const { root, attempt, say } = panel;
  const files = acceptFiles(root, async (text, name) => {
    if ((await attempt("open", { text, name })) !== undefined) say(`${name} is shown`, "note");
  });
  root.append(
    h("div", { class: "wb-bar" },
      h("button", { onclick: save, title: "drawing, jobs and policies in one file" }, "Save scenario"),
      h("button", { onclick: files.choose, title: "a saved scenario, or manifests of a cluster and its jobs" }, "Open …"),
      h("span", { class: "wb-quiet" }, "or drop a file here")),
    panel.message, panel.busy);

  async function save() {
    const file = await attempt("save");
    if (file !== undefined) download(file.name, file.text, "application/json");
  }

  panel.ready();
  return panel.close;
}

export default { render };
