// Sections on more than one row: attention as kernel regression, and masks over a matrix of scores.
function kernelSection() {
  const NAMES = { 2: "Epanechnikov", 1.5: "Biweight", "4/3": "Triweight", 1.25: "Kernel with r = 4", 1: "Gaussian" };
  const { x, y } = data.points;
  const kind = choice("kernel-alpha", draw);
  const width = slider("kernel-width", draw);
  const query = slider("kernel-query", draw);
  const alphaOf = (value) => (value === "4/3" ? 4 / 3 : Number(value));
  function draw() {
    const alpha = alphaOf(kind.value);
    const scores = (at) => x.map((key) => -((at - key) ** 2) / (2 * width.value ** 2));
    const weigh = (at) => maps.entmax(scores(at), { alpha });
    const weights = weigh(query.value);
    const level = maps.waterline(scores(query.value), alpha);
    const reach = Math.sqrt(-2 * level) * width.value; // where the score meets the water

    const sheet = canvas("kernel-fit");
    const across = { low: 0, high: 1, ticks: [0, 0.25, 0.5, 0.75, 1], label: "x" };
    const places = frame(sheet, across, { low: -1, high: 2, ticks: [-1, 0, 1, 2], form: (v) => shown(v, 0), label: "y" });
    if (Number.isFinite(reach)) {
      const [from, to] = [query.value - reach, query.value + reach].map((v) => places.x(clamp(v, 0, 1)));
      sheet.back.append(create("rect", { class: "window", x: from, width: to - from, y: places.top, height: places.bottom - places.top }));
    }
    const grid = span(161).map((step) => step / 160);
    const fit = (at, p = weigh(at)) => maps.sum(p.map((weight, i) => weight * y[i]));
    sheet.back.append(line(grid.map((at) => [places.x(at), places.y(fit(at))]), "entmax"));
    const most = Math.max(...weights);
    x.forEach((key, i) => {
      const size = weights[i] > 0 ? 2.5 + 4 * Math.sqrt(weights[i] / most) : 2.5;
      sheet.back.append(create("circle", { class: weights[i] > 0 ? "point entmax" : "point none", cx: places.x(key), cy: places.y(y[i]), r: size }));
    });
    const at = places.x(query.value);
    sheet.back.append(create("line", { class: "marker", x1: at, x2: at, y1: places.top, y2: places.bottom }));

    const below = canvas("kernel-weights");
    const top = Math.max(...scores(query.value));
    const shape = grid.map((v) => {
      const score = -((v - query.value) ** 2) / (2 * width.value ** 2);
      return alpha === 1 ? most * Math.exp(score - top) : most * (Math.max(score - level, 0) / (top - level)) ** (1 / (alpha - 1));
    });
    // Between two points the kernel stands higher than the weight of either.
    const high = 1.05 * Math.max(most, ...shape);
    const stems = frame(below, across, { low: 0, high, ticks: [0, most], form: (v) => shown(v), label: "weight" }, { left: 58 });
    below.back.append(line(grid.map((v, i) => [stems.x(v), stems.y(shape[i])]), "kernel"));
    x.forEach((key, i) => {
      if (weights[i] > 0) {
        below.back.append(create("line", { class: "stem entmax", x1: stems.x(key), x2: stems.x(key), y1: stems.bottom, y2: stems.y(weights[i]) }));
      }
    });
    const name = NAMES[kind.value];
    const reached = Number.isFinite(reach) ? `reaches ${shown(reach, 3)} to either side` : "reaches every point";
    const said = `${name} at x = ${shown(query.value)}: ${reached}, ${spread(weights)}; the estimate is ${shown(fit(query.value, weights))}.`;
    sheet.say(said);
    below.say(`Weights over x. ${said}`);
    $("kernel-said").textContent = said;
  }
  redraws.push(draw);
}

function patternSection() {
  const { scores, masks, causal } = data.pattern;
  const n = scores.length;
  const normalizers = {
    softmax: maps.softmax,
    topk: (z, _, mask) => maps.topk(z, { ratio: 0.25 }, mask),
    bottomk: (z, _, mask) => maps.bottomk(z, { ratio: 0.25 }, mask),
    scalable: (z, _, mask) => maps.scalable(z, { s: 0.43 }, mask),
    entmax125: (z, _, mask) => maps.entmax(z, { alpha: 1.25 }, mask),
    entmax15: (z, _, mask) => maps.entmax(z, { alpha: 1.5 }, mask),
    sparsemax: maps.sparsemax,
    fusedmax: (z, _, mask) => maps.fusedmax(z, { lam: 0.25 }, mask),
    softmax1: (z, _, mask) => maps.sink(z, { s: 0 }, mask),
    sink: (z, _, mask) => maps.sink(z, { s: 2 }, mask),
    stick: maps.stick,
    sigmoid: maps.sigmoid,
    softpick: maps.softpick,
  };
  const pattern = choice("pattern-kind", draw);
  const normalizer = choice("pattern-map", draw);
  const size = slider("pattern-size", draw, (value) => shown(value, 0));
  $("pattern-causal").addEventListener("change", draw);
  function draw() {
    const bits = masks[pattern.value][size.value - 1];
    const past = $("pattern-causal").checked;
    const keep = bits.map((of, i) => span(n).map((j) => Boolean(of & (1 << j)) && (!past || Boolean(causal[i] & (1 << j)))));
    const weights = scores.map((z, i) => normalizers[normalizer.value](z, {}, keep[i]));
    const sheet = canvas("pattern-weights");
    const side = Math.min(sheet.width - 40, sheet.height - 40);
    const [cell, left, top] = [side / n, (sheet.width - side) / 2, 22];
    sheet.back.append(words(left + side / 2, 14, "keys"));
    sheet.back.append(create("text", { class: "dim", "text-anchor": "middle", transform: `translate(${left - 8} ${top + side / 2}) rotate(-90)` }, "queries"));
    for (const i of span(n)) {
      for (const j of span(n)) {
        const box = { x: left + j * cell, y: top + i * cell, width: cell - 0.6, height: cell - 0.6 };
        const kind = !keep[i][j] ? "dropped" : weights[i][j] > 0 ? "kept" : "nothing";
        sheet.back.append(create("rect", { class: "cell " + kind, ...box }));
        if (kind === "kept") sheet.back.append(create("rect", { class: "cell weight", ...box, opacity: Math.sqrt(Math.min(weights[i][j], 1)).toFixed(3) }));
      }
    }
    const kept = maps.sum(keep.map((of) => of.filter(Boolean).length));
    const used = maps.sum(weights.map(maps.support));
    const said = `The mask keeps ${kept} of ${n * n} pairs, the weights use ${used} of them: support ${shown(used / n, 1)} keys per query.`;
    sheet.say(said);
    $("pattern-said").textContent = said;
    const counts = canvas("pattern-support");
    const places = frame(counts, { low: -0.5, high: n - 0.5, ticks: [0, 5, 11, 17, 23], form: (i) => i + 1, label: "query" }, { low: 0, high: n, ticks: [0, 12, 24], label: "keys" });
    const wide = ((places.right - places.left) / n) * 0.7;
    for (const i of span(n)) {
      const x = places.x(i) - wide / 2;
      for (const [count, kind] of [[keep[i].filter(Boolean).length, "allowed"], [maps.support(weights[i]), "sparsemax"]]) {
        counts.back.append(create("rect", { class: `bar ${kind}`, x, width: wide, y: places.y(count), height: places.bottom - places.y(count) }));
      }
    }
    counts.say(`Keys kept and used by each query: ${weights.map((p, i) => `${keep[i].filter(Boolean).length}/${maps.support(p)}`).join(", ")}.`);
  }
  redraws.push(draw);
}
