"use strict";

// Draws areas inside areas with the library; what it tells of one is text, in a tip and below for who does not see it.
function drawTree(tools, figure, plot) {
  const {add} = tools;
  const LEAST = 14;  // px that a line of text needs
  const box = add(figure, "div", "plot");
  box.style.height = `${plot.height}px`;
  box.tabIndex = 0;
  box.setAttribute("role", "img");
  box.setAttribute("aria-label", plot.said);
  const said = add(figure, "p", "unseen");
  said.setAttribute("aria-live", "polite");
  const chart = echarts.init(box);
  const all = [];  // each area behind the one around it, with the names of those around it
  let current = -1, width = 0;

  // What lies around others has its colour behind their text, too; the lines between are those of the innermost.
  function node(area, around) {
    const place = all.push({area, around}) - 1;
    const inner = area.children.map((one) => node(one, [...around, area.name]));
    return {
      id: String(place), name: area.name, value: area.value, place,
      itemStyle: {color: shade(area), borderColor: inner.length ? shade(area) : theme("--card")},
      label: {color: ink(area)},
      upperLabel: {color: ink(area)},
      children: inner,
    };
  }

  // ---- what is told about an area ----

  function facts({area}) {
    return [[area.text, `${area.share} of all`], ...area.told];
  }

  function inWords(found) {
    const place = [...found.around, found.area.name].join(", ");
    return `${place}: ${facts(found).map((fact) => fact.join(" ")).join(", ")}`;
  }

  function tip(found) {
    const inside = document.createElement("div");
    add(inside, "b", "", found.area.name);
    if (found.around.length) add(inside, "div", "soft", `in ${found.around.join(", ")}`);
    const [first, ...others] = facts(found);
    add(inside, "div", "", first.join(", "));
    for (const fact of others) add(inside, "div", "soft", fact.join(" "));
    return inside;
  }

  // ---- how it looks ----

  function theme(name) {
    return getComputedStyle(document.documentElement).getPropertyValue(name).trim();
  }

  function shade(area) {
    return area.colour.startsWith("#") ? area.colour : theme("--accent");
  }

  // Black or white, whichever is easier to read on the area's colour.
  function ink(area) {
    const [red, green, blue] = [1, 3, 5].map((at) => {
      const part = parseInt(shade(area).slice(at, at + 2), 16) / 255;
      return part <= 0.04045 ? part / 12.92 : ((part + 0.055) / 1.055) ** 2.4;
    });
    return 0.2126 * red + 0.7152 * green + 0.0722 * blue > 0.18 ? "#000000" : "#ffffff";
  }

  function draw() {
    all.length = 0;
    const data = plot.areas.map((area) => node(area, []));
    const card = theme("--card");
    const text = {overflow: "truncate", ellipsis: "…", fontSize: 12};
    // What names hold is text: a function's answer is not looked through for the library's own marks.
    const named = (mark) => mark.data && mark.data.place !== undefined ? all[mark.data.place].area.name : "";
    const sized = (mark) => mark.data && mark.data.place !== undefined ? `${named(mark)}  ${all[mark.data.place].area.text}` : "";
    chart.setOption({
      animation: false,
      textStyle: {fontFamily: getComputedStyle(document.body).fontFamily},
      tooltip: {confine: true, className: "told", transitionDuration: 0,
                backgroundColor: card, borderColor: theme("--line"), textStyle: {color: theme("--ink"), fontSize: 12},
                extraCssText: "white-space: normal; max-width: 420px; overflow-wrap: anywhere;",
                formatter: (mark) => mark.data && mark.data.place !== undefined ? tip(all[mark.data.place]) : ""},
      series: [{
        type: "treemap", data, left: 0, top: 0, width: "100%", height: "100%", roam: false, nodeClick: false,
        breadcrumb: {show: false}, visibleMin: 1, childrenVisibleMin: LEAST * LEAST,
        label: {...text, show: true, position: [5, 4], align: "left", verticalAlign: "top", padding: 0, formatter: sized},
        upperLabel: {...text, show: true, height: 20, padding: [0, 4], formatter: sized},
        levels: [
          {itemStyle: {borderWidth: 0, gapWidth: 4, borderColor: card}, upperLabel: {show: false}},
          {itemStyle: {borderWidth: 1, gapWidth: 1}},
          {itemStyle: {borderWidth: 1, gapWidth: 1}},
          {itemStyle: {borderWidth: 1, gapWidth: 0}},
        ],
      }],
    }, true);
  }

  // ---- keys, and changes around it ----

  function go(to) {
    current = Math.max(0, Math.min(all.length - 1, to));
    if (current < 0 || !all.length) return;
    // An area that is too small to be drawn has no tip. The library puts a root of its own before the areas.
    chart.dispatchAction({type: "hideTip"});
    chart.dispatchAction({type: "showTip", seriesIndex: 0, dataIndex: current + 1});
    said.textContent = inWords(all[current]);
  }

  box.addEventListener("keydown", (event) => {
    const moves = {ArrowRight: 1, ArrowDown: 1, ArrowLeft: -1, ArrowUp: -1};
    if (event.ctrlKey || event.metaKey || event.altKey) return;
    if (event.key in moves) go(current + moves[event.key]);
    else if (event.key === "Home") go(0);
    else if (event.key === "End") go(all.length - 1);
    else if (event.key === "Escape") chart.dispatchAction({type: "hideTip"});
    else return;
    event.preventDefault();
  });
  box.addEventListener("blur", () => chart.dispatchAction({type: "hideTip"}));
  matchMedia("(prefers-color-scheme: dark)").addEventListener("change", draw);
  // Also calls back once at the start: the first drawing.
  new ResizeObserver(() => {
    if (box.clientWidth === width) return;
    width = box.clientWidth;
    chart.resize();
    draw();
  }).observe(box);
  return chart;
}
