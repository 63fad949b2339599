// Drawings seen from afar: thousands of nodes of a few pixels, most of them alike.
//
// Cytoscape looks up some twenty styles of every node in every frame, its invisible label's too. From afar a node
// without a mark is a square of one colour; drawing just that makes a frame with 3,000 nodes several times as fast.

// Zoom below which symbols are at most 5.5 pixels wide: a power of two, because Cytoscape caches drawings by powers of
// the zoom.
const FAR = 0.25;
// Width of a node's symbol in the drawing's own units, as in the style sheet.
export const SYMBOL = 22;
export const WITH_GPUS = "#82a881";

// An element's data and place by Cytoscape's own record of them: its accessors build their answer in a general way, and
// a frame with 3,000 nodes would ask them 10,000 times.
const data = (element) => element._private.data;
export const position = (element) => element._private.position;

/** Whether a node is plain: nothing but its colour distinguishes it from its neighbours. */
function plain(element) {
  const { kind, cordoned, failed, finding } = data(element);
  return kind === "node" && !cordoned && !failed && !finding && !element.selected() && !element.active() && !element.hasClass("target");
}

/** Draw plain nodes as squares in the colours of `colours()` while they are small; all other nodes as usual. */
export function drawFarNodesPlainly(cy, colours) {
  const renderer = cy.renderer();
  const asBefore = renderer.drawCachedElement;
  renderer.drawCachedElement = function draw(pen, element, ratio, extent, ...more) {
    if (cy.zoom() > FAR || !plain(element)) return asBefore.call(this, pen, element, ratio, extent, ...more);
    const { x, y } = position(element);
    const half = SYMBOL / 2;
    if (extent && (x + half < extent.x1 || x - half > extent.x2 || y + half < extent.y1 || y - half > extent.y2)) return undefined;
    const { node, line } = colours();
    pen.fillStyle = data(element).gpus ? WITH_GPUS : node;
    pen.fillRect(x - half, y - half, SYMBOL, SYMBOL);
    pen.strokeStyle = line;
    pen.lineWidth = 1;
    pen.strokeRect(x - half, y - half, SYMBOL, SYMBOL);
    return undefined;
  };
}

/** Draw elements in the order in which they were added: no style of ours puts one above another, or hides one. */
export function drawInOrder(cy) {
  const renderer = cy.renderer();
  renderer.getCachedZSortedEles = function inOrder(anew) {
    if (anew || !this.cachedZSortedEles) {
      const elements = this.cy.mutableElements().toArray();
      this.cachedZSortedEles = Object.assign(elements, { interactive: elements });
      this.updateCachedGrabbedEles();
    }
    return this.cachedZSortedEles;
  };
}
