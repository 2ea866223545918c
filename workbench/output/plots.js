"use strict";

// Draws a plot with the library; what it tells of a mark is text, in a tip and below for who does not see it.
function drawPlot(tools, figure, plot) {
  const {add, duration, share, bytes} = tools;
  const LETTER = 6.6;  // px of one in a label
  const OTHERS = ["#4878a8", "#e8871e", "#2f9e8f", "#b0578d", "#8a6d3b", "#7a6fd0", "#c94f4f", "#7d8590"];
  const TONES = {"": "--accent", good: "--good", warning: "--warn", error: "--bad", note: "--soft"};
  const WHOLE = {duration, share, bytes};
  const count = plot.groups.length;
  const {box, said, chart} = tools.plotBox(figure, plot);
  const rows = new Map();  // of a place along the axis
  const placeAt = plot.stretches ? 2 : plot.across ? 1 : 0;
  const behind = plot.roofs.length + (plot.band.length ? 2 : 0);  // series that tell nothing
  for (const series of plot.option.series) {
    for (const mark of series.data) {
      if (!rows.has(mark[placeAt])) rows.set(mark[placeAt], []);
      rows.get(mark[placeAt]).push(mark[2]);
    }
  }
  const places = [...rows.keys()].sort((one, other) => one - other);

  // ---- what is told about a place ----

  function value(kind, number) {
    if (number === null) return "";
    if (kind === "amount") return amount(Number(number));
    return kind in WHOLE ? WHOLE[kind](Number(number)) : Number(number).toLocaleString("en");
  }

  function amount(number) {
    const size = Math.abs(number);
    for (const [scale, letter] of [[1e15, "P"], [1e12, "T"], [1e9, "G"], [1e6, "M"], [1e3, "k"]]) {
      if (size >= scale) return `${Number((number / scale).toPrecision(3)).toLocaleString("en")} ${letter}`;
    }
    return String(Number(number.toPrecision(3)));
  }

  function head(row) {
    const text = plot.x.values[row];
    return ["count", "number", "duration", "amount", "bytes"].includes(plot.x.kind) ? `${plot.x.title} ${text}` : text;
  }

  function facts(row) {
    const group = plot.option.series[plot.groups[row]].name;
    const name = plot.option.series.length > 1 ? group : plot.y.title;
    const told = plot.told.map(({title, texts, codes}) => [title, texts[codes[row]]]).filter((fact) => fact[1]);
    return [[name, value(plot.y.kind, plot.y.values[row])], ...told];
  }

  function inWords(place) {
    const found = rows.get(place);
    return `${head(found[0])}: ${found.map((row) => facts(row).map((fact) => fact.join(" ")).join(", ")).join("; ")}`;
  }

  function tip(place) {
    const inside = document.createElement("div");
    const found = rows.get(place);
    add(inside, "b", "", head(found[0]));
    for (const row of found) {
      const [first, ...others] = facts(row);
      const line = add(inside, "div");
      add(line, "span", "swatch").style.background = colour(plot.groups[row]);
      line.append(first.join(" "));
      const told = others.map((fact) => fact.join(" "));
      for (const text of found.length > 1 ? [told.join(", ")] : told) add(inside, "div", "soft", text);
    }
    return inside;
  }

  // ---- how it looks ----

  function shade(name) {
    return getComputedStyle(document.documentElement).getPropertyValue(name).trim();
  }

  function colour(group) {
    const wanted = plot.colours[group];
    if (wanted.startsWith("#")) return wanted;
    return wanted === "" && plot.colours.length > 1 ? OTHERS[group % OTHERS.length] : shade(TONES[wanted]);
  }

  function ticks(kind, most) {
    if (kind === "share") return (number) => `${Number((100 * number).toFixed(3))} %`;
    if (kind === "bytes") return scaled([[1e9, "GB"], [1e6, "MB"], [1e3, "kB"]], "B", most);
    if (kind === "amount") return amount;
    if (kind !== "duration") return (number) => number.toLocaleString("en");
    return scaled([[1e9, "s"], [1e6, "ms"], [1e3, "µs"]], "ns", most);
  }

  function scaled(units, least, most) {
    const [scale, unit] = units.find(([size]) => most >= size) || [1, least];
    return (number) => number === 0 ? "0" : `${(number / scale).toLocaleString("en", {maximumFractionDigits: 6})} ${unit}`;
  }

  // Along a logarithmic axis each number has the unit that fits it.
  function fitting(kind, number) {
    return ticks(kind, number)(number);
  }

  // Both ends of a name tell most.
  function bothEnds(count) {
    const head = Math.ceil((count - 1) / 2);
    return (name) => name.length <= count ? name : `${name.slice(0, head)}…${name.slice(1 + head - count)}`;
  }

  function axis(given, {kind, title}, most, wide) {
    const looks = {
      axisLine: {show: given.type === "category", lineStyle: {color: shade("--line")}},
      axisTick: {show: false},
      splitLine: {show: given.type !== "category", lineStyle: {color: shade("--line")}},
      axisLabel: {color: shade("--soft"), hideOverlap: true, width: wide, overflow: "truncate"},
    };
    looks.axisLabel.formatter = given.type === "category" ? bothEnds(Math.floor(wide / LETTER)) : ticks(kind, most);
    if (given.type === "log") looks.axisLabel.formatter = (number) => fitting(kind, number);
    if (!plot.points && !plot.curves) return {...given, ...looks};
    const named = {name: title, nameLocation: "middle", nameTextStyle: {color: shade("--soft")}};
    return {...given, ...looks, ...named, nameGap: wide > 60 ? 26 : 24, logBase: 10};
  }

  function draw() {
    const {xAxis, yAxis, series, ...others} = plot.option;
    const narrow = box.clientWidth < 600;
    const most = plot.stretches ? Math.max(0, ...series.flatMap((one) => one.data.map((mark) => mark[3]))) : Math.max(0, ...sums());
    const alone = plot.points || plot.stretches;
    const along = plot.x.values.length && plot.x.kind === "duration" ? Number(series[0].data.at(-1)[placeAt]) : 0;
    const [xOf, yOf] = plot.across ? [[plot.y, most], [plot.x, along]] : [[plot.x, along], [plot.y, most]];
    const soft = shade("--soft");
    chart.setOption({
      ...others,
      animation: false,
      textStyle: {fontFamily: getComputedStyle(document.body).fontFamily},
      grid: {left: 4, right: 18, top: series.length > 1 ? 34 : 14, bottom: others.dataZoom ? 32 : 4,
             outerBoundsMode: "same", outerBoundsContain: plot.points || plot.curves ? "all" : "axisLabel"},
      legend: {show: series.length > 1, data: series.map((one) => one.name), type: "scroll", left: 0, top: 0, textStyle: {color: shade("--ink")},
               pageTextStyle: {color: soft}, inactiveColor: soft, itemWidth: 12, itemHeight: 12},
      tooltip: {trigger: alone ? "item" : "axis", confine: true, className: "told", axisPointer: {type: "shadow"}, transitionDuration: 0,
                backgroundColor: shade("--card"), borderColor: shade("--line"), textStyle: {color: shade("--ink"), fontSize: 12},
                extraCssText: "white-space: normal; max-width: 420px; overflow-wrap: anywhere;", formatter: (marks) => tip((alone ? marks : marks.find((mark) => mark.value.length > 2)).value[placeAt])},
      xAxis: axis(xAxis, ...xOf, narrow ? 60 : 160),
      yAxis: axis(yAxis, ...yOf, plot.across ? (narrow ? 130 : 220) : 90),
      series: [...roofs(narrow), ...band(), ...series.map((one, group) => ({
        ...one,
        renderItem: plot.stretches && stretch,
        symbolSize: one.sizes ? (_, mark) => one.sizes[mark.dataIndex] : one.symbolSize,
        itemStyle: {color: colour(group), opacity: plot.points ? 0.8 : 1},
        lineStyle: {color: colour(group), width: 1.5},
        markArea: one.markArea && {
          ...one.markArea,
          itemStyle: {color: shade("--ink"), opacity: 0.07},
          label: {color: shade("--soft"), position: "insideTop"},
        },
        markLine: one.markLine && {
          ...one.markLine,
          lineStyle: {color: shade("--ink"), type: "dashed"},
          label: {formatter: (mark) => mark.name, position: "insideEndTop", color: shade("--ink"),
                  backgroundColor: shade("--card"), padding: [2, 4], borderRadius: 3},
        },
      }))],
    }, true);
  }

  // Lines behind the points; the text of each stands at its last corner.
  function roofs(narrow) {
    return plot.roofs.map(({name, data}) => ({
      name, data, type: "line", silent: true, showSymbol: false, labelLayout: {moveOverlap: "shiftY"}, tooltip: {show: false}, clip: true,
      lineStyle: {color: shade("--soft"), width: 1.2, type: "dashed"},
      endLabel: {show: true, formatter: name, color: shade("--ink"), fontSize: narrow ? 10 : 11, align: "right",
                 verticalAlign: "bottom", offset: [-4, -3], width: narrow ? 150 : 320, overflow: "truncate"},
    }));
  }

  // What lies between the least and the most: the second line stands on the first.
  function band() {
    if (!plot.band.length) return [];
    const looks = {type: "line", stack: "band", silent: true, showSymbol: false, lineStyle: {opacity: 0}, tooltip: {show: false}};
    return [
      {...looks, data: plot.band.map(([place, least]) => [place, least])},
      {...looks, data: plot.band.map(([place, least, most]) => [place, most - least]), areaStyle: {color: colour(0), opacity: 0.18}},
    ];
  }

  function stretch({coordSys}, api) {
    const [left, middle] = api.coord([api.value(0), api.value(1)]);
    const [right] = api.coord([api.value(3), api.value(1)]);
    const height = 0.7 * api.size([0, 1])[1];
    const shape = echarts.graphic.clipRectByRect({x: left, y: middle - height / 2, width: Math.max(0.6, right - left), height}, coordSys);
    return shape && {type: "rect", shape, style: {fill: api.visual("color")}};
  }

  function sums() {
    const found = new Map();
    for (let row = 0; row < count; row += 1) {
      const place = plot.x.values[row];
      found.set(place, (found.get(place) || 0) + Number(plot.y.values[row]));
    }
    return found.values();
  }

  // ---- keys, and changes around it ----

  function go(at) {
    const place = places[at];
    const [row] = rows.get(place);
    const group = plot.groups[row];
    const dataIndex = plot.option.series[group].data.findIndex((mark) => mark[2] === row);
    chart.dispatchAction({type: "showTip", seriesIndex: group + behind, dataIndex});
    said.textContent = inWords(place);
  }

  tools.readByKeys(box, chart, () => places.length, go);
  tools.drawAnew(box, chart, draw);
  return chart;
}
