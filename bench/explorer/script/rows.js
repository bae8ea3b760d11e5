// Sections on one row: weights side by side, the waterline, α, fused neighbours, budgets.
function weightsSection() {
  const k = slider("weights-k", draw, (value) => shown(value, 0));
  const alpha = slider("weights-alpha", draw);
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
  const alpha = slider("water-alpha", draw);
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
    if (level >= LOWEST) {
      sheet.back.append(create("line", { class: "surface", x1: places.left, x2: places.right, y1: surface, y2: surface }));
      sheet.back.append(words(places.right - 4, surface - 6, `θ = ${shown(level)}`, "ink", "end"));
    }
    const height = Number.isFinite(level) ? `The water stands at ${shown(level)}` : "There is no water";
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

function alphaSection() {
  const GRID = span(101).map((step) => 1 + step / 50);
  const alpha = slider("alpha-alpha", draw);
  function draw() {
    const sheet = canvas("alpha-curves");
    const ticks = [1, 1.5, 2, 2.5, 3];
    const places = frame(sheet, { low: 1, high: 3, ticks, label: "α" }, { low: 0, high: 1, ticks: [0, 0.5, 1], label: "weight" });
    const curves = GRID.map((a) => maps.entmax(row.scores, { alpha: a }));
    span(COUNT).forEach((key) => {
      sheet.back.append(line(GRID.map((a, step) => [places.x(a), places.y(curves[step][key])]), `k${key}`));
    });
    const x = places.x(alpha.value);
    sheet.back.append(create("line", { class: "marker", x1: x, x2: x, y1: places.top, y2: places.bottom }));
    const weights = maps.entmax(row.scores, { alpha: alpha.value });
    weights.forEach((weight, key) => {
      sheet.back.append(create("circle", { class: `point k${key}`, cx: x, cy: places.y(weight), r: 3.6 }));
    });
    const sizes = curves.map(maps.support);
    sheet.say(`Weights at α ${shown(alpha.value)}: ${listed(weights, 3)}; ${spread(weights)}.`);

    const steps = canvas("alpha-support");
    const below = frame(steps, { low: 1, high: 3, ticks, label: "α" }, { low: 0, high: COUNT, ticks: [1, 4, 8], label: "support" });
    const corners = sizes.flatMap((size, step) => [GRID[step - 1] ?? 1, GRID[step]].map((a) => [below.x(a), below.y(size)]));
    steps.back.append(line(corners, "entmax"));
    steps.back.append(create("line", { class: "marker", x1: x, x2: x, y1: below.top, y2: below.bottom }));
    steps.say(`Support falls from ${sizes[0]} at α 1 to ${sizes.at(-1)} at α 3; it is ${maps.support(weights)} at α ${shown(alpha.value)}.`);

    const change = maps.alphaDerivative(row.scores, alpha.value);
    const slope = canvas("alpha-derivative");
    const high = Math.max(0.05, ...change.map(Math.abs)) * 1.15;
    const up = { low: -high, high, ticks: [-high, 0, high], form: (v) => shown(v), label: "∂p/∂α" };
    const at = frame(slope, keyAxis, up, { left: 58 });
    const wide = ((at.right - at.left) / COUNT) * 0.6;
    change.forEach((value, key) => {
      const [top, bottom] = [at.y(Math.max(value, 0)), at.y(Math.min(value, 0))];
      const box = { x: at.x(key) - wide / 2, width: wide, y: top, height: Math.max(bottom - top, 0.8) };
      slope.back.append(create("rect", { class: `bar k${key}`, ...box }));
    });
    slope.say(`∂p/∂α at α ${shown(alpha.value)}: ${listed(change, 3)}.`);
    $("alpha-said").textContent = `α = ${shown(alpha.value)}: ${spread(weights)}.`;
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
  let budgets = Array(COUNT).fill(0.3);
  const common = slider("budget-all", () => {
    budgets = budgets.map(() => common.value);
    draw();
  });
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
    const weights = feasible ? maps.constrained(row.scores, { upper: budgets }) : row.scores.map(() => 0);
    const sheet = canvas("budget-weights");
    places = bars(sheet, weights, "constrained", false);
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
