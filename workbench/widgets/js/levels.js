// How full nodes and switches are: a bar in each symbol, its dark part for the GPUs that are in use, as the pictures of
// placements have it (workbench/report/fill_levels.py).

// Height of a bar, and its distance from the edges of the symbol, in the drawing's own units.
const HEIGHT = 4;
const MARGIN = 2;
// As LEVEL_FREE and LEVEL_USED of fill_levels.py; free is lighter than a symbol, not the ground.
const FREE = 0.2;
const USED = 0.8;

/** Draw the bar of every element whose data have GPUs in use (`used` of `of`), over the element. */
export function drawLevels(cy, colours) {
  const renderer = cy.renderer();
  const asBefore = renderer.drawCachedElement;
  renderer.drawCachedElement = function draw(pen, element, ...more) {
    const drawn = asBefore.call(this, pen, element, ...more);
    const { used, of } = element._private.data;
    if (!used) return drawn;
    const { x, y } = element._private.position;
    const width = element.width() - 2 * MARGIN;
    const left = x - width / 2;
    const top = y + element.height() / 2 - MARGIN - HEIGHT;
    const { ink, ground } = colours();
    const alpha = pen.globalAlpha;
    pen.fillStyle = ground;
    pen.fillRect(left, top, width, HEIGHT);
    pen.fillStyle = ink;
    pen.globalAlpha = FREE;
    pen.fillRect(left, top, width, HEIGHT);
    pen.globalAlpha = USED;
    pen.fillRect(left, top, Math.max((used / of) * width, 1), HEIGHT);
    pen.globalAlpha = alpha;
    return drawn;
  };
}
