"use strict";

// Draws the charts of the page: each names its function, which a page without such a chart does not hold.
{
  const charts = JSON.parse(document.getElementById("data").textContent);
  for (const figure of document.querySelectorAll("figure[data-chart]")) {
    const chart = charts[Number(figure.dataset.chart)];
    const draw = {lanes: window.drawLanes, plot: window.drawPlot}[chart.draw];
    const made = draw(TOOLS, figure, chart.data);
    if (chart.draw === "lanes") findNames(TOOLS, made);
  }
}
