"use strict";
(() => {
  const data = JSON.parse(document.getElementById("data").textContent);
  const summary = data.summary;
  const path = summary.critical_path;
  const root = document.getElementById("report");

  // ---- elements; text of the trace only ever goes through textContent ----

  function add(parent, tag, className, text) {
    const element = document.createElement(tag);
    if (className) element.className = className;
    if (text !== undefined) element.textContent = text;
    parent.append(element);
    return element;
  }

  function section(title) {
    const element = add(root, "section");
    add(element, "h2", "", title);
    return element;
  }

  function table(parent, columns, rows, tall) {
    const element = add(add(parent, "div", tall ? "scroll tall" : "scroll"), "table");
    const head = add(add(element, "thead"), "tr");
    for (const column of columns) add(head, "th", column.kind === "number" ? "number" : "", column.title);
    const body = add(element, "tbody");
    for (const row of rows) {
      const line = add(body, "tr");
      for (const column of columns) {
        const cell = add(line, "td", column.kind || "");
        if (column.colour) add(cell, "span", "swatch").style.background = column.colour(row);
        cell.append(column.text(row));
        if (column.kind === "brief" || column.kind === "lines") cell.title = column.text(row);
      }
    }
  }

  // ---- numbers ----

  function duration(ns) {
    const size = Math.abs(ns);
    const scales = [[1e9, "s"], [1e6, "ms"], [1e3, "µs"]];
    for (const [scale, unit] of scales) {
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

  function known(colours, name, other) {
    return Object.hasOwn(colours, name) ? colours[name] : other;
  }

  const categoryColour = (name) => known(data.colours.categories, name, data.colours.other);
  const dependencyColour = (name) => known(data.colours.dependencies, name, data.colours.root);

  // ---- sections, in the order of the terminal report ----

  function header() {
    const scope = summary.step === null ? "the whole run" : `step ${summary.step}`;
    add(root, "h1", "", summary.run);
    const edges = Object.values(summary.relationships).reduce((sum, value) => sum + Number(value), 0);
    add(root, "div", "soft", `Critical path of ${scope} · ${count(summary.ranks, "rank")} · ` +
      `${count(summary.events, "event")} · ${count(summary.nodes, "node")} · ${count(edges, "relationship")}`);
    document.title = `${summary.run} · tracegraph`;
  }

  function integrity() {
    const element = section("Integrity of the input");
    if (!summary.integrity.length) {
      add(element, "div", "good", "Nothing odd, dropped, repaired or missing.");
      return;
    }
    const columns = [
      {title: "level", text: (row) => row.level, kind: ""},
      {title: "code", text: (row) => row.code},
      {title: "count", text: (row) => Number(row.count).toLocaleString("en"), kind: "number"},
      {title: "what", kind: "wrap", text: (row) => row.message},
    ];
    table(element, columns, summary.integrity);
    const lines = element.querySelectorAll("tbody tr");
    summary.integrity.forEach((row, index) => { lines[index].firstChild.className = row.level === "info" ? "soft" : row.level; });
  }

  function overview() {
    const element = section("Window and critical path");
    const tiles = add(element, "div", "tiles");
    const named = Math.max(0, 1 - path.explained_share - path.unknown_share - path.untraced_cpu_share);
    const figures = [
      [duration(path.length_ns), `critical path, ${count(path.stretches, "stretch", "stretches")}`],
      [share(path.explained_share), "explained by events"],
      [share(path.unclear_share), "unclear: unknown or untraced"],
      [share(named), "in gaps with a reason"],
      [share(path.inferred_share), "starts by inferred dependencies"],
      [share(path.near_tie_share), `hangs on ${count(path.near_ties, "near-tie")}: a second cause within ${duration(data.near_tie_ns)}`],
    ];
    if (summary.gpu_busy_share !== null) figures.push([share(summary.gpu_busy_share), "GPU busy in the window"]);
    for (const [value, text] of figures) {
      const tile = add(tiles, "div", "tile");
      add(tile, "b", "", value);
      add(tile, "span", "", text);
    }
    const tiling = data.untiled_ns === 0
      ? ["note good", "The path tiles the window: every nanosecond is in exactly one stretch."]
      : ["note error", `The path does NOT tile the window: ${duration(data.untiled_ns)} left out or twice.`];
    add(element, "p", ...tiling);
    add(element, "p", "note", `Unclear: ${share(path.unknown_share)} in gaps without an explanation, ` +
      `${share(path.untraced_cpu_share)} untraced CPU time (no event is open on the thread), ` +
      `${share(path.untraced_share)} untraced Python (self time of annotations, counted as explained).`);
    add(element, "p", "note", `Window: ${summary.window_ns[0]} to ${summary.window_ns[1]} ns on the clock of the file.`);
  }

  function bars(parent, title, lengths, colour) {
    const box = add(parent, "div");
    add(box, "h3", "", title);
    for (const [name, ns] of Object.entries(lengths)) {
      const part = Number(ns) / Math.max(1, path.length_ns);
      const line = add(box, "div", "bar");
      add(line, "span", "name", name).title = name;
      const fill = add(add(line, "span", "track"), "div", "fill");
      fill.style.width = `${Math.min(100, 100 * part)}%`;
      fill.style.background = colour(name);
      add(line, "span", "size", `${duration(Number(ns))} · ${share(part)}`);
    }
  }

  function composition() {
    const columns = add(section("Composition of the path"), "div", "columns");
    bars(columns, "by category", path.by_category_ns, categoryColour);
    bars(columns, "by dependency", path.by_dependency_ns, dependencyColour);
    if (Object.keys(path.by_gap_ns).length) bars(columns, "by gap", path.by_gap_ns, () => "#8894a1");
  }

  function listed(title, rows) {
    const element = section(title);
    if (!rows.length) {
      add(element, "div", "soft", "None.");
      return;
    }
    table(element, [
      {title: "name", kind: "name", text: (row) => row.name},
      {title: "category", text: (row) => row.category, colour: (row) => categoryColour(row.category)},
      {title: "duration", kind: "number", text: (row) => duration(Number(row.duration_ns))},
      {title: "proportion", kind: "number", text: (row) => share(row.proportion)},
      {title: "prop_in_total", kind: "number", text: (row) => share(row.prop_in_total)},
      {title: "count", kind: "number", text: (row) => Number(row.count).toLocaleString("en")},
    ], rows);
    add(element, "p", "note", "proportion: share of the rows listed; prop_in_total: share of the path.");
  }

  function nearlyCritical() {
    const element = section("Nearly critical");
    const slack = duration(Number(data.near_slack_ns));
    if (!data.near_critical.length) {
      add(element, "div", "soft", `No event off the path would lengthen the run by ending ${slack} later.`);
    } else {
      add(element, "h3", "", `Events off the path that may end at most ${slack} later at no cost`);
      table(element, [
        {title: "name", kind: "name", text: (row) => row.name},
        {title: "category", text: (row) => row.category, colour: (row) => categoryColour(row.category)},
        {title: "lane", text: (row) => row.lane_name},
        {title: "slack", kind: "number", text: (row) => duration(Number(row.slack_ns))},
        {title: "duration", kind: "number", text: (row) => duration(Number(row.duration_ns))},
        {title: "share", kind: "number", text: (row) => share(row.share)},
        {title: "count", kind: "number", text: (row) => Number(row.count).toLocaleString("en")},
      ], data.near_critical);
      add(element, "p", "note", "slack: by how much the closest of them may end later before the run gets longer; share: of the window.");
    }
    const turns = data.second_causes.filter((row) => row.count > 0);
    if (!turns.length) {
      add(element, "p", "note", "No start of a hotspot has a second cause.");
      return;
    }
    add(element, "h3", "after", "Hotspots whose starts have a second cause");
    table(element, [
      {title: "hotspot", kind: "brief", text: (row) => row.name},
      {title: "smallest margin", kind: "number", text: (row) => duration(Number(row.margin_ns))},
      {title: "cause", kind: "brief", text: (row) => `${row.mechanism}: ${row.cause}`},
      {title: "second cause", kind: "brief", text: (row) => `${row.second_mechanism}: ${row.second}`},
    ], turns);
    add(element, "p", "note", "A second cause takes over when the first comes earlier by the margin: from there on, a gain needs both.");
  }

  function steps() {
    const found = summary.steps;
    if (found === null) return;
    const element = section("Steps");
    const outliers = found.outliers.length ? count(found.outliers.length, "outlier") : "no outlier";
    add(element, "p", "lead", `${count(found.count, "step")} of ${duration(found.shortest_ns)} to ${duration(found.longest_ns)}, ` +
      `median ${duration(found.median_ns)}, spread ${duration(found.spread_ns)} (1.4826 · MAD); typical is step ${found.typical}; ` +
      `${outliers} (more than 3 spreads from the median).`);
    drawSteps({add, duration, share}, element, data.step_paths, found);
    if (found.count > data.step_paths.length) add(element, "p", "note", `The first ${data.step_paths.length} are drawn; steps.csv has all.`);
    add(element, "h3", "after", "What recurs on the paths of the steps");
    table(element, [
      {title: "name", kind: "name", text: (row) => row.name},
      {title: "category", text: (row) => row.category, colour: (row) => categoryColour(row.category)},
      {title: "mean a step", kind: "number", text: (row) => duration(row.mean_ns)},
      {title: "deviation", kind: "number", text: (row) => duration(row.std_ns)},
      {title: "least", kind: "number", text: (row) => duration(Number(row.min_ns))},
      {title: "most", kind: "number", text: (row) => duration(Number(row.max_ns))},
      {title: "share", kind: "number", text: (row) => share(row.mean_share)},
      {title: "steps", kind: "number", text: (row) => `${row.steps} of ${found.count}`},
    ], data.recurring);
  }

  function advice() {
    const element = section("Recommendations");
    if (!data.recommendations.length) add(element, "div", "soft", "None: no rule reached its threshold.");
    for (const one of data.recommendations) {
      const box = add(element, "div", "advice");
      add(box, "b", "", one.title);
      add(box, "p", "", `${one.number}; threshold ${share(one.threshold)}.`);
      add(box, "p", "soft", one.advice);
    }
  }

  function pathTable() {
    const element = section("The path, stretch by stretch");
    const start = data.path_rows.length ? exact(data.path_rows[0].start_ns) : 0n;
    table(element, [
      {title: "after start", kind: "number", text: (row) => duration(Number(exact(row.start_ns) - start))},
      {title: "duration", kind: "number", text: (row) => duration(Number(exact(row.end_ns) - exact(row.start_ns)))},
      {title: "lane", text: (row) => row.lane_name === null ? String(row.lane) : row.lane_name},
      {title: "name", kind: "name", text: (row) => row.name, colour: (row) => categoryColour(row.category)},
      {title: "because of", text: (row) => row.mechanism ? `${row.dependency}, ${row.mechanism}` : row.dependency},
      {title: "evidence", text: (row) => row.evidence ? `${row.evidence}, ${share(row.confidence)}` : ""},
    ], data.path_rows, true);
    const left = path.stretches - data.path_rows.length;
    if (left > 0) add(element, "p", "note", `The first ${data.path_rows.length} of ${count(path.stretches, "stretch", "stretches")}; critical_path.csv has them all.`);
  }

  function exact(value) {
    return BigInt(value);
  }

  function numbers() {
    const box = add(add(root, "section"), "details");
    add(box, "summary", "", "All numbers (summary.json)");
    const rows = [];
    (function walk(value, name) {
      if (value !== null && typeof value === "object" && Object.keys(value).length) {
        for (const [key, item] of Object.entries(value)) walk(item, name ? `${name}.${key}` : key);
      } else {
        rows.push({name, value: value !== null && typeof value === "object" ? "none" : String(value)});
      }
    })(summary, "");
    table(box, [
      {title: "number", text: (row) => row.name},
      {title: "value", kind: "name", text: (row) => row.value},
    ], rows);
  }

  // ---- the lanes; lanes.js draws them ----

  function lanes() {
    const drawing = data.drawing;
    const element = section("Lanes, with the critical path on them");
    const toolbar = add(element, "div", "toolbar");
    const reset = add(toolbar, "button", "", "Whole window");
    reset.type = "button";
    for (const name of drawing.categories) {
      if (name === "gap") continue;
      const item = add(toolbar, "span");
      add(item, "span", "swatch").style.background = categoryColour(name);
      item.append(name);
    }
    const item = add(toolbar, "span");
    add(item, "span", "swatch").style.background = "var(--path)";
    item.append("critical path");
    const box = add(element, "div", "lanes");
    const canvas = add(box, "canvas");
    canvas.tabIndex = 0;
    canvas.setAttribute("role", "img");
    canvas.setAttribute("aria-label", "Work on each lane over time, with the critical path below it");
    const tip = add(box, "div", "tip");
    tip.hidden = true;
    let note = "Wheel or + and - to zoom, drag or arrow keys to pan. What is narrower than a pixel is merged.";
    if (drawing.hidden_lanes) note += ` ${count(drawing.hidden_lanes, "lane")} without work in the window or with the least of it ${drawing.hidden_lanes === 1 ? "is" : "are"} not drawn.`;
    add(element, "p", "note", note);
    const tools = {add, duration, count, categoryColour, dependencyColour};
    drawLanes(tools, summary, drawing, {canvas, tip, box, reset});
  }

  header();
  integrity();
  overview();
  lanes();
  composition();
  listed("Hotspots on the path", data.hotspots);
  listed("Gaps on the path", data.gaps);
  drawWhatIf({add, section, table, duration, share, categoryColour}, data);
  nearlyCritical();
  steps();
  advice();
  pathTable();
  numbers();
})();
