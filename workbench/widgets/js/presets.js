// Presets of fabrics: choose one, see what it would make, draw it in one step.
import { h } from "./panel.js";

/**
 * Make the form; `ask(body)` resolves with `{line}` or rejects with an Error, `draw(body)` draws the preset.
 * `offer(presets)` fills the form.
 */
export function presetForm(ask, draw) {
  let presets = [];
  let asked = 0;
  let waiting = 0;
  const choice = h("select", { "aria-label": "preset", onchange: choose });
  const meaning = h("span", { class: "wb-quiet" });
  const fields = h("span", { class: "wb-preset-fields" });
  const line = h("output", { "aria-label": "what the preset makes" });
  const button = h("button", { onclick: () => draw(body()), title: "in one step; Ctrl+Z takes it back" }, "Draw");
  const element = h("div", { class: "wb-preset wb-bar", role: "group", "aria-label": "presets", hidden: true }, choice, fields, button, line, meaning);

  const body = () => ({ kind: choice.value,
    parameters: Object.fromEntries([...fields.querySelectorAll("input")].map((field) => [field.name, field.value.trim()])) });

  function choose() {
    const chosen = presets.find(({ name }) => name === choice.value);
    meaning.textContent = chosen.meaning;
    fields.replaceChildren(...chosen.parameters.map(({ name, default: typed, meaning: what }) => h("label", { title: what }, `${name.replaceAll("_", " ")} `,
      h("input", { name, value: typed, size: Math.max(4, typed.length + 1), oninput: () => {
        clearTimeout(waiting);
        waiting = setTimeout(preview, 200);
      } }), " ")));
    preview();
  }

  async function preview() {
    const mine = ++asked;
    const answer = await ask(body()).catch((error) => error);
    if (mine !== asked) return;
    const wrong = answer instanceof Error;
    line.textContent = wrong ? answer.message : answer.line;
    line.classList.toggle("wb-error", wrong);
    button.disabled = wrong;
  }

  return {
    element,
    offer(given) {
      presets = given;
      choice.replaceChildren(...presets.map(({ name }) => h("option", { value: name }, name)));
    },
    /** Show or hide the form; returns whether it is shown. */
    toggle() {
      element.hidden = !element.hidden;
      if (!element.hidden) choose();
      return !element.hidden;
    },
  };
}
