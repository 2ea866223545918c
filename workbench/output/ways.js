"use strict";

// How the work on the lanes came about: each chain of stretches begins after the end of its cause on another one.
function followCauses(tools, drawing) {
  const {duration} = tools;
  const {chains, dependencies, reasons, lanes} = drawing;
  const MOST = 60;
  const ofLane = Array.from({length: lanes.length}, () => []);
  chains.lane.forEach((lane, index) => ofLane[lane].push(index));

  // The chain that a lane is on at a time, -1 where it is not listed.
  function chainAt(lane, at) {
    const listed = ofLane[lane];
    let low = -1, high = listed.length - 1;
    while (low < high) {
      const middle = (low + high + 1) >> 1;
      if (chains.start[listed[middle]] <= at) low = middle; else high = middle - 1;
    }
    const found = low < 0 ? -1 : listed[low];
    return found >= 0 && at <= chains.start[found] + chains.length[found] ? found : -1;
  }

  // What came before a moment on a lane, back to the window's start or to what is not listed: on each lane from
  // a time until another, and the cause that led there.
  function wayTo(lane, at) {
    const hops = [];
    let index = chainAt(lane, at), until = at;
    while (index >= 0 && hops.length < MOST) {
      const from = {lane: chains.cause[index], at: chains.at[index], dependency: dependencies[chains.dependency[index]]};
      hops.push({lane: chains.lane[index], from: chains.start[index], until, cause: from.lane < 0 ? null : from});
      until = chains.at[index];
      index = chains.before[index];
    }
    return hops;
  }

  // Why work starts that begins at a time on a lane.
  function reasonAt(lane, at) {
    const index = chainAt(lane, at);
    if (index < 0) return "";
    if (chains.start[index] !== at) return "follows what is before it on its lane";
    const dependency = dependencies[chains.dependency[index]];
    if (!dependency) return "nothing before it is known";
    const reason = reasons[chains.reason[index]];
    const where = chains.cause[index] < 0 ? "a lane that is not drawn" : lanes[chains.cause[index]].name;
    return `after ${where}, ${duration(at - chains.at[index])} before: ${dependency}${reason ? ` (${reason})` : ""}`;
  }

  return {wayTo, reasonAt};
}
