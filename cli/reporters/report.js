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
    const gaps = 1 - path.explained_share;
    const unknown = Number(path.by_gap_ns.unknown || 0) / Math.max(1, path.length_ns);
    const figures = [
      [duration(path.length_ns), `critical path, ${count(path.stretches, "stretch", "stretches")}`],
      [share(path.explained_share), "explained by events"],
      [share(path.untraced_share), "of it untraced Python (self time of annotations)"],
      [share(gaps - unknown), "in named gaps"],
      [share(unknown), "in gaps without an explanation"],
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

  // ---- the lanes ----

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
    drawLanes(drawing, canvas, tip, box, reset);
  }

  function drawLanes(drawing, canvas, tip, box, reset) {
    const LABEL = 190, TOP = 24, ROW = 30, WORK = 17, STRIP = 5;
    const height = TOP + ROW * drawing.lanes.length + 8;
    const total = Math.max(1, path.length_ns);
    const least = Math.min(total, Math.max(20, total / 1e7));
    const rows = split(drawing.rectangles, drawing.lanes.length);
    const trail = drawing.path;
    let view = [0, total], width = 0, queued = false;

    function split(columns, lanes) {
      const parts = Array.from({length: lanes}, () => []);
      columns.lane.forEach((lane, index) => parts[lane].push(index));
      return parts;
    }

    const x = (ns) => LABEL + (ns - view[0]) / (view[1] - view[0]) * (width - LABEL);
    const y = (lane) => TOP + ROW * lane;

    function draw() {
      queued = false;
      const ratio = window.devicePixelRatio || 1;
      width = box.clientWidth;
      canvas.width = Math.round(width * ratio);
      canvas.height = Math.round(height * ratio);
      canvas.style.height = `${height}px`;
      const pen = canvas.getContext("2d");
      pen.setTransform(ratio, 0, 0, ratio, 0, 0);
      const colours = getComputedStyle(document.documentElement);
      const ink = colours.getPropertyValue("--ink"), soft = colours.getPropertyValue("--soft");
      const line = colours.getPropertyValue("--line"), accent = colours.getPropertyValue("--path");
      pen.clearRect(0, 0, width, height);
      pen.font = "12px system-ui, sans-serif";
      pen.textBaseline = "middle";
      grid(pen, soft, line);
      pen.save();
      pen.beginPath();
      pen.rect(LABEL, 0, width - LABEL, height);
      pen.clip();
      drawing.lanes.forEach((_, lane) => work(pen, lane));
      route(pen, accent);
      pen.restore();
      drawing.lanes.forEach((lane, place) => {
        pen.fillStyle = ink;
        pen.fillText(fit(pen, summary.ranks > 1 ? `${lane.rank}: ${lane.name}` : lane.name, LABEL - 16), 8, y(place) + WORK / 2 + 3);
      });
    }

    function grid(pen, soft, line) {
      const span = view[1] - view[0];
      const rough = span / Math.max(2, (width - LABEL) / 130);
      const power = 10 ** Math.floor(Math.log10(rough));
      const step = [1, 2, 5, 10].map((factor) => factor * power).find((size) => size >= rough);
      pen.fillStyle = soft;
      pen.strokeStyle = line;
      pen.lineWidth = 1;
      for (let at = Math.ceil(view[0] / step) * step; at <= view[1]; at += step) {
        pen.beginPath();
        pen.moveTo(x(at), TOP - 6);
        pen.lineTo(x(at), height);
        pen.stroke();
        if (x(at) < width - 60) pen.fillText(tick(at), x(at) + 3, 10);
      }
    }

    function tick(ns) {
      return duration(ns).replace(/\.0+ /, " ").replace(/(\.\d*[1-9])0+ /, "$1 ");
    }

    function work(pen, lane) {
      const {start, length, category, name} = drawing.rectangles;
      let lastPixel = -1, lastCategory = -1;
      for (const index of rows[lane]) {
        if (start[index] > view[1]) break;
        if (start[index] + length[index] < view[0]) continue;
        const left = x(start[index]), wide = Math.max(1, x(start[index] + length[index]) - left);
        const pixel = Math.floor(left);
        if (wide <= 1 && pixel === lastPixel && category[index] === lastCategory) continue;
        lastPixel = pixel;
        lastCategory = category[index];
        pen.fillStyle = categoryColour(drawing.categories[category[index]]);
        pen.fillRect(left, y(lane) + 3, wide > 3 ? wide - 0.5 : wide, WORK);
        if (wide > 60 && name[index] >= 0) {
          pen.fillStyle = "#ffffff";
          const from = Math.max(left, LABEL);
          pen.fillText(fit(pen, drawing.names[name[index]], left + wide - from - 8), from + 4, y(lane) + 3 + WORK / 2);
        }
      }
    }

    function route(pen, accent) {
      let before = -1;
      for (let index = 0; index < trail.start.length; index += 1) {
        const begin = trail.start[index], end = begin + trail.length[index];
        const visible = end >= view[0] && begin <= view[1];
        const level = y(trail.lane[index]) + 3 + WORK + 1;
        if (visible && before >= 0 && trail.lane[before] !== trail.lane[index]) {
          pen.strokeStyle = dependencyColour(drawing.dependencies[trail.dependency[index]]);
          pen.lineWidth = 1.5;
          pen.beginPath();
          pen.moveTo(x(begin), y(trail.lane[before]) + 3 + WORK + 1 + STRIP / 2);
          pen.lineTo(x(begin), level + STRIP / 2);
          pen.stroke();
        }
        if (visible) {
          pen.globalAlpha = drawing.categories[trail.category[index]] === "gap" ? 0.45 : 1;
          pen.fillStyle = accent;
          pen.fillRect(x(begin), level, Math.max(1, x(end) - x(begin)), STRIP);
          pen.globalAlpha = 1;
        }
        before = index;
      }
    }

    function fit(pen, text, room) {
      if (room < 12) return "";
      if (pen.measureText(text).width <= room) return text;
      let keep = Math.max(1, Math.floor(text.length * room / pen.measureText(text).width) - 1);
      let short = `${text.slice(0, keep)}…`;
      while (keep > 1 && pen.measureText(short).width > room) short = `${text.slice(0, keep -= 1)}…`;
      return short;
    }

    function redraw() {
      if (!queued) {
        queued = true;
        requestAnimationFrame(draw);
      }
    }

    function show(begin, end) {
      const span = Math.min(total, Math.max(least, end - begin));
      const from = Math.min(Math.max(0, begin), total - span);
      view = [from, from + span];
      tip.hidden = true;
      redraw();
    }

    function zoom(factor, share) {
      const span = view[1] - view[0], pivot = view[0] + span * share;
      show(pivot - span * factor * share, pivot + span * factor * (1 - share));
    }

    function place(event) {
      const bounds = canvas.getBoundingClientRect();
      return {left: event.clientX - bounds.left, top: event.clientY - bounds.top};
    }

    function find(lane, at, slop) {
      const {start, length} = drawing.rectangles;
      let best = -1;
      for (const index of rows[lane]) {
        if (start[index] > at + slop) break;
        if (start[index] + length[index] >= at - slop && (best < 0 || length[index] <= length[best])) best = index;
      }
      return best;
    }

    function findOnPath(lane, at, slop) {
      let low = 0, high = trail.start.length - 1;
      while (low < high) {
        const middle = (low + high + 1) >> 1;
        if (trail.start[middle] <= at + slop) low = middle; else high = middle - 1;
      }
      for (let index = low; index >= 0 && index > low - 8; index -= 1) {
        if (trail.lane[index] === lane && trail.start[index] <= at + slop && trail.start[index] + trail.length[index] >= at - slop) return index;
      }
      return -1;
    }

    function hover(event) {
      const {left, top} = place(event);
      const lane = Math.floor((top - TOP) / ROW);
      tip.hidden = true;
      if (left < LABEL || lane < 0 || lane >= drawing.lanes.length) return;
      const perPixel = (view[1] - view[0]) / (width - LABEL);
      const at = view[0] + (left - LABEL) * perPixel;
      const low = (top - TOP) % ROW > 3 + WORK;
      const columns = low ? trail : drawing.rectangles;
      const index = low ? findOnPath(lane, at, perPixel) : find(lane, at, perPixel);
      if (index < 0) return;
      const several = columns.count[index] > 1;
      const name = columns.name[index] >= 0 ? drawing.names[columns.name[index]] : "";
      tip.replaceChildren();
      add(tip, "b", "", several ? count(columns.count[index], low ? "stretch" : "segment", low ? "stretches" : "segments") : name || "(name left out)");
      if (several && name) add(tip, "div", "", low ? `longest: ${name}` : name);
      add(tip, "div", "soft", `${drawing.categories[columns.category[index]]} · ${duration(columns.length[index])} · at ${duration(columns.start[index])}`);
      if (low) add(tip, "div", "soft", `on the critical path, because of ${drawing.dependencies[trail.dependency[index]]}`);
      tip.hidden = false;
      tip.style.left = `${Math.max(0, Math.min(left + 14, width - tip.offsetWidth - 4))}px`;
      tip.style.top = `${top + 16}px`;
    }

    let dragged = null;
    canvas.addEventListener("wheel", (event) => {
      event.preventDefault();
      const part = Math.min(1, Math.max(0, (place(event).left - LABEL) / (width - LABEL)));
      if (Math.abs(event.deltaX) > Math.abs(event.deltaY)) {
        const move = event.deltaX / width * (view[1] - view[0]);
        show(view[0] + move, view[1] + move);
      } else {
        zoom(event.deltaY > 0 ? 1.25 : 0.8, part);
      }
    }, {passive: false});
    canvas.addEventListener("pointerdown", (event) => {
      dragged = {left: place(event).left, view};
      canvas.setPointerCapture(event.pointerId);
    });
    canvas.addEventListener("pointerup", () => { dragged = null; });
    canvas.addEventListener("pointermove", (event) => {
      if (dragged === null) {
        hover(event);
        return;
      }
      const move = (dragged.left - place(event).left) / (width - LABEL) * (dragged.view[1] - dragged.view[0]);
      show(dragged.view[0] + move, dragged.view[1] + move);
    });
    canvas.addEventListener("pointerleave", () => { tip.hidden = true; });
    canvas.addEventListener("keydown", (event) => {
      const span = view[1] - view[0];
      const keys = {
        "+": () => zoom(0.8, 0.5), "=": () => zoom(0.8, 0.5), "-": () => zoom(1.25, 0.5),
        ArrowLeft: () => show(view[0] - span / 8, view[1] - span / 8),
        ArrowRight: () => show(view[0] + span / 8, view[1] + span / 8),
        Home: () => show(0, total),
      };
      if (Object.hasOwn(keys, event.key)) {
        event.preventDefault();
        keys[event.key]();
      }
    });
    reset.addEventListener("click", () => show(0, total));
    window.addEventListener("resize", redraw);
    window.matchMedia("(prefers-color-scheme: dark)").addEventListener("change", redraw);
    draw();
  }

  header();
  integrity();
  overview();
  lanes();
  composition();
  listed("Hotspots on the path", data.hotspots);
  listed("Gaps on the path", data.gaps);
  advice();
  pathTable();
  numbers();
})();
