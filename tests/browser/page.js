// SPDX-License-Identifier: Apache-2.0
// What the browser's test measures on a page: contrast of what SVG draws, texts that meet, leave their picture or their box,
// and what does not fit. Gives a list of faults.
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
  const boxes = [...document.querySelectorAll("svg")].filter(s => s.getClientRects().length).map(svg => [svg,
    [...svg.querySelectorAll("text")].map(e => [e.textContent.slice(0, 40), e.getBoundingClientRect()]).filter(b => b[1].width)]);
  for (const [svg, texts] of boxes) {
    const all = svg.getBoundingClientRect();
    for (const [words, r] of texts)
      if (r.left < all.left - 2 || r.right > all.right + 2 || r.top < all.top - 2 || r.bottom > all.bottom + 2)
        faults.push(`${svg.id}: "${words}" leaves the picture: ${Math.round(r.left - all.left)} to ${Math.round(r.right - all.left)} of ${Math.round(all.width)}`);
    texts.sort((a, b) => a[1].top - b[1].top);
    for (let i = 0; i < texts.length; i++)
      for (let k = i + 1; k < texts.length && texts[k][1].top < texts[i][1].bottom - 4; k++) {
        const [a, b] = [texts[i][1], texts[k][1]];
        if (Math.min(a.right, b.right) - Math.max(a.left, b.left) > 2) faults.push(`${svg.id}: "${texts[i][0]}" meets "${texts[k][0]}"`);
      }
  }
  for (const e of document.querySelectorAll("h1, h2, h3, p, dd, dt, td, th, figcaption, button, .cards li, .funnel li, nav li"))
    if (e.clientWidth && e.scrollWidth > e.clientWidth + 1 && getComputedStyle(e).overflowX === "visible")
      faults.push(`${e.tagName} does not hold its text (${e.scrollWidth} px in ${e.clientWidth}): ${e.innerText.slice(0, 60)}`);
  for (const e of document.querySelectorAll("thead th"))
    if (e.getClientRects().length && !e.innerText.trim()) faults.push("a column without a head");
  for (const e of document.querySelectorAll(".wide"))
    if (innerWidth > 1200 && e.scrollWidth > e.clientWidth + 1 && ![...e.querySelectorAll("td, th")].some(c => c.innerText.length > 40))
      faults.push(`a table is ${e.scrollWidth} px wide in ${e.clientWidth}: ${e.querySelector("tr").innerText}`);
  for (const row of document.querySelectorAll("tbody tr")) {
    const height = row.getBoundingClientRect().height;
    const texts = [...row.cells].map((cell) => cell.innerText);
    const is_long = texts.some(t => t.length > 120 || t.split(/\s+/).some(word => word.length > 40));  // hostile and hard names
    if (height > 120 && !is_long) faults.push(`a row of ${Math.round(height)} px: ${row.innerText.slice(0, 60)}`);
  }
  const root = document.documentElement;
  if (root.scrollWidth > root.clientWidth) faults.push(`the page is ${root.scrollWidth} px wide in ${root.clientWidth}`);
  if (document.querySelectorAll("h1").length !== 1) faults.push("not one h1");
  return faults;
})()
