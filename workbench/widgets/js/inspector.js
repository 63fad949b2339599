// The form beside the drawing, with the fields of the selected items.
import { compareNames } from "./items.js";
import { h } from "./panel.js";

const FIELDS = {
  switch: [["tier", "tier", "number"], ["tier_name", "tier name", "text"], ["link_gbit_s", "link, Gbit/s", "number"],
    ["failed", "failed", "checkbox"], ["link_failed", "link failed", "checkbox"]],
  node: [["gpus", "GPUs", "number"], ["link_gbit_s", "link, Gbit/s", "number"], ["cordoned", "cordoned", "checkbox"],
    ["failed", "failed", "checkbox"], ["link_failed", "link failed", "checkbox"]],
};

/** Labels as a person writes them: `key=value`, one per line. */
export function labelsText(labels = {}) {
  return Object.entries(labels).map(([key, value]) => `${key}=${value}`).join("\n");
}

/** Parse labels written one per line; empty lines are ignored. */
export function readLabels(text) {
  const lines = text.split("\n").map((line) => line.trim()).filter((line) => line !== "");
  return Object.fromEntries(lines.map((line) => [line.split("=")[0].trim(), line.includes("=") ? line.slice(line.indexOf("=") + 1).trim() : ""]));
}

/** Show the fields of some items; `edit(op)` is called with each change, and resolves with undefined if it is refused. */
export function inspect(element, selected, edit) {
  const ids = selected.map((item) => item.id);
  if (selected.length === 0) {
    element.replaceChildren(h("p", { class: "wb-quiet" }, "Nothing is selected. Click an item; drag with Shift to select several."));
    return;
  }
  const kinds = [...new Set(selected.map((item) => item.kind))];
  const rows = [];
  const one = selected.length === 1;
  const name = h("input", { "aria-label": "name", placeholder: one ? "" : "gpu-",
    title: one ? "" : "all are numbered: gpu- makes gpu-0, gpu-1 …" });
  onEdit(name, one ? selected[0].name : "", async () => {
    if (!one && name.value === "") return undefined;
    // Several items get the text followed by numbers, in the order of their names.
    const inOrder = one ? ids : [...selected].sort((a, b) => compareNames(a.name, b.name)).map((item) => item.id);
    return edit({ op: "rename", ids: inOrder, name: name.value });
  });
  rows.push(row("name", name));
  const shared = kinds.length === 1 ? FIELDS[kinds[0]] : FIELDS.switch.filter(([field]) => FIELDS.node.some(([f]) => f === field));
  for (const [field, label, type] of shared) {
    const values = new Set(selected.map((item) => item[field] ?? (type === "checkbox" ? false : type === "number" ? 0 : "")));
    const same = values.size === 1 ? [...values][0] : undefined;
    const input = h("input", { type, "aria-label": label, min: 0, step: "any", placeholder: same === undefined ? "various" : "" });
    onEdit(input, same, () => {
      const value = type === "checkbox" ? input.checked : type === "number" ? Number(input.value) : input.value;
      return edit({ op: "set", ids, fields: { [field]: value } });
    });
    rows.push(row(label, input));
  }
  const labels = h("textarea", { rows: 3, "aria-label": "labels", placeholder: "key=value" });
  const texts = new Set(selected.map((item) => labelsText(item.labels)));
  if (texts.size > 1) labels.placeholder = "various";
  onEdit(labels, texts.size === 1 ? [...texts][0] : undefined, () => edit({ op: "set", ids, fields: { labels: readLabels(labels.value) } }));
  rows.push(row("labels", labels));
  const what = one ? selected[0].kind : `${selected.length} ${kinds.length === 1 ? `${kinds[0]}${kinds[0] === "switch" ? "es" : "s"}` : "items"}`;
  element.replaceChildren(h("h4", {}, what), ...rows);
}

/** Show a value in a field (undefined if the items differ), and restore it if an entered value is refused. */
function onEdit(input, value, send) {
  const show = () => {
    if (input.type === "checkbox") {
      input.checked = value === true;
      input.indeterminate = value === undefined;
    } else input.value = value ?? "";
  };
  show();
  input.addEventListener("change", async () => (await send()) === undefined && show());
}

function row(label, input) {
  return h("label", { class: "wb-row" }, h("span", {}, label), input);
}
