// What is drawn of a page: the places where it fails to be seen, in words.
(printed) => {
  const found = [];
  const name = (element) => {
    const words = (element.textContent || "").trim().replace(/\s+/g, " ").slice(0, 50);
    const kind = element.getAttribute("class");
    return `<${element.tagName.toLowerCase()}${kind ? ` class="${kind}"` : ""}> "${words}"`;
  };
  const seen = (element) => element.checkVisibility({ visibilityProperty: true, opacityProperty: true });
  const scrolls = (element) => /auto|scroll/.test(getComputedStyle(element).overflowX);
  const clips = (element) => /hidden|clip/.test(getComputedStyle(element).overflowX);
  const hiddenFromEyes = (element) => element.closest("[data-unseen], .unseen, thead.unseen") !== null ||
    (() => { for (let e = element; e; e = e.parentElement) if (/inset\(50%\)/.test(getComputedStyle(e).clipPath)) return true; return false; })();

  const width = document.documentElement.clientWidth;
  if (document.documentElement.scrollWidth > width) {
    found.push(`page: ${document.documentElement.scrollWidth} px wide in ${width}`);
  }
  for (const element of document.body.querySelectorAll("*")) {
    if (!seen(element) || hiddenFromEyes(element)) continue;
    const inner = element.namespaceURI.endsWith("svg") && element.tagName !== "svg";
    const box = element.getBoundingClientRect();
    let scroller = inner ? element.ownerSVGElement : element.parentElement;
    while (scroller && !scrolls(scroller) && !clips(scroller)) scroller = scroller.parentElement;
    if (!scroller && !inner && box.width && (box.right > width + 1 || box.left < -1)) {
      found.push(`wide: ${name(element)} from ${Math.round(box.left)} to ${Math.round(box.right)} in ${width}`);
    }
    const cuts = clips(element) || (printed && scrolls(element));
    if (!inner && cuts && element.scrollWidth > element.clientWidth + 1 && element.textContent.trim()) {
      found.push(`cut: ${name(element)} ${element.scrollWidth} px in ${element.clientWidth}`);
    }
    if (inner && element.tagName === "text") {
      const frame = element.ownerSVGElement.getBoundingClientRect();
      if (box.left < frame.left - 1 || box.right > frame.right + 1 || box.bottom > frame.bottom + 1 || box.top < frame.top - 1) {
        found.push(`cut: ${name(element)} leaves its drawing`);
      }
    }
  }

  // Text boxes, shrunk to where letters are: the height of a line box is that of the font, not of its letters.
  const boxes = [];
  const walk = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
  while (walk.nextNode()) {
    const node = walk.currentNode, parent = node.parentElement;
    if (!node.data.trim() || !seen(parent) || hiddenFromEyes(parent) || parent.closest("title, desc, style, script")) continue;
    let range = document.createRange();
    range.selectNodeContents(node);
    for (const box of range.getClientRects()) {
      if (box.width < 1 || box.height < 1) continue;
      const rim = box.height * 0.22;
      boxes.push({ node, left: box.left + 1, right: box.right - 1, top: box.top + rim, bottom: box.bottom - rim });
    }
  }
  boxes.sort((a, b) => a.top - b.top);
  for (let i = 0; i < boxes.length; i++) {
    for (let j = i + 1; j < boxes.length && boxes[j].top < boxes[i].bottom; j++) {
      const a = boxes[i], b = boxes[j];
      if (a.node === b.node) continue;
      const across = Math.min(a.right, b.right) - Math.max(a.left, b.left);
      const down = Math.min(a.bottom, b.bottom) - Math.max(a.top, b.top);
      if (across > 1 && down > 1) {
        found.push(`overlap: "${a.node.data.trim().slice(0, 40)}" and "${b.node.data.trim().slice(0, 40)}"`);
      }
    }
  }
  return found;
}
