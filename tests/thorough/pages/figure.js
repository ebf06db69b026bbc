// What is drawn over the words of a figure: the places where a line, an edge of a box or other words cross them, in words.
() => {
  const found = [];
  const svg = document.querySelector("svg");
  const frame = svg.getBoundingClientRect();
  const texts = [...svg.querySelectorAll("text")].filter((text) => text.textContent.trim()).map((text) => {
    const box = text.getBoundingClientRect();
    const rim = box.height * 0.25;  // the height of a line box is that of the font, not of its letters
    return { words: text.textContent, left: box.left - 1, right: box.right + 1, top: box.top + rim, bottom: box.bottom - rim };
  }).filter((text) => text.bottom > frame.top && text.top < frame.bottom);  // the rest is not part of what is seen
  const holds = (text, x, y) => x > text.left && x < text.right && y > text.top && y < text.bottom;
  for (const text of texts) {
    if (text.left < frame.left + 4 || text.right > frame.right - 4) found.push(`edge: "${text.words}"`);
  }
  for (const shape of svg.querySelectorAll("path, polyline, line, polygon, rect:not(.page)")) {
    if (shape.closest("defs, marker, clipPath") || shape.getAttribute("stroke-width") === "0") continue;
    if (getComputedStyle(shape).stroke === "none" && shape.tagName !== "polygon") continue;  // a tint
    const length = shape.getTotalLength(), matrix = shape.getScreenCTM(), crossed = new Set();
    for (let at = 0; at <= length; at += 1.5) {
      const point = shape.getPointAtLength(at).matrixTransform(matrix);
      for (const text of texts) if (holds(text, point.x, point.y)) crossed.add(text.words);
    }
    for (const words of crossed) found.push(`crossed: "${words}" by a ${shape.tagName} of class ${shape.getAttribute("class")}`);
  }
  texts.sort((a, b) => a.top - b.top);
  texts.forEach((a, i) => texts.slice(i + 1).forEach((b) => {
    const across = Math.min(a.right, b.right) - Math.max(a.left, b.left), down = Math.min(a.bottom, b.bottom) - Math.max(a.top, b.top);
    if (across > 1 && down > 1) found.push(`overlap: "${a.words}" and "${b.words}"`);
  }));
  return found;
}
