"use strict";

// Adds the sections on what would be without each hotspot and under other assumptions, and on what threads wait for.
function drawWhatIf(tools, data) {
  const {add, section, table, duration, share, categoryColour} = tools;
  const {what_next: whatNext, waits} = data.summary;

  function hotspots() {
    const element = section("What if");
    table(element, [
      {title: "hotspot", kind: "brief", text: (row) => row.name, colour: (row) => categoryColour(row.category)},
      {title: "on the path", kind: "number", text: (row) => duration(Number(row.duration_ns))},
      {title: "gain", kind: "number", text: (row) => duration(Number(row.gain_ns))},
      {title: "share", kind: "number", text: (row) => share(Number(row.gain_ns) / Math.max(1, Number(data.summary.duration_ns)))},
      {title: "critical then", kind: "lines", text: (row) => row.following.map((spot) => spot.name).join("\n")},
    ], whatNext);
    add(element, "p", "note", "The gain is a replay's: all work of that name removed, on the path or not, and all lags kept. " +
      "Less gain than time on the path: something else was nearly as late.");
  }

  function assumptions() {
    const element = section("Other assumptions");
    if (data.assumptions.every((row) => row.same)) {
      add(element, "div", "good", "None matters: the path is made of the same under every policy between threads and on recorded dependencies only.");
      return;
    }
    table(element, [
      {title: "assumption", text: (row) => row.chosen ? `${row.name} (chosen)` : row.name},
      {title: "events", kind: "number", text: (row) => share(row.events)},
      {title: "named gaps", kind: "number", text: (row) => share(row.named_gaps)},
      {title: "unknown", kind: "number", text: (row) => share(row.unknown)},
      {title: "inferred", kind: "number", text: (row) => share(row.inferred)},
      {title: "longest hotspots", kind: "lines", text: (row) => row.same && !row.chosen ? "the same" : row.hotspots.map(([name, part]) => `${share(part)}  ${name}`).join("\n")},
    ], data.assumptions);
    element.querySelectorAll("tbody tr").forEach((line, place) => line.classList.toggle("chosen", data.assumptions[place].chosen));
    add(element, "p", "note", "What the path is made of with other dependencies between threads, and without any that a timing rule made " +
      "(recorded only). Where the rows differ, the conclusion rests on the choice.");
  }

  function waiting() {
    const element = section("Waiting");
    if (!waits.length) {
      add(element, "div", "soft", "No thread is known to wait for 1 % of the window or more for the same reason.");
      return;
    }
    table(element, [
      {title: "thread", kind: "brief", text: (row) => row.lane_name},
      {title: "name", text: (row) => row.name},
      {title: "duration", kind: "number", text: (row) => duration(Number(row.duration_ns))},
      {title: "share", kind: "number", text: (row) => share(row.share)},
      {title: "count", kind: "number", text: (row) => Number(row.count).toLocaleString("en")},
    ], waits);
    add(element, "p", "note", "Of each thread, on the critical path or not, from 1 % of the window; share: of the window.");
  }

  if (whatNext.length) hotspots();
  if (data.assumptions.length) assumptions();
  waiting();
}
