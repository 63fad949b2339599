// The matrix loader: a heat map drawn in Python, with k and the free GPUs to play with.
import { acceptFiles, drawn, h, openPanel } from "./panel.js";

function render(context) {
  const panel = openPanel(context, "matrix");
  const { root } = panel;
  let view = null;
  const slider = h("input", { type: "range", min: 1, max: 8, "aria-label": "number of GPUs k", oninput: choose });
  const kText = h("output", {});
  const toggles = h("span", { class: "wb-bar" });
  const result = h("p", { class: "wb-result" });
  const picture = h("div", {});
  const paste = h("textarea", { rows: 3, cols: 60, placeholder: "paste a printout here", "aria-label": "printout" });
  const files = acceptFiles(root, load);
  root.append(
    h("div", { class: "wb-bar" },
      h("button", { onclick: files.choose }, "Open file …"),
      paste,
      h("button", { onclick: () => load(paste.value, "pasted text") }, "Load text")),
    h("div", { class: "wb-bar" }, h("label", {}, "k ", slider), kText, toggles),
    panel.message, panel.busy, result, picture,
  );

  async function load(text, name) {
    show(await panel.attempt("load", { text, name, k: Number(slider.value) }));
  }
  async function choose() {
    const free = [...toggles.querySelectorAll("button")].flatMap((b, i) => (b.ariaPressed === "true" ? [i] : []));
    show(await panel.attempt("choose", { k: Number(slider.value), free: view ? free : undefined }));
  }
  function show(next) {
    if (!next || next.n === undefined) return;
    view = next;
    slider.max = view.n;
    slider.value = view.k;
    kText.textContent = String(view.k);
    toggles.replaceChildren(...view.labels.map((label, i) =>
      h("button", {
        "aria-pressed": String(view.free.includes(i)), title: `GPU ${i}: click when it is taken or free again`,
        onclick: (event) => {
          event.target.ariaPressed = event.target.ariaPressed === "true" ? "false" : "true";
          choose();
        },
      }, label)));
    const best = view.best;
    result.textContent = best.gpus.length
      ? `best set {${best.gpus.join(", ")}}, bottleneck ${best.bottleneck_gb_s ?? "none"} GB/s, ${best.optimal_sets} optimal`
      : `fewer than ${view.k} GPUs are free`;
    drawn(picture, view.heatmap);
  }

  panel.attempt("state").then((state) => {
    show(state);
    panel.ready();
  });
  return panel.close;
}

export default { render };
