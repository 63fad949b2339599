// A picture of a topology: drawn once, then updated by changing only the elements that differ.
//
// Thousands of squares are read, styled and laid out anew when their markup is replaced; after an edit of the cluster
// most of them are what they were, or stand elsewhere. What a picture holds after a patch equals what it would hold had
// it been drawn afresh.

// The groups of a drawing in their order, as workbench/report/topology_svg.py calls them.
const GROUPS = ["tw-blocks", "tw-labels", "tw-levels", "tw-nodes"];
// What the elements of each group stand for; the first group of a kind has the element of its extent.
const KINDS = ["hypernode", "hypernode", "hypernode", "square"];

/** Elements of a fragment of SVG, not yet part of any page. */
function read(markup) {
  const template = document.createElement("template");
  template.innerHTML = markup;
  return template.content;
}

const kinds = (element) => [...element.children].map((child) => child.nodeName).join();

/** Expand the groups of a drawing, where runs [first position, number] refer to elements of the previous groups. */
export function grown(before, groups) {
  return groups.map((group, i) => group.flatMap((part) => (typeof part[0] === "number" ? before[i].slice(part[0], part[0] + part[1]) : [part])));
}

export class Picture {
  constructor(element) {
    this.element = element;
    this.groups = [];
  }

  /**
   * Show a drawing: `frame`, the texts around the groups, `groups`, lists of [name, markup of one element], and `places`
   * of the elements of the last group, "x y".
   */
  draw({ frame, groups, places }) {
    this.update(frame, groups);
    this.groups[groups.length - 1].forEach((one, i) => put(one, places[i]));
  }

  update(frame, groups) {
    const svg = this.element.firstElementChild;
    const around = read(frame.join("")).firstElementChild;
    if (svg === null || kinds(svg) !== kinds(around)) {
      this.element.innerHTML = frame.map((text, i) => text + (groups[i] ?? []).map(([, markup]) => markup).join("")).join("");
      this.groups = groups.map((group, i) => {
        const { children } = this.container(i);
        return group.map(([name, markup], j) => ({ name, markup, element: children[j] }));
      });
      return;
    }
    const containers = new Set(groups.map((_, i) => this.container(i)));
    become(svg, around, (element) => containers.has(element));
    this.groups = groups.map((group, i) => regroup(this.container(i), this.groups[i], group));
  }

  /** The place that an element of the picture belongs to: {kind, name, element}; null outside. */
  placeOf(target) {
    for (let at = target; at !== null && at !== this.element; at = at.parentElement) {
      const group = GROUPS.indexOf(at.parentElement?.getAttribute("class"));
      if (group < 0) continue;
      const { name } = this.groups[group].find((one) => one.element === at);
      return this.find(KINDS[group], name);
    }
    return null;
  }

  /** A place by kind and name; null if the picture has none. */
  find(kind, name) {
    const found = this.groups[KINDS.indexOf(kind)]?.find((one) => one.name === name);
    return found === undefined ? null : { kind, name, element: found.element };
  }

  container(i) {
    return this.element.querySelector(`.${GROUPS[i]}`);
  }
}

/**
 * Put an element, as it stands in its markup or as this function has put it before, at a place "x y".
 *
 * Each part of it gets coordinates of its own: a transform per square would make every square a layer of its own to the
 * browser, which goes through all layers at each frame.
 */
function put(one, place) {
  if (one.place === place) return;
  const at = place.split(" ").map(Number);
  one.parts ??= [...one.element.children].map((part) => ["x", "y"].map((axis) => Number(part.getAttribute(axis) ?? 0)));
  one.parts.forEach((from, i) => ["x", "y"].forEach((axis, k) => {
    const to = String(from[k] + at[k]);
    const part = one.element.children[i];
    if (part.getAttribute(axis) !== to) part.setAttribute(axis, to);
  }));
  one.place = place;
}

/** Update the elements of one group, each known by name and markup, to a list of [name, markup]. */
function regroup(container, before, wanted) {
  const byName = new Map();
  for (const one of before) {
    if (byName.has(one.name)) byName.get(one.name).push(one);
    else byName.set(one.name, [one]);
  }
  const changed = [];
  const after = wanted.map(([name, markup]) => {
    const old = byName.get(name)?.shift();
    if (old?.markup === markup) return old;
    const one = { name, markup, element: old?.element };
    changed.push(one);
    return one;
  });
  const fresh = [...read(`<svg>${changed.map((one) => one.markup).join("")}</svg>`).firstElementChild.children];
  changed.forEach((one, i) => {
    if (one.element === undefined) one.element = fresh[i];
    else become(one.element, fresh[i]);
  });
  for (const gone of byName.values()) for (const { element } of gone) element.remove();
  let at = container.firstChild;
  for (const { element } of after) {
    if (element === at) at = at.nextSibling;
    else container.insertBefore(element, at);
  }
  return after;
}

/** Make an element equal to another of the same tag; children of the elements named in `closed` are left alone. */
function become(element, wanted, closed = () => false) {
  for (const { name, value } of wanted.attributes) if (element.getAttribute(name) !== value) element.setAttribute(name, value);
  if (element.attributes.length > wanted.attributes.length) {
    for (const { name } of [...element.attributes]) if (!wanted.hasAttribute(name)) element.removeAttribute(name);
  }
  if (closed(element)) return;
  const has = element.childNodes;
  const wants = wanted.childNodes;
  if (has.length !== wants.length || [...wants].some((child, i) => child.nodeName !== has[i].nodeName)) {
    element.replaceChildren(...wants);
    return;
  }
  for (let i = 0; i < wants.length; i++) {
    if (wants[i].nodeType === Node.ELEMENT_NODE) become(has[i], wants[i], closed);
    else if (has[i].data !== wants[i].data) has[i].data = wants[i].data;
  }
}
