// SPDX-License-Identifier: Apache-2.0
// What the browser's test measures on a page: contrast of what SVG draws, and what does not fit. Gives a list of faults.
(() => {
  const faults = [];
  const parse = text => (text.match(/[\d.]+/g) || []).map(Number);
  const light = c => {
    const [r, g, b] = c.slice(0, 3).map(v => v / 255).map(v => (v <= 0.04045 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4));
    return 0.2126 * r + 0.7152 * g + 0.0722 * b;
  };
  const ratio = (a, b) => {
    const [x, y] = [light(a), light(b)].sort((p, q) => q - p);
    return (x + 0.05) / (y + 0.05);
  };
  const ground = e => {
    for (; e; e = e.parentElement) {
      const c = parse(getComputedStyle(e).backgroundColor);
      if (c.length === 3 || c[3] === 1) return c;
    }
    return [255, 255, 255];
  };
  for (const svg of document.querySelectorAll("svg")) {
    if (!svg.getClientRects().length) continue;
    const page = ground(svg), seen = new Set();
    for (const e of svg.querySelectorAll("text, path, line, rect")) {
      const kind = e.getAttribute("class") || "", style = getComputedStyle(e), text = e.tagName === "text";
      if (/c-grid|c-band|c-area|c-page|g-box|g-in/.test(kind) || seen.has(kind)) continue;
      seen.add(kind);
      const colour = parse(text || style.stroke === "none" ? style.fill : style.stroke);
      const through = colour.slice(0, 3).map((v, i) => v * style.strokeOpacity + page[i] * (1 - style.strokeOpacity));
      const got = ratio(through, page);
      if (!(got >= (text ? 4.5 : 3))) faults.push(`contrast ${got.toFixed(2)} of ${e.tagName}.${kind}`);
      if (text && parseFloat(style.fontSize) * svg.getBoundingClientRect().width / svg.viewBox.baseVal.width < 10)
        faults.push(`small text in ${svg.id}`);
    }
  }
  for (const row of document.querySelectorAll("tbody tr")) {
    const height = row.getBoundingClientRect().height;
    const longest = Math.max(0, ...[...row.cells].map((cell) => cell.innerText.length));  // hostile names have 150
    if (height > 120 && longest < 120) faults.push(`a row of ${Math.round(height)} px: ${row.innerText.slice(0, 60)}`);
  }
  const root = document.documentElement;
  if (root.scrollWidth > root.clientWidth) faults.push(`the page is ${root.scrollWidth} px wide in ${root.clientWidth}`);
  if (document.querySelectorAll("h1").length !== 1) faults.push("not one h1");
  return faults;
})()
