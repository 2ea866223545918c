"use strict";

// What every script of the page uses: elements whose text is only ever text, and numbers as people read them.
const TOOLS = (() => {
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

  function bytes(value) {
    const size = Math.abs(value);
    for (const [scale, unit] of [[1e9, "GB"], [1e6, "MB"], [1e3, "kB"]]) {
      if (size >= scale) return `${(value / scale).toLocaleString("en", {maximumSignificantDigits: 3})} ${unit}`;
    }
    return count(value, "byte");
  }

  function count(value, noun, nouns) {
    return `${Number(value).toLocaleString("en")} ${Number(value) === 1 ? noun : nouns || noun + "s"}`;
  }

  // Does something now, or once the folded part of the page that holds an element is opened.
  function onceSeen(element, work) {
    const closed = element.closest("details:not([open])");
    if (closed) closed.addEventListener("toggle", () => onceSeen(element, work), {once: true});
    else work();
  }

  // Opens all that an element is folded in, and shows it.
  function reveal(element, block = "start") {
    for (let part = element.querySelector("details") || element; part; part = part.parentElement) {
      if (part.tagName === "DETAILS") part.open = true;
    }
    element.scrollIntoView({block});
  }

  // Makes what the library of plots draws into: read aloud by its sentence, and by what `said` then holds.
  function plotBox(figure, plot) {
    const box = add(figure, "div", "plot");
    box.style.height = `${plot.height}px`;
    box.tabIndex = 0;
    box.setAttribute("role", "img");
    box.setAttribute("aria-label", plot.said);
    const said = add(figure, "p", "unseen");
    said.setAttribute("aria-live", "polite");
    return {box, said, chart: echarts.init(box)};
  }

  // Lets arrow keys go through the marks of a plot, of which there are `count()`, one after the other.
  function readByKeys(box, chart, count, go) {
    let current = -1;
    box.addEventListener("keydown", (event) => {
      const moves = {ArrowRight: 1, ArrowDown: 1, ArrowLeft: -1, ArrowUp: -1};
      if (event.ctrlKey || event.metaKey || event.altKey) return;
      let to = current;
      if (event.key in moves) to += moves[event.key];
      else if (event.key === "Home") to = 0;
      else if (event.key === "End") to = count() - 1;
      else if (event.key === "Escape") chart.dispatchAction({type: "hideTip"});
      else return;
      event.preventDefault();
      if (event.key === "Escape" || !count()) return;
      current = Math.max(0, Math.min(count() - 1, to));
      go(current);
    });
    box.addEventListener("blur", () => chart.dispatchAction({type: "hideTip"}));
  }

  // Draws a plot, and again where its width or the colours of the page change.
  function drawAnew(box, chart, draw) {
    let width = 0;
    matchMedia("(prefers-color-scheme: dark)").addEventListener("change", draw);
    // Also calls back once at the start: the first drawing.
    new ResizeObserver(() => {
      if (box.clientWidth === width) return;
      width = box.clientWidth;
      chart.resize();
      draw();
    }).observe(box);
  }

  return {add, duration, share, bytes, count, onceSeen, reveal, plotBox, readByKeys, drawAnew};
})();
