// The section on α as a dial.
function alphaSection() {
  const GRID = span(101).map((step) => 1 + step / 50);
  const alpha = alphaSlider("alpha-alpha");
  function draw() {
    const sheet = canvas("alpha-curves");
    const ticks = [1, 1.5, 2, 2.5, 3];
    const share = { low: 0, high: 1, ticks: [0, 0.5, 1], label: "weight" };
    const places = frame(sheet, { low: 1, high: 3, ticks, label: "α" }, share, { right: 24, drop: 15 });
    const curves = GRID.map((a) => maps.entmax(row.scores, { alpha: a }));
    span(COUNT).forEach((key) => {
      sheet.back.append(line(GRID.map((a, step) => [places.x(a), places.y(curves[step][key])]), `k${key}`));
    });
    nameEnds(sheet, places, curves);
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
    const here = below.x(alpha.value);
    const size = (a) => maps.support(maps.entmax(row.scores, { alpha: a }));
    const corners = GRID.flatMap((a, step) => {
      if (step === 0 || sizes[step] === sizes[step - 1]) return [[a, sizes[step]]];
      const drop = maps.bisect(GRID[step - 1], a, (at) => size(at) === sizes[step - 1], 20);
      return [[drop, sizes[step - 1]], [drop, sizes[step]], [a, sizes[step]]];
    });
    steps.back.append(line(corners.map(([a, count]) => [below.x(a), below.y(count)]), "entmax"));
    steps.back.append(create("line", { class: "marker", x1: here, x2: here, y1: below.top, y2: below.bottom }));
    steps.say(`Support falls from ${sizes[0]} at α 1 to ${sizes.at(-1)} at α 3; it is ${maps.support(weights)} at α ${shown(alpha.value)}.`);

    const change = maps.alphaDerivative(row.scores, alpha.value);
    const slope = canvas("alpha-derivative");
    // One scale for all rows and every α: none reaches 1.12, the most where one score stands 1.73 before seven that tie.
    const high = 1.2;
    const up = { low: -high, high, ticks: [-1, 0, 1], form: (v) => shown(v, 0), label: "∂p/∂α" };
    const at = frame(slope, keyAxis, up);
    const wide = ((at.right - at.left) / COUNT) * 0.6;
    change.forEach((value, key) => {
      const [top, bottom] = [at.y(Math.max(value, 0)), at.y(Math.min(value, 0))];
      const box = { x: at.x(key) - wide / 2, width: wide, y: top, height: Math.max(bottom - top, 0.8) };
      slope.back.append(create("rect", { class: `bar k${key}`, ...box }));
    });
    slope.say(`∂p/∂α at α ${shown(alpha.value)}: ${listed(change, 3)}.`);
    $("alpha-said").textContent = `α = ${shown(alpha.value)}: ${spread(weights)}.`;
  }
  // The number of each key stands where its line ends: below the axis where the key leaves, else at the right.
  function nameEnds(sheet, places, curves) {
    const last = span(COUNT).map((key) => GRID[curves.findIndex((p) => p[key] === 0)] ?? Infinity);
    const [left, stayed] = [(a) => a < Infinity, (a) => a === Infinity].map((is) => span(COUNT).filter((key) => is(last[key])));
    const feet = apart(left.map((key) => places.x(last[key])), 12, places.right);
    left.forEach((key, index) => sheet.back.append(words(feet[index], places.bottom + 14, key + 1, `key k${key}`)));
    const rises = apart(stayed.map((key) => places.bottom - places.y(curves.at(-1)[key])), 14, places.bottom - places.top);
    stayed.forEach((key, index) => {
      sheet.back.append(words(places.right + 5, places.bottom - rises[index] + 4, key + 1, `key k${key}`, "start"));
    });
  }
  watch(draw);
}
