"use strict";

// Draws the charts of the page once they are visible: each names its function, which a page without such a chart
// does not hold.
{
  const charts = JSON.parse(document.getElementById("data").textContent);
  const made = {};
  for (const figure of document.querySelectorAll("figure[data-chart]")) {
    const chart = charts[Number(figure.dataset.chart)];
    const draw = {lanes: window.drawLanes, flame: window.drawFlame, plot: window.drawPlot}[chart.draw];
    TOOLS.onceSeen(figure, () => { made[chart.draw] = draw(TOOLS, figure, chart.data); });
  }
  if (made.lanes) findNames(TOOLS, made.lanes, made.flame);
}
