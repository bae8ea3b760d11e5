// Shows what needs a script, and draws it; again whenever the width of the page changes.
for (const part of document.querySelectorAll(".play[hidden]")) part.hidden = false;
for (const start of [weightsSection, waterlineSection, lengthSection, alphaSection, fusedSection, budgetSection, lossSection, kernelSection, patternSection]) start();
const drawAll = () => redraws.forEach((draw) => draw());
drawAll();
let seen = innerWidth;
addEventListener("resize", () => {
  if (innerWidth === seen) return;
  seen = innerWidth;
  drawAll();
});
window.explorer = { maps, data, row };
