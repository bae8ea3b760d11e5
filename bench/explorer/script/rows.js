// Sections on one row: weights side by side, the waterline, fused neighbours, budgets.
function weightsSection() {
  const k = slider("weights-k", draw, (value) => shown(value, 0));
  const alpha = alphaSlider("weights-alpha");
  let places;
  const place = scoreHandles("weights-scores", () => places);
  const inputs = span(COUNT).map((index) => slider(`score-${index}`, () => row.change(index, $(`score-${index}`).valueAsNumber)));
  for (const [name, scores] of Object.entries(PRESETS)) $(`preset-${name}`).addEventListener("click", () => row.set(scores));

  function draw() {
    const sheet = canvas("weights-scores");
    places = frame(sheet, keyAxis, { ...scoreAxis, label: "score" });
    row.scores.forEach((score, index) => {
      const ends = { x1: places.x(index), x2: places.x(index), y1: places.y(0), y2: places.y(score) };
      sheet.back.append(create("line", { class: "stem thick", ...ends }));
    });
    sheet.say(`Scores of keys 1 to ${COUNT}: ${listed(row.scores, 1)}.`);
    place();
    inputs.forEach((_, index) => {
      const input = $(`score-${index}`);
      if (input.valueAsNumber !== row.scores[index]) input.value = row.scores[index];
      input.setAttribute("aria-valuetext", shown(row.scores[index], 1));
      $(`score-${index}-value`).textContent = shown(row.scores[index], 1);
    });
    const found = {
      softmax: maps.softmax(row.scores),
      topk: maps.topk(row.scores, { k: k.value }),
      sparsemax: maps.sparsemax(row.scores),
      entmax: maps.entmax(row.scores, { alpha: alpha.value }),
    };
    for (const [name, weights] of Object.entries(found)) {
      const part = canvas(`weights-${name}`);
      bars(part, weights, name);
      part.say(`Weights: ${listed(weights, 3)}; ${spread(weights)}.`);
      $(`weights-${name}-support`).textContent = spread(weights);
    }
  }
  watch(draw);
}

function waterlineSection() {
  const alpha = alphaSlider("water-alpha");
  let places;
  const place = scoreHandles("water-scores", () => places);
  function draw() {
    const sheet = canvas("water-scores");
    places = frame(sheet, keyAxis, { ...scoreAxis, label: "score" });
    const weights = maps.entmax(row.scores, { alpha: alpha.value });
    const level = maps.waterline(row.scores, alpha.value);
    const surface = clamp(places.y(Math.max(level, -99)), places.top, places.bottom);
    const below = { x: places.left, width: places.right - places.left, y: surface, height: places.bottom - surface };
    sheet.back.append(create("rect", { class: "water", ...below }));
    row.scores.forEach((score, index) => {
      const alive = weights[index] > 0;
      const ends = { x1: places.x(index), x2: places.x(index), y1: alive ? surface : places.bottom, y2: places.y(score) };
      sheet.back.append(create("line", { class: alive ? "stem entmax thick" : "stem drowned", ...ends }));
    });
    const seen = level >= LOWEST;
    if (seen) {
      sheet.back.append(create("line", { class: "surface", x1: places.left, x2: places.right, y1: surface, y2: surface }));
      sheet.back.append(words(places.right - 4, surface - 6, `θ = ${shown(level)}`, "ink", "end"));
    }
    const where = seen ? `The water stands at ${shown(level)}` : `The water is below the drawing, at ${shown(level)}`;
    const height = Number.isFinite(level) ? where : "There is no water";
    const said = `${height}: ${spread(weights)}.`;
    sheet.say(`Scores ${listed(row.scores, 1)}. ${said}`);
    $("water-said").textContent = said;
    place();
    const part = canvas("water-weights");
    bars(part, weights, "entmax");
    part.say(`Weights: ${listed(weights, 3)}; ${spread(weights)}.`);
  }
  watch(draw);
}

function fusedSection() {
  const lam = slider("fused-lam", draw);
  let places;
  const place = scoreHandles("fused-scores", () => places);
  function draw() {
    const sheet = canvas("fused-scores");
    places = frame(sheet, keyAxis, { ...scoreAxis, label: "score" });
    const levels = maps.fused(row.scores, lam.value);
    const half = (places.x(1) - places.x(0)) / 2;
    const steps = levels.flatMap((level, key) => [-half, half].map((side) => [places.x(key) + side, places.y(level)]));
    sheet.back.append(line(steps, "fusedmax"));
    row.scores.forEach((score, key) => {
      const ends = { x1: places.x(key), x2: places.x(key), y1: places.y(score), y2: places.y(levels[key]) };
      sheet.back.append(create("line", { class: "stem", ...ends }));
    });
    const plateaus = 1 + span(COUNT - 1).filter((key) => Math.abs(levels[key + 1] - levels[key]) > 1e-7).length;
    const weights = maps.fusedmax(row.scores, { lam: lam.value });
    const said = `${plateaus} plateau${plateaus > 1 ? "s" : ""}; ${spread(weights)}.`;
    sheet.say(`Scores ${listed(row.scores, 1)}, fused to ${listed(levels)}: ${said}`);
    $("fused-said").textContent = `λ = ${shown(lam.value)}: ${said}`;
    place();
    const part = canvas("fused-weights");
    bars(part, weights, "fusedmax");
    part.say(`Weights: ${listed(weights, 3)}; ${said}`);
  }
  watch(draw);
}

function budgetSection() {
  const common = slider("budget-all", () => {
    budgets = budgets.map(() => common.value);
    draw();
  });
  let budgets = Array(COUNT).fill(common.value);
  let places;
  const place = handles("budget-weights", {
    count: COUNT,
    name: "budget of key",
    kind: "cap",
    low: 0,
    high: 1,
    step: 0.05,
    read: (index) => budgets[index],
    write: (index, value) => {
      budgets[index] = Number(value.toFixed(2));
      draw();
    },
    place: (index) => ({ x: places.x(index), y: places.y(budgets[index]) }),
    valueAt: (y) => places.yValue(y),
  });
  function draw() {
    const total = maps.sum(budgets);
    const feasible = total >= 1 - 1e-6; // the library's own slack
    const weights = feasible ? maps.constrained(row.scores, { upper: budgets }) : [];
    const sheet = canvas("budget-weights");
    places = feasible ? bars(sheet, weights, "constrained", false) : weightFrame(sheet, COUNT);
    const one = budgets.every((budget) => budget === common.value) ? shown(common.value) : "mixed";
    $("budget-all-value").textContent = one;
    $("budget-all").setAttribute("aria-valuetext", one);
    budgets.forEach((budget, key) => {
      const half = ((places.right - places.left) / COUNT) * 0.42;
      const ends = { x1: places.x(key) - half, x2: places.x(key) + half, y1: places.y(budget), y2: places.y(budget) };
      sheet.back.append(create("line", { class: "cap", ...ends }));
    });
    const full = span(COUNT).filter((key) => weights[key] > 0 && weights[key] > budgets[key] - 1e-9).length;
    const said = feasible
      ? `Budgets add up to ${shown(total)}; ${full} spent in full; ${spread(weights)}.`
      : `Budgets add up to ${shown(total)}, less than 1: no weights fit below them, and the library refuses them.`;
    sheet.say(feasible ? `Weights: ${listed(weights, 3)}. ${said}` : said);
    $("budget-said").textContent = said;
    place();
    const free = canvas("budget-free");
    const unbounded = maps.sparsemax(row.scores);
    bars(free, unbounded, "sparsemax");
    free.say(`Weights of sparsemax without budgets: ${listed(unbounded, 3)}; ${spread(unbounded)}.`);
  }
  watch(draw);
}
