"use strict";

// Draws areas inside areas with the library; what it tells of one is text, in a tip and below for who does not see it.
function drawTree(tools, figure, plot) {
  const {add} = tools;
  const LEAST = 14;  // px that a line of text needs
  const {box, said, chart} = tools.plotBox(figure, plot);
  const all = [];  // each area behind the one around it, with the names of those around it

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

  function go(place) {
    // An area that is too small to be drawn has no tip. The library puts a root of its own before the areas.
    chart.dispatchAction({type: "hideTip"});
    chart.dispatchAction({type: "showTip", seriesIndex: 0, dataIndex: place + 1});
    said.textContent = inWords(all[place]);
  }

  tools.readByKeys(box, chart, () => all.length, go);
  tools.drawAnew(box, chart, draw);
  return chart;
}
