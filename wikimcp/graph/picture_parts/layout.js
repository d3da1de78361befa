"use strict";

// Where nodes lie: a force layout. Linked nodes attract each other, all repel each other (far ones by the
// centre of their square of a quadtree, after Barnes and Hut 1986), clusters keep together. The same graph
// always comes out the same: there is no chance in it.

const Layout = (() => {
  const OPENING = 0.81; // the square of width over distance below which a square counts as one body
  const REPULSION = 42, LENGTH = 34, DAMPING = 0.58, TOGETHER = 0.09, INWARD = 0.018, FAR = 1400;
  const GOLDEN = Math.PI * (3 - Math.sqrt(5));

  // The squares of one moment: child[4 * s + q] is 0 for none, a square s > 0, or -(body + 1).
  let child = new Int32Array(0), mass, atX, atY, count = 0;

  function room(bodies) {
    if (mass && child.length >= bodies * 16) return;
    const squares = bodies * 4 + 64;
    child = new Int32Array(squares * 4);
    mass = new Float64Array(squares); atX = new Float64Array(squares); atY = new Float64Array(squares);
  }

  function square() {
    const made = count++;
    child.fill(0, 4 * made, 4 * made + 4);
    mass[made] = atX[made] = atY[made] = 0;
    return made;
  }

  // Build the quadtree of all nodes; return [left, top, width] of the root.
  function build(nodes) {
    let left = Infinity, top = Infinity, right = -Infinity, bottom = -Infinity;
    for (const n of nodes) {
      left = Math.min(left, n.x); right = Math.max(right, n.x); top = Math.min(top, n.y); bottom = Math.max(bottom, n.y);
    }
    const width = Math.max(right - left, bottom - top, 1) * 1.001;
    room(nodes.length);
    count = 0;
    square();
    nodes.forEach((n, body) => {
      let at = 0, x = left, y = top, w = width;
      for (let depth = 0; depth < 40 && count < mass.length - 2; depth++) {
        mass[at] += n.weight; atX[at] += n.x * n.weight; atY[at] += n.y * n.weight;
        w /= 2;
        const east = n.x >= x + w, south = n.y >= y + w, slot = 4 * at + (east ? 1 : 0) + (south ? 2 : 0);
        if (east) x += w;
        if (south) y += w;
        const there = child[slot];
        if (there === 0) { child[slot] = -(body + 1); return; }
        if (there > 0) { at = there; continue; }
        const other = nodes[-there - 1], made = square(); // two bodies in one square: part it
        child[slot] = made;
        mass[made] = other.weight; atX[made] = other.x * other.weight; atY[made] = other.y * other.weight;
        child[4 * made + (other.x >= x + w / 2 ? 1 : 0) + (other.y >= y + w / 2 ? 2 : 0)] = there;
        at = made;
      }
    });
    for (let s = 0; s < count; s++) { atX[s] /= mass[s]; atY[s] /= mass[s]; }
    return width;
  }

  const stack = [];
  function repel(nodes, width, strength) {
    nodes.forEach((n, body) => {
      stack.length = 0;
      stack.push(0, width);
      while (stack.length) {
        const w = stack.pop(), s = stack.pop();
        let dx = n.x - atX[s], dy = n.y - atY[s], d2 = dx * dx + dy * dy;
        if (w * w < OPENING * d2) {
          if (d2 < FAR * FAR) { const f = strength * mass[s] / d2; n.vx += dx * f; n.vy += dy * f; }
          continue;
        }
        for (let q = 0; q < 4; q++) {
          const there = child[4 * s + q];
          if (there > 0) { stack.push(there, w / 2); continue; }
          if (there === 0 || there === -(body + 1)) continue;
          const o = nodes[-there - 1];
          dx = n.x - o.x; dy = n.y - o.y; d2 = dx * dx + dy * dy;
          if (d2 < 1e-6) { dx = Math.cos(body * GOLDEN); dy = Math.sin(body * GOLDEN); d2 = 1; }
          const near = (n.r + o.r + 3) ** 2, f = strength * o.weight / Math.max(d2, 16);
          n.vx += dx * f; n.vy += dy * f;
          if (d2 < near) { const push = 0.5 * (Math.sqrt(near / d2) - 1); n.vx += dx * push; n.vy += dy * push; }
        }
      }
    });
  }

  // Nodes without a place begin on a spiral, cluster after cluster; those that come later, at their neighbours.
  function place(nodes) {
    const fresh = nodes.filter((n) => n.x === undefined), old = nodes.length - fresh.length;
    fresh.sort((a, b) => (a.group - b.group) || (b.degree - a.degree) || (a.i - b.i));
    fresh.forEach((n, k) => {
      const near = old ? n.edges.map((e) => (e.s === n ? e.t : e.s)).filter((o) => o.x !== undefined) : [];
      const radius = near.length ? 14 + (k % 7) : 13 * Math.sqrt(k + 1), turn = k * GOLDEN;
      const x = near.reduce((sum, o) => sum + o.x, 0) / (near.length || 1);
      const y = near.reduce((sum, o) => sum + o.y, 0) / (near.length || 1);
      n.startX = x + radius * Math.cos(turn); n.startY = y + radius * Math.sin(turn);
    });
    for (const n of fresh) { n.x = n.startX; n.y = n.startY; n.vx = n.vy = 0; }
  }

  function tick(nodes, links, heat) {
    const width = build(nodes);
    repel(nodes, width, REPULSION * heat);
    for (const [a, b, strength, bias] of links) {
      const dx = b.x + b.vx - a.x - a.vx, dy = b.y + b.vy - a.y - a.vy, d = Math.sqrt(dx * dx + dy * dy) || 1;
      const f = (d - LENGTH) / d * heat * strength;
      b.vx -= dx * f * bias; b.vy -= dy * f * bias;
      a.vx += dx * f * (1 - bias); a.vy += dy * f * (1 - bias);
    }
    const centres = new Map();
    for (const n of nodes) {
      if (n.group < 0) continue;
      const c = centres.get(n.group) || [0, 0, 0];
      c[0] += n.x; c[1] += n.y; c[2]++;
      centres.set(n.group, c);
    }
    for (const n of nodes) {
      const c = centres.get(n.group);
      if (c && c[2] > 1) { n.vx += (c[0] / c[2] - n.x) * TOGETHER * heat; n.vy += (c[1] / c[2] - n.y) * TOGETHER * heat; }
      n.vx -= n.x * INWARD * heat; n.vy -= n.y * INWARD * heat;
      n.vx *= DAMPING; n.vy *= DAMPING;
      if (n.held) { n.vx = n.vy = 0; continue; }
      const speed = Math.hypot(n.vx, n.vy);
      if (speed > 60) { n.vx *= 60 / speed; n.vy *= 60 / speed; }
      n.x += n.vx; n.y += n.vy;
    }
  }

  // Links for tick(): one for each pair, weaker where the ends have many.
  function linksOf(edges) {
    const seen = new Map(), degree = new Map();
    for (const e of edges) {
      const key = e.s.i < e.t.i ? `${e.s.i} ${e.t.i}` : `${e.t.i} ${e.s.i}`;
      if (e.s === e.t || seen.has(key)) continue;
      seen.set(key, [e.s, e.t]);
      degree.set(e.s, (degree.get(e.s) || 0) + 1);
      degree.set(e.t, (degree.get(e.t) || 0) + 1);
    }
    return [...seen.values()].map(([a, b]) => {
      const da = degree.get(a), db = degree.get(b);
      const apart = a.group >= 0 && b.group >= 0 && a.group !== b.group ? 0.25 : 1;
      return [a, b, apart / Math.min(da, db), da / (da + db)];
    });
  }

  return { place, tick, linksOf };
})();
