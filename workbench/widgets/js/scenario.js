// The bar of a workbench: tabs of its parts, the result in one line, and saving and opening of all of it.
import { benchTabs } from "./bench.js";
import { acceptFiles, download, h, initialize, loadingLine, openPanel } from "./panel.js";

function render(context) {
  const panel = openPanel(context, "scenario");
  const { root, attempt, say } = panel;
  const loading = loadingLine(panel, ({ name }) => say(`${name} is shown`, "note"));
  const files = acceptFiles(root, (text, name) => loading.send("open", { text, name }));
  const contexts = h("select", { "aria-label": "context" });
  const cluster = h("span", { class: "wb-bar", hidden: true }, contexts,
    h("button", { onclick: () => readCluster(false), title: "nodes, pods and jobs as they are now; nothing is written" }, "Read"),
    h("button", { onclick: () => readCluster(true), title: "read it, and follow what changes; nothing is written" }, "Follow"));
  const tabs = benchTabs(root);
  const result = h("output", { class: "wb-result-line", "aria-label": "result" });
  root.append(
    h("div", { class: "wb-bar" }, tabs.element, result,
      h("button", { onclick: save, title: "drawing, jobs and policies in one file" }, "Save scenario"),
      h("button", { onclick: files.choose, title: "a saved scenario, or manifests of a cluster and its jobs; or drop a file onto this bar" }, "Open …"),
      h("button", { onclick: chooseCluster, title: "read a live cluster of your kubeconfig" }, "Cluster …"), cluster),
    loading.element, panel.message, panel.busy);

  async function save() {
    const file = await attempt("save");
    if (file !== undefined) download(file.name, file.text, "application/json");
  }

  async function chooseCluster() {
    const found = await attempt("contexts");
    if (found === undefined) return;
    contexts.replaceChildren(...found.contexts.map((name) => h("option", { value: name }, name)));
    contexts.value = found.current;
    cluster.hidden = false;
    contexts.focus();
  }

  function readCluster(follow) {
    cluster.hidden = true;
    loading.send("cluster", { text: "", name: contexts.value, follow });
  }

  const showResult = ({ line }) => {
    result.textContent = line;
    result.title = line;
  };
  panel.on("result", (state) => {
    showResult(state);
    if (state.line) panel.forgive();
  });
  attempt("state").then((state) => {
    if (state !== undefined) {
      showResult(state);
      loading.resume(state);
    }
    panel.ready();
  });
  return () => {
    tabs.close();
    panel.close();
  };
}

export default { initialize, render };
