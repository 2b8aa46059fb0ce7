// SPDX-License-Identifier: Apache-2.0
// What pages do beyond being read: sorting, filtering, searching, copying, the theme. Works from file://; without it
// every table is there, ranked. State is in the address.
"use strict";
(() => {
  const root = document.documentElement;
  const state = new URLSearchParams(location.search);
  const say = (where, text) => { if (where) where.textContent = text; };
  const keep = () => {
    const query = state.toString();
    try { history.replaceState(null, "", (query ? "?" + query : location.pathname.split("/").pop()) + location.hash); } catch (e) { /* shown anyway */ }
  };
  const note = (key, value) => { if (value) state.set(key, value); else state.delete(key); keep(); };
  const make = (tag, text, attributes) => {
    const e = document.createElement(tag);
    if (text) e.textContent = text;
    for (const k in attributes || {}) e.setAttribute(k, attributes[k]);
    return e;
  };

  // --- theme: what the reader chose on this machine, else the system's
  const themes = ["", "light", "dark"], words = { "": "theme: system", light: "theme: light", dark: "theme: dark" };
  let theme = "";
  try { theme = localStorage.getItem("assay-theme") || ""; } catch (e) { /* not remembered */ }
  const show = () => { if (theme) root.setAttribute("data-theme", theme); else root.removeAttribute("data-theme"); };
  show();

  // --- tables
  const key = cell => {
    const v = cell.getAttribute("data-v");
    if (v === "") return null;
    const text = v === null ? cell.textContent.trim() : v;
    const number = Number(text);
    return text === "" ? null : Number.isNaN(number) ? text : number;
  };
  const compare = (a, b) => typeof a === "number" && typeof b === "number" ? a - b
    : String(a).localeCompare(String(b), "en", { numeric: true });
  const sort = (table, column, descending, status) => {
    const body = table.tBodies[0], heads = table.tHead.rows[0].cells;
    const rows = Array.from(body.rows, (row, i) => ({ row, i, k: key(row.cells[column]) }));
    rows.sort((a, b) => a.k === null || b.k === null ? (a.k === null) - (b.k === null) || a.i - b.i
      : (descending ? compare(b.k, a.k) : compare(a.k, b.k)) || a.i - b.i);
    for (const h of heads) h.removeAttribute("aria-sort");
    heads[column].setAttribute("aria-sort", descending ? "descending" : "ascending");
    body.append(...rows.map(r => r.row));
    say(status, "sorted by " + heads[column].textContent.trim() + (descending ? ", largest first" : ", smallest first"));
  };
  const filter = (table, text, count) => {
    const wanted = text.toLowerCase().split(/\s+/).filter(Boolean);
    let shown = 0;
    for (const row of table.tBodies[0].rows) {
      const has = row.textContent.toLowerCase();
      row.hidden = !wanted.every(w => has.includes(w));
      shown += !row.hidden;
    }
    const all = table.tBodies[0].rows.length;
    say(count, shown === all ? all + " rows" : shown + " of " + all + " shown" + (shown ? "" : ": nothing has all of these words"));
  };
  const equip = (table, name) => {
    const status = make("span", "", { role: "status" }), prefix = name === "main" ? "" : name + ".";
    const tools = make("div", "", { class: "tools" });
    const heads = Array.from(table.tHead.rows[0].cells);
    heads.forEach((h, i) => {
      const button = make("button", "", { type: "button" });
      button.append(...h.childNodes); // with the places where a long name may break
      h.append(button);
      button.addEventListener("click", () => {
        const descending = h.getAttribute("aria-sort") === "ascending";
        sort(table, i, descending, status);
        note(prefix + "sort", (descending ? "-" : "") + i);
      });
    });
    if (table.tBodies[0].rows.length > 5) {
      const label = make("label", "filter "), input = make("input", "", { type: "search", autocomplete: "off" });
      const clear = make("button", "clear", { type: "button" });
      const apply = () => { filter(table, input.value, status); clear.hidden = !input.value; };
      input.value = state.get(prefix + "q") || "";
      input.addEventListener("input", () => { apply(); note(prefix + "q", input.value); });
      clear.addEventListener("click", () => { input.value = ""; apply(); note(prefix + "q", ""); input.focus(); });
      label.append(input);
      tools.append(label, clear);
      apply();
    }
    tools.append(status);
    table.closest(".wide").before(tools);
    const asked = state.get(prefix + "sort");
    if (/^-?\d+$/.test(asked || "") && heads[Math.abs(asked)])
      sort(table, Math.abs(asked), asked.startsWith("-"), null);
  };

  // --- search: columns of all verdicts, in data/all.js
  const search = () => {
    const box = document.getElementById("search"), list = document.getElementById("hits"), data = window.assayAll;
    const count = document.getElementById("count");
    if (!box || !list || !data) return;
    const most = 200, n = data.task.length, text = [];
    for (let i = 0; i < n; i++)
      text.push([data.task[i], data.candidate[i], data.runs[data.run[i]], data.verdicts[data.verdict[i]], data.devices[data.device[i]], data.key[i]].join(" ").toLowerCase());
    const run = () => {
      const wanted = box.value.toLowerCase().split(/\s+/).filter(Boolean), rows = [];
      let found = 0;
      for (let i = 0; i < n; i++) {
        if (!wanted.every(w => text[i].includes(w)) || ++found > most) continue;
        const row = make("tr"), head = make("th", "", { scope: "row" }), verdict = make("td");
        head.append(make("a", data.candidate[i] || data.key[i], { href: "k/" + data.key[i] + ".html" }));
        verdict.append(make("span", data.verdicts[data.verdict[i]], { class: "v v-" + data.kinds[data.verdict[i]] }));
        row.append(head, make("td", data.task[i]), verdict, make("td", data.time[i] === null ? "not measured" : String(data.time[i]), { class: "r" }),
          make("td", data.runs[data.run[i]]), make("td", data.devices[data.device[i]]));
        rows.push(row);
      }
      list.replaceChildren(...rows);
      say(count, !n ? "There is no verdict yet." : !found ? "No verdict has all of these words." : found > most ? found + " verdicts; the first " + most + " are shown" : found + " of " + n + " verdicts");
    };
    box.value = state.get("q") || "";
    box.addEventListener("input", () => { note("q", box.value); run(); });
    run();
  };

  const start = () => {
    const bar = document.querySelector(".bar");
    if (bar) {
      const button = make("button", words[theme], { type: "button" });
      button.addEventListener("click", () => {
        theme = themes[(themes.indexOf(theme) + 1) % 3];
        try { localStorage.setItem("assay-theme", theme); } catch (e) { /* not remembered */ }
        button.textContent = words[theme];
        show();
      });
      bar.append(button);
    }
    for (const table of document.querySelectorAll("table[data-table]")) equip(table, table.getAttribute("data-table"));
    for (const pre of document.querySelectorAll("pre[data-copy]")) {
      const button = make("button", "copy", { type: "button" });
      button.addEventListener("click", () => {
        const done = () => { button.textContent = "copied"; }, not = () => { getSelection().selectAllChildren(pre); button.textContent = "selected: press Ctrl-C"; };
        if (navigator.clipboard) navigator.clipboard.writeText(pre.textContent.trim()).then(done, not); else not();
      });
      pre.after(button);
    }
    search();
  };
  document.addEventListener("DOMContentLoaded", start);
  addEventListener("beforeprint", () => { for (const d of document.querySelectorAll("details")) d.open = true; });
})();
