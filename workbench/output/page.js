"use strict";

// What the page does besides showing itself: charts, and tables that sort and filter.
(() => {
  // ---- text of the trace only ever goes through textContent ----

  function add(parent, tag, className, text) {
    const element = document.createElement(tag);
    if (className) element.className = className;
    if (text !== undefined) element.textContent = text;
    parent.append(element);
    return element;
  }

  function duration(ns) {
    const size = Math.abs(ns);
    for (const [scale, unit] of [[1e9, "s"], [1e6, "ms"], [1e3, "µs"]]) {
      if (size >= scale) return `${(ns / scale).toLocaleString("en", {minimumFractionDigits: 3, maximumFractionDigits: 3})} ${unit}`;
    }
    return `${Math.round(ns)} ns`;
  }

  function share(value) {
    if (value > 0 && value < 0.001) return "< 0.1 %";
    return value > 0.999 && value < 1 ? "> 99.9 %" : `${(100 * value).toFixed(1)} %`;
  }

  function count(value, noun, nouns) {
    return `${Number(value).toLocaleString("en")} ${Number(value) === 1 ? noun : nouns || noun + "s"}`;
  }

  // ---- charts ----

  const tools = {add, duration, share, count};
  const drawn = {lanes: drawLanes, steps: drawSteps};
  const charts = JSON.parse(document.getElementById("data").textContent);
  for (const figure of document.querySelectorAll("figure[data-chart]")) {
    const chart = charts[Number(figure.dataset.chart)];
    const made = drawn[chart.draw](tools, figure, chart.data);
    if (chart.draw === "lanes") findNames(tools, made);
  }

  // ---- tables ----

  function value(row, column) {
    const cell = row.cells[column];
    return cell.dataset.value === undefined ? cell.textContent : Number(cell.dataset.value);
  }

  function sort(table, column, heading) {
    const falling = heading.getAttribute("aria-sort") !== "descending";
    const first = [...table.tBodies[0].rows];
    const sign = falling ? -1 : 1;
    first.sort((one, other) => {
      const [left, right] = [value(one, column), value(other, column)];
      return sign * (typeof left === "number" && typeof right === "number" ? left - right : String(left).localeCompare(String(right)));
    });
    for (const other of table.tHead.rows[0].cells) other.removeAttribute("aria-sort");
    heading.setAttribute("aria-sort", falling ? "descending" : "ascending");
    table.tBodies[0].append(...first);
  }

  function filter(table, wanted, found) {
    const text = wanted.trim().toLowerCase();
    let shown = 0;
    for (const row of table.tBodies[0].rows) {
      row.hidden = !row.textContent.toLowerCase().includes(text);
      if (!row.hidden) shown += 1;
    }
    found.textContent = text ? count(shown, "row") : "";
  }

  const MANY = 8;
  for (const table of document.querySelectorAll("table")) {
    [...table.tHead.rows[0].cells].forEach((heading, column) => {
      const button = add(heading, "button", "sort", heading.textContent);
      button.type = "button";
      heading.firstChild.remove();
      button.addEventListener("click", () => sort(table, column, heading));
    });
    if (table.tBodies[0].rows.length <= MANY) continue;
    const box = document.createElement("div");
    box.className = "filter";
    table.parentElement.before(box);
    const field = add(box, "input");
    field.type = "search";
    field.placeholder = "Filter rows";
    field.setAttribute("aria-label", "Filter the rows of this table");
    const found = add(box, "span", "soft");
    field.addEventListener("input", () => filter(table, field.value, found));
  }
})();
