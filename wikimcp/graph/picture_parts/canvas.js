// Drawing: what stands where on the canvas, in which colours, and which node lies under a point.

const Canvas = ((canvas) => {
  const PALETTE = ["#3b82c4", "#e0812b", "#3fa66a", "#d1495b", "#8a63c9", "#2aa5a0", "#d86fb0", "#b5a21c", "#6c7fd8",
    "#7aa63b", "#b4723c", "#5b9bb0", "#9fb8dd", "#d9a679", "#8fc7a3", "#dd98a0", "#b9a3d6", "#8ccac6", "#dfaacb", "#cfc37a",
    "#8a4f9e", "#2f7d54", "#a33f57", "#9c6a1c"];
  const REST = "#8b93a1", NEAREST = 0.02, CLOSEST = 12, MOST_LABELS = 90;
  const context = canvas.getContext("2d");
  const view = { x: 0, y: 0, scale: 1 };
  let width = 0, height = 0, ratio = 1, theme = {}, asked = false, draw = () => {};

  const colourOf = (place) => (place >= 0 && place < PALETTE.length ? PALETTE[place] : REST);

  function readTheme() {
    const style = getComputedStyle(document.documentElement);
    for (const name of ["ground", "panel", "ink", "soft", "accent", "edge", "halo", "mark"]) {
      theme[name] = style.getPropertyValue(`--${name}`).trim();
    }
  }

  // A colour as text: nearer to that of the other texts, so that it can be read on either ground.
  function asText(colour) {
    const parts = (hex) => [1, 3, 5].map((at) => parseInt(hex.slice(at, at + 2), 16));
    const ink = parts(theme.ink);
    return `rgb(${parts(colour).map((part, k) => Math.round(part * 0.62 + ink[k] * 0.38)).join(", ")})`;
  }

  function measure() {
    const box = canvas.getBoundingClientRect();
    ratio = Math.min(window.devicePixelRatio || 1, 2);
    width = box.width; height = box.height;
    canvas.width = Math.max(1, Math.round(width * ratio)); canvas.height = Math.max(1, Math.round(height * ratio));
    ask();
  }

  function ask() {
    if (asked) return;
    asked = true;
    requestAnimationFrame(() => { asked = false; draw(); });
  }

  const toScreen = (n) => [(n.x - view.x) * view.scale + width / 2, (n.y - view.y) * view.scale + height / 2];
  const toWorld = (sx, sy) => [(sx - width / 2) / view.scale + view.x, (sy - height / 2) / view.scale + view.y];
  const sizeOf = (n) => Math.max(1.4, n.r * Math.min(Math.max(view.scale, 0.5), 2.2) ** 0.75 * Math.min(1, Math.max(0.62, view.scale * 1.9)));

  function zoom(factor, sx = width / 2, sy = height / 2) {
    const [x, y] = toWorld(sx, sy);
    view.scale = Math.min(CLOSEST, Math.max(NEAREST, view.scale * factor));
    view.x = x - (sx - width / 2) / view.scale; view.y = y - (sy - height / 2) / view.scale;
    ask();
  }

  // Bring nodes into view; the few that lie far out do not make all others small.
  function fit(nodes) {
    if (!nodes.length || !width) return;
    const span = (values) => {
      values.sort((a, b) => a - b);
      const out = nodes.length > 200 ? Math.floor(values.length * 0.004) : 0;
      return [values[out], values[values.length - 1 - out]];
    };
    const [left, right] = span(nodes.map((n) => n.x)), [top, bottom] = span(nodes.map((n) => n.y));
    view.x = (left + right) / 2; view.y = (top + bottom) / 2;
    view.scale = Math.min((width - 70) / Math.max(right - left, 40), (height - 100) / Math.max(bottom - top, 40), 2.2);
    view.scale = Math.max(view.scale, NEAREST);
    ask();
  }

  // Put a node in the middle, at a scale that shows its neighbours and still lets one read.
  function center(n, near) {
    view.x = n.x; view.y = n.y;
    const scales = [...near].map((o) => Math.min((width / 2 - 60) / (Math.abs(o.x - n.x) || 1), (height / 2 - 50) / (Math.abs(o.y - n.y) || 1)));
    scales.sort((a, b) => a - b); // a sixth of the neighbours may lie beyond the rim
    view.scale = Math.min(1.6, Math.max(0.5, scales[Math.floor(scales.length / 6)]));
    ask();
  }

  function at(nodes, sx, sy, slack) {
    let best = null, least = Infinity;
    for (const n of nodes) {
      const [x, y] = toScreen(n), away = Math.hypot(x - sx, y - sy) - sizeOf(n);
      if (away < least) { best = n; least = away; }
    }
    return least <= slack ? best : null;
  }

  function path(n, x, y, r) {
    if (n.shape === "box") context.rect(x - r * 0.9, y - r * 0.9, r * 1.8, r * 1.8);
    else if (n.shape === "diamond") {
      context.moveTo(x, y - r * 1.15); context.lineTo(x + r * 1.15, y); context.lineTo(x, y + r * 1.15);
      context.lineTo(x - r * 1.15, y); context.closePath();
    } else { context.moveTo(x + r, y); context.arc(x, y, r, 0, 2 * Math.PI); }
  }

  // Lines of one look in one stroke: thousands of them take a few milliseconds.
  function strokes(edges, style, thickness, dash) {
    context.strokeStyle = style; context.lineWidth = thickness; context.setLineDash(dash || []);
    context.beginPath();
    for (const e of edges) {
      const [ax, ay] = toScreen(e.s), [bx, by] = toScreen(e.t);
      if ((ax < 0 && bx < 0) || (ay < 0 && by < 0) || (ax > width && bx > width) || (ay > height && by > height)) continue;
      context.moveTo(ax, ay); context.lineTo(bx, by);
    }
    context.stroke();
    context.setLineDash([]);
  }

  function arrows(edges, style) {
    context.fillStyle = style;
    context.beginPath();
    for (const e of edges) {
      const [ax, ay] = toScreen(e.s), [bx, by] = toScreen(e.t), turn = Math.atan2(by - ay, bx - ax);
      const r = sizeOf(e.t) + 2, tx = bx - r * Math.cos(turn), ty = by - r * Math.sin(turn);
      context.moveTo(tx, ty);
      context.lineTo(tx - 8 * Math.cos(turn - 0.38), ty - 8 * Math.sin(turn - 0.38));
      context.lineTo(tx - 8 * Math.cos(turn + 0.38), ty - 8 * Math.sin(turn + 0.38));
    }
    context.fill();
  }

  function dots(nodes, faded) {
    const looks = new Map();
    for (const n of nodes) {
      const [x, y] = toScreen(n);
      if (x < -40 || y < -40 || x > width + 40 || y > height + 40) continue;
      const key = `${n.colour} ${n.shape === "ring"}`;
      if (!looks.has(key)) looks.set(key, []);
      looks.get(key).push([n, x, y]);
    }
    context.globalAlpha = faded ? 0.16 : 1;
    for (const [key, some] of looks) {
      const [colour, ring] = key.split(" ");
      context.beginPath();
      for (const [n, x, y] of some) path(n, x, y, sizeOf(n));
      context.fillStyle = ring === "true" ? theme.ground : colour;
      context.fill();
      context.lineWidth = ring === "true" ? 1.6 : 0.9;
      context.strokeStyle = ring === "true" ? colour : theme.ground;
      context.stroke();
    }
    context.globalAlpha = 1;
  }

  function cut(text, most) { return text.length > most ? `${[...text.slice(0, most)].join("").trimEnd()}…` : text; }

  // A text with a halo where it hides no other; says whether there was room.
  function put(text, x, y, font, colour, taken, must, within) {
    context.font = font;
    const size = parseInt(font.match(/(\d+)px/)[1], 10), wide = context.measureText(text).width + 6;
    if (within && x > 0 && x < width) x = Math.max(wide / 2, Math.min(x, width - wide / 2));
    const box = [x - wide / 2, y - size * 0.65, x + wide / 2, y + size * 0.65];
    if (box[2] < 0 || box[0] > width || box[3] < 0 || box[1] > height) return false;
    if (!must && taken.some((b) => b[0] < box[2] && box[0] < b[2] && b[1] < box[3] && box[1] < b[3])) return false;
    taken.push(box);
    context.lineWidth = 4; context.strokeStyle = `rgba(${theme.halo}, .88)`; context.strokeText(text, x, y);
    context.fillStyle = colour; context.fillText(text, x, y);
    return true;
  }

  function labels(picture, taken) {
    const { nodes, selected, near, hover } = picture, family = "system-ui, 'Noto Sans', sans-serif";
    const put1 = (n, must, bold) => {
      const [x, y] = toScreen(n);
      const strong = bold || must;
      return put(cut(n.name, strong ? 60 : 34), x, y + sizeOf(n) + 10, `${strong ? "600 13" : "12"}px ${family}`,
        n === selected ? theme.accent : theme.ink, taken, must);
    };
    if (selected && selected.on) put1(selected, true, true);
    if (hover && hover !== selected) put1(hover, true, false);
    let left = MOST_LABELS;
    const pool = near ? nodes.filter((n) => near.has(n)) : nodes;
    const least = near ? 0 : 7.4; // a node smaller than that on the screen has no label unless there is room to spare
    for (const n of pool) {
      if (left <= 0) break;
      if (n === selected || n === hover) continue;
      if (sizeOf(n) < least && view.scale < 1.1) continue;
      if (put1(n, false, false)) left--;
    }
  }

  // Names of clusters over their middle, while one looks at the whole.
  function regions(picture, taken) {
    if (picture.near || view.scale > 0.95 || picture.nodes.length < 60) return;
    for (const { name, x, y, many, colour } of picture.regions) {
      const [sx, sy] = toScreen({ x, y });
      const size = Math.round(Math.min(19, 12 + Math.sqrt(many) * 0.55));
      put(cut(name, 36), sx, sy, `700 ${size}px system-ui, 'Noto Sans', sans-serif`, asText(colour), taken, false, true);
    }
  }

  function paint(picture) {
    const { nodes, edges, selected, near, hover } = picture;
    context.setTransform(ratio, 0, 0, ratio, 0, 0);
    context.clearRect(0, 0, width, height);
    context.textAlign = "center"; context.textBaseline = "middle"; context.lineJoin = "round";
    const thin = Math.min(1.2, 0.45 + view.scale * 0.4);
    const crowd = Math.max(0.1, Math.min(0.4, 900 / (edges.length + 1))) * (near ? 0.3 : 1);
    const inside = new Map(), across = [];
    for (const e of edges) {
      if (e.inferred) continue;
      if (e.s.colour !== e.t.colour || e.s.colour === REST) { across.push(e); continue; }
      if (!inside.has(e.s.colour)) inside.set(e.s.colour, []);
      inside.get(e.s.colour).push(e);
    }
    strokes(across, `rgba(${theme.edge}, ${crowd * 0.8})`, thin);
    context.globalAlpha = Math.min(1, crowd * 2.2);
    for (const [colour, some] of inside) strokes(some, colour, thin);
    context.globalAlpha = 1;
    strokes(edges.filter((e) => e.inferred), `rgba(${theme.edge}, ${Math.min(1, crowd * 1.6)})`, thin, [4, 3]);
    const own = near ? edges.filter((e) => e.s === picture.focus || e.t === picture.focus) : [];
    if (near) {
      dots(nodes.filter((n) => !near.has(n)), true);
      const byColour = new Map();
      for (const e of own) { if (!byColour.has(e.colour)) byColour.set(e.colour, []); byColour.get(e.colour).push(e); }
      for (const [colour, some] of byColour) {
        strokes(some.filter((e) => !e.inferred), colour, 1.5);
        strokes(some.filter((e) => e.inferred), colour, 1.5, [5, 3]);
        if (view.scale > 0.25) arrows(some, colour);
      }
      dots(nodes.filter((n) => near.has(n)), false);
    } else dots(nodes, false);
    for (const n of [selected, hover]) {
      if (!n || !n.on) continue;
      const [x, y] = toScreen(n);
      context.beginPath(); context.arc(x, y, sizeOf(n) + 4, 0, 2 * Math.PI);
      context.lineWidth = 2.2; context.strokeStyle = n === selected ? theme.accent : theme.soft; context.stroke();
    }
    const taken = [];
    regions(picture, taken);
    labels(picture, taken);
  }

  readTheme();
  return {
    PALETTE, REST, view, colourOf, readTheme, measure, ask, zoom, fit, center, at, toScreen, toWorld, paint,
    onDraw(fn) { draw = fn; },
    size: () => [width, height],
  };
})(document.getElementById("graph"));
