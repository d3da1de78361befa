// The page: reads the data, keeps what is filtered, selected and searched for, and answers pointer and keys.
// Every text of the wiki goes in as text (textContent, fillText), never as markup.

(() => {
  const $ = (id) => document.getElementById(id);
  const data = JSON.parse($("data").textContent);
  const NO_CLUSTER = "no cluster", OFF_AT_FIRST = new Set(["tag", "external", "attachment", "source"]);
  const MOST_FOUND = 40, MOST_LISTED = 30, TICKS = 300, BEFORE = 90;
  const number = (n) => n.toLocaleString("en");

  const make = (tag, className, text) => {
    const made = document.createElement(tag);
    if (className) made.className = className;
    if (text !== undefined) made.textContent = text;
    return made;
  };
  const name = (text) => { const made = make("span", "name", text); made.dir = "auto"; return made; };

  // The graph

  const types = data.types.map(([label, ofPages], place) => ({ place, label, ofPages, on: ofPages || !OFF_AT_FIRST.has(label), many: 0 }));
  const typesShown = [...types].sort((a, b) => b.ofPages - a.ofPages || a.place - b.place);
  const clusters = data.clusters.map((label, place) => ({ place, label: label || NO_CLUSTER, on: true, many: 0, none: !label }));
  const relations = data.relations.map((label, place) => ({ place, label, words: label.replaceAll("_", " "), on: true, many: 0 }));
  const nodes = data.nodes.map(([id, label, type, groups, summary, path, date], i) => {
    types[type].many++;
    groups.forEach((g) => clusters[g].many++);
    return { i, id, name: label || id, type: types[type], groups, summary, path, date, page: types[type].ofPages, edges: [], degree: 0,
      group: groups.length ? groups[0] : -1, on: false, text: `${label}\n${path}\n${id}`.toLowerCase(), long: summary.toLowerCase() };
  });
  const edges = data.edges.map(([s, t, r, inferred]) => {
    relations[r].many++;
    return { s: nodes[s], t: nodes[t], relation: relations[r], inferred: Boolean(inferred), on: false };
  });
  for (const e of edges) {
    e.s.edges.push(e);
    if (e.t !== e.s) e.t.edges.push(e);
    if (e.relation.label !== "tagged") { e.s.degree++; e.t.degree++; }
  }
  const byId = new Map(nodes.map((n) => [n.id, n]));
  const colouredClusters = clusters.filter((c) => !c.none);
  colouredClusters.forEach((c, k) => { c.colour = Canvas.colourOf(k); });
  clusters.filter((c) => c.none).forEach((c) => { c.colour = Canvas.REST; });
  types.forEach((t, k) => { t.colour = Canvas.colourOf(k); });
  relations.forEach((r, k) => { r.colour = r.label === "links_to" ? "#7d8aa0" : Canvas.colourOf((k + 1) % Canvas.PALETTE.length); });
  for (const e of edges) e.colour = e.relation.colour;
  for (const n of nodes) {
    n.r = Math.min(15, 2.6 + 0.95 * Math.sqrt(n.degree || (n.page ? 0 : n.edges.length / 4)));
    n.weight = n.page ? 1 : 0.6;
    n.shape = n.page ? "dot" : { tag: "diamond", placeholder: "ring", stub: "ring" }[n.type.label] || "box";
    if (n.group >= 0 && clusters[n.group].none) n.group = -1;
  }

  const state = { shown: [], lines: [], selected: null, hover: null, alone: false, settled: false, byDegree: [], regions: [] };

  function colour() {
    const byType = $("colours").value === "type";
    for (const n of nodes) n.colour = byType ? n.type.colour : n.group >= 0 ? clusters[n.group].colour : n.page ? Canvas.REST : "#a08c6c";
  }

  const neighbours = (n, lines = n.edges) => new Set([n, ...lines.map((e) => (e.s === n ? e.t : e.s))]);

  // What the filters leave: pages first, then what is tied to them.
  function sift() {
    const all = clusters.every((c) => c.on);
    const inCluster = (n) => n.groups.some((g) => clusters[g].on);
    for (const n of nodes) n.on = n.page && n.type.on && (all || inCluster(n));
    for (const n of nodes) {
      if (n.page || !n.type.on) continue;
      n.on = all || n.edges.some((e) => e.relation.on && (e.s === n ? e.t : e.s).page && (e.s === n ? e.t : e.s).on);
    }
    if (state.alone && state.selected) {
      const kept = neighbours(state.selected, state.selected.edges.filter((e) => e.relation.on));
      for (const n of nodes) n.on = kept.has(n) && (n.on || n === state.selected);
    }
    for (const e of edges) e.on = e.relation.on && e.s.on && e.t.on && e.s !== e.t;
    if ($("linked").checked) {
      for (const n of nodes) n.on = n.on && n.edges.some((e) => e.on);
    }
    state.shown = nodes.filter((n) => n.on);
    state.lines = edges.filter((e) => e.on);
    state.byDegree = [...state.shown].sort((a, b) => b.degree - a.degree || a.i - b.i);
  }

  function count() {
    const pages = nodes.filter((n) => n.page).length, shown = state.shown.filter((n) => n.page).length;
    const some = (n, what) => `${number(n)} ${what}${n === 1 ? "" : "s"}`;
    const few = (a, b, what) => (a === b ? some(b, what) : `${number(a)} of ${some(b, what)}`);
    const others = state.shown.length - shown, more = others ? `, ${some(others, "other node")}` : "";
    $("counts").textContent = `${few(shown, pages, "page")}${more}, ${few(state.lines.length, edges.length, "link")}`;
    $("empty").hidden = state.shown.length > 0;
    $("empty").textContent = nodes.length ? "The filters leave nothing to show." : "There is nothing in this graph yet.";
  }

  function findRegions() {
    const found = new Map();
    for (const n of state.shown) {
      if (n.group < 0) continue;
      const r = found.get(n.group) || { xs: [], ys: [] };
      r.xs.push(n.x); r.ys.push(n.y);
      found.set(n.group, r);
    }
    const middle = (values) => values.sort((a, b) => a - b)[values.length >> 1];
    state.regions = [...found].filter(([, r]) => r.xs.length >= 4).map(([g, r]) => ({ name: clusters[g].label, colour: clusters[g].colour,
      many: r.xs.length, x: middle(r.xs), y: middle(r.ys) })).sort((a, b) => b.many - a.many).slice(0, 24);
  }

  function refresh() {
    sift();
    count();
    if (state.shown.some((n) => n.x === undefined)) settle(0.35);
    findRegions();
    legend();
    Canvas.ask();
  }

  // Layout in small pieces, so that the page answers while it settles.

  let run = 0;
  function settle(heat, { fitAfter = false, quick = 0 } = {}) {
    const mine = ++run, shown = state.shown, links = Layout.linksOf(state.lines);
    Layout.place(shown);
    const large = shown.length > 5000; // fewer steps, and more of them between two pictures
    const cooling = 1 - 0.001 ** (1 / (large ? TICKS / 3 : TICKS)), frame = large ? 250 : shown.length > 2500 ? 40 : 14;
    let step = 0;
    if (!shown.length) heat = 0;
    const one = () => { Layout.tick(shown, links, heat); heat *= 1 - cooling; step++; };
    const until = performance.now() + 700;
    while (step < quick && performance.now() < until) one();
    if (fitAfter) Canvas.fit(shown);
    document.body.dataset.layout = "running";
    const go = () => {
      if (mine !== run) return;
      const end = performance.now() + frame;
      while (heat > 0.004 && performance.now() < end) one();
      if (fitAfter && !moved) Canvas.fit(shown);
      findRegions();
      Canvas.ask();
      if (heat > 0.004) { requestAnimationFrame(go); return; }
      state.settled = true;
      document.body.dataset.layout = "settled";
    };
    requestAnimationFrame(go);
  }
  let moved = false;

  function arrange() {
    for (const n of state.shown) n.x = undefined;
    moved = false;
    settle(1, { fitAfter: true, quick: BEFORE });
  }

  // Filters

  function swatch(kind, colourText) {
    const made = make("span", `swatch ${kind}`);
    if (colourText) made.style.setProperty("--swatch", colourText);
    made.setAttribute("aria-hidden", "true");
    return made;
  }
  const shapeClass = (type) => (type.ofPages ? "" : { tag: "diamond", placeholder: "ring", stub: "ring" }[type.label] || "box");
  const typeName = (t) => (t.ofPages ? t.label : { placeholder: "missing page", external: "external address", stub: "stub" }[t.label] || t.label);

  function filterList(id, things, mark, label) {
    const holder = $(id), list = make("ul"), all = make("span", "all");
    holder.querySelector("summary").append(all);
    const boxes = [];
    const set = (test) => { things.forEach((t, k) => { t.on = test(t); boxes[k].checked = t.on; }); refresh(); };
    for (const [words, test] of [["all", () => true], ["none", () => false]]) {
      const button = make("button", "", words);
      button.type = "button";
      button.setAttribute("aria-label", `${words} ${id}`);
      button.addEventListener("click", (event) => { event.preventDefault(); set(test); });
      all.append(button);
    }
    things.forEach((thing) => {
      const item = make("li"), row = make("label"), box = make("input"), only = make("button", "only", "only");
      box.type = "checkbox"; box.checked = thing.on;
      box.addEventListener("change", () => { thing.on = box.checked; refresh(); });
      only.type = "button";
      only.setAttribute("aria-label", `only ${label(thing)}`);
      only.addEventListener("click", () => set((t) => t === thing));
      const words = name(label(thing));
      words.title = label(thing);
      row.append(box, mark(thing), words);
      item.append(row, only, make("span", "count", number(thing.many)));
      boxes.push(box);
      list.append(item);
    });
    holder.append(list);
    holder.hidden = !things.length;
    return () => boxes.forEach((box, k) => { box.checked = things[k].on; });
  }

  const retick = [];
  const repaintSwatches = () => {
    const byType = $("colours").value === "type";
    document.querySelectorAll("#types .swatch").forEach((s, k) => s.style.setProperty("--swatch", byType ? typesShown[k].colour : "var(--soft)"));
    document.querySelectorAll("#clusters .swatch").forEach((s, k) => s.style.setProperty("--swatch", byType ? "var(--soft)" : clusters[k].colour));
  };

  function legend() {
    const box = $("legend"), shapes = new Map();
    for (const n of state.shown) shapes.set(n.page ? "page" : typeName(n.type), n.page ? "" : shapeClass(n.type));
    box.replaceChildren();
    const add = (mark, words) => { const item = make("span"); item.append(mark, name(words)); box.append(item); };
    for (const [words, shape] of [...shapes].slice(0, 6)) add(swatch(shape), words);
    if ($("colours").value === "type") types.filter((t) => t.on && t.ofPages).slice(0, 6).forEach((t) => add(swatch("", t.colour), t.label));
    else if (colouredClusters.length > Canvas.PALETTE.length) add(swatch("", Canvas.REST), "smaller clusters");
    if (state.lines.some((e) => e.inferred)) add(swatch("line dashed"), "said by a model alone");
    const size = make("span", "", "size: number of links");
    box.append(size);
    if (!state.selected) return;
    const own = new Map();
    for (const e of state.selected.edges) if (e.on) own.set(e.relation.place, e.relation);
    for (const r of [...own.values()].slice(0, 6)) add(swatch("line", r.colour), r.words);
  }

  // Details

  function jump(n, more) {
    const button = make("button", n.on ? "jump" : "jump away");
    button.type = "button";
    button.append(swatch(shapeClass(n.type), n.colour), name(n.name));
    if (more !== undefined) button.append(make("span", "more", more));
    button.addEventListener("click", () => select(n, { show: true, focus: true }));
    const item = make("li");
    item.append(button);
    return item;
  }

  function listed(items, row) {
    const list = make("ol");
    const add = (from) => {
      items.slice(from, from + MOST_LISTED).forEach((one) => list.append(row(one)));
      const rest = items.length - from - MOST_LISTED;
      if (rest <= 0) return;
      const item = make("li"), more = make("button", "more-button", `${number(rest)} more`);
      more.type = "button";
      more.addEventListener("click", () => { item.remove(); add(from + MOST_LISTED); list.children[from + MOST_LISTED].firstChild.focus(); });
      item.append(more);
      list.append(item);
    };
    add(0);
    return list;
  }

  function overview() {
    const box = $("detail"), pages = nodes.filter((n) => n.page), stats = make("dl", "stats");
    const lone = pages.filter((n) => !n.degree), missing = nodes.filter((n) => n.type.label === "placeholder" && !n.page);
    const named = clusters.filter((c) => !c.none).length;
    for (const [words, value] of [["pages", pages.length], ["clusters", named], ["links and relations", edges.length],
      ["other nodes", nodes.length - pages.length], ["pages linked to nothing", lone.length], ["names without a page", missing.length]]) {
      stats.append(make("dt", "", words), make("dd", "", number(value)));
    }
    box.replaceChildren(make("h2", "", "Overview"), stats);
    const most = [...pages].sort((a, b) => b.degree - a.degree || a.i - b.i).filter((n) => n.degree).slice(0, 15);
    if (most.length) box.append(make("h3", "", "Most linked pages"), listed(most, (n) => jump(n, number(n.degree))));
    if (missing.length) box.append(make("h3", "", "Names without a page"), listed(missing, (n) => jump(n, number(n.edges.length))));
    if (lone.length) box.append(make("h3", "", "Pages linked to nothing"), listed(lone, (n) => jump(n)));
  }

  function detail() {
    const n = state.selected, box = $("detail");
    if (!n) { overview(); return; }
    const title = make("h2", "", n.name), chips = make("div", "chips"), acts = make("div", "acts");
    title.dir = "auto";
    const chip = (words, mark) => { const made = make("span", "chip"); if (mark) made.append(mark); made.append(name(words)); chips.append(made); };
    chip(typeName(n.type), swatch(shapeClass(n.type), n.type.colour));
    n.groups.forEach((g) => chip(clusters[g].label, swatch("", clusters[g].colour)));
    if (n.date) chip(n.date);
    box.replaceChildren(title, chips);
    if (n.path) { const path = make("p", "path", n.path); path.dir = "auto"; box.append(path); }
    if (n.summary) { const summary = make("p", "", n.summary); summary.dir = "auto"; box.append(summary); }
    const button = (words, act, pressed) => {
      const made = make("button", "", words);
      made.type = "button";
      if (pressed !== undefined) made.setAttribute("aria-pressed", String(pressed));
      made.addEventListener("click", act);
      acts.append(made);
    };
    button("Neighbours alone", alone, state.alone);
    button("Center", () => Canvas.center(n, neighbours(n, n.edges.filter((e) => e.on))));
    button("Close", () => select(null));
    box.append(acts);
    const sorted = new Map();
    for (const e of n.edges) {
      if (e.s === e.t) continue;
      const key = `${e.s === n ? 0 : 1} ${e.relation.place}`;
      if (!sorted.has(key)) sorted.set(key, []);
      sorted.get(key).push(e);
    }
    const last = (e) => (e.relation.label === "tagged" ? 1 : 0);
    const order = [...sorted.values()].sort(([a], [b]) => last(a) - last(b) || a.relation.place - b.relation.place || (a.t === n) - (b.t === n));
    for (const some of order) {
      const out = some[0].s === n, head = make("h3");
      head.append(swatch("line", some[0].relation.colour), make("span", "", `${out ? "→" : "←"} ${some[0].relation.words}`),
        make("span", "count", number(some.length)));
      head.setAttribute("aria-label", `${out ? "to" : "from"}: ${some[0].relation.words}, ${some.length}`);
      const others = some.map((e) => [out ? e.t : e.s, e]).sort(([a], [b]) => b.degree - a.degree || a.i - b.i);
      box.append(head, listed(others, ([o, e]) => jump(o, e.inferred ? "model" : undefined)));
    }
    if (!sorted.size) box.append(make("p", "count", "Nothing links here, and it links to nothing."));
  }

  function alone() {
    if (!state.selected) return;
    state.alone = !state.alone;
    refresh();
    detail();
    Canvas.fit(state.shown);
  }

  // Select a node or nothing; the address keeps it, so that "back" goes back.
  function select(n, { show = false, focus = false, quiet = false } = {}) {
    if (n === state.selected && !show) return;
    const wasAlone = state.alone;
    state.selected = n;
    if (!n) state.alone = false;
    if (n && !n.on && !wasAlone) reveal(n);
    if (wasAlone || (n && !n.on)) refresh();
    state.hover = null;
    $("tip").hidden = true;
    if (!quiet) {
      const hash = n ? `#${encodeURIComponent(n.id)}` : "";
      if (decodeURIComponentSafe(location.hash.slice(1)) !== (n ? n.id : "")) history.pushState(null, "", hash || location.pathname + location.search);
    }
    detail();
    legend();
    if (n && show) {
      Canvas.center(n, neighbours(n, n.edges.filter((e) => e.on)));
      moved = true;
      if (state.alone) Canvas.fit(state.shown);
    }
    if (n) menu(false);
    $("detail").scrollTop = 0;
    if (focus) $("detail").focus({ preventScroll: true });
    Canvas.ask();
  }

  // A node that the filters hide is shown when a person asks for it: its type and a cluster come on.
  function reveal(n) {
    n.type.on = true;
    if (n.groups.length && !n.groups.some((g) => clusters[g].on)) clusters[n.groups[0]].on = true;
    retick.forEach((again) => again());
    refresh();
    if (!n.on) { $("linked").checked = false; refresh(); }
    if (!n.on) { // tied to pages of other clusters alone
      clusters.forEach((c) => { c.on = true; });
      retick.forEach((again) => again());
      refresh();
    }
  }

  function decodeURIComponentSafe(text) { try { return decodeURIComponent(text); } catch { return ""; } }

  // Go around the neighbours of what was selected when the round began.
  let round = { list: [], at: 0 };
  function step(by) {
    const n = state.selected;
    if (!n) { if (state.byDegree.length) select(state.byDegree[0], { show: true }); return; }
    if (round.list[round.at] !== n) {
      round = { list: [...neighbours(n, n.edges.filter((e) => e.on))].filter((o) => o !== n), at: by > 0 ? -1 : 0 };
    }
    if (!round.list.length) return;
    round.at = (round.at + by + round.list.length) % round.list.length;
    select(round.list[round.at], { show: true });
  }

  // Search: every word somewhere in title, path or id; the summary counts less.

  let found = [];
  function search() {
    const words = $("search").value.toLowerCase().split(/\s+/).filter(Boolean);
    const list = $("found");
    list.replaceChildren();
    found = [];
    if (!words.length) return;
    for (const n of nodes) {
      let score = 0;
      for (const word of words) {
        const title = n.name.toLowerCase();
        if (title === word) score += 8;
        else if (title.startsWith(word)) score += 5;
        else if (title.includes(word)) score += 4;
        else if (n.text.includes(word)) score += 2;
        else if (n.long.includes(word)) score += 1;
        else { score = 0; break; }
      }
      if (score) found.push([score + (n.page ? 1 : 0) + Math.min(n.degree, 99) / 100, n]);
    }
    found.sort((a, b) => b[0] - a[0] || a[1].i - b[1].i);
    found = found.map(([, n]) => n);
    found.slice(0, MOST_FOUND).forEach((n) => list.append(jump(n, n.page ? undefined : typeName(n.type))));
    if (!found.length) list.append(make("li", "none", "Nothing found"));
    else if (found.length > MOST_FOUND) list.append(make("li", "none", `${number(found.length - MOST_FOUND)} more: add a word`));
  }

  // Pointer

  const canvas = $("graph"), pointers = new Map();
  let held = null, dragged = false, last = null, pinch = 0;
  const point = (event) => { const box = canvas.getBoundingClientRect(); return [event.clientX - box.left, event.clientY - box.top]; };

  function tip(n, x, y) {
    const box = $("tip");
    if (!n) { box.hidden = true; return; }
    const title = make("b", "", n.name), linked = neighbours(n, n.edges.filter((e) => e.on)).size - 1;
    title.dir = "auto";
    box.replaceChildren(title, make("span", "", `${typeName(n.type)}${n.groups.length ? ` · ${clusters[n.groups[0]].label}` : ""} · ${number(linked)} neighbour${linked === 1 ? "" : "s"}`));
    box.hidden = false;
    const [w, h] = Canvas.size();
    box.style.transform = `translate(${Math.min(x + 14, w - box.offsetWidth - 8)}px, ${Math.min(y + 14, h - box.offsetHeight - 8)}px)`;
  }

  canvas.addEventListener("pointerdown", (event) => {
    canvas.setPointerCapture(event.pointerId);
    const [x, y] = point(event);
    pointers.set(event.pointerId, [x, y]);
    dragged = pointers.size > 1;
    last = [x, y];
    held = pointers.size === 1 && event.button === 0 ? Canvas.at(state.shown, x, y, event.pointerType === "touch" ? 14 : 5) : null;
    pinch = 0;
    canvas.classList.add("held");
  });
  canvas.addEventListener("pointermove", (event) => {
    const [x, y] = point(event);
    if (!pointers.has(event.pointerId)) {
      const over = Canvas.at(state.shown, x, y, 5);
      if (over !== state.hover) { state.hover = over; Canvas.ask(); }
      canvas.classList.toggle("over", Boolean(over));
      tip(over, x, y);
      return;
    }
    pointers.set(event.pointerId, [x, y]);
    if (pointers.size === 2) {
      const [a, b] = [...pointers.values()], apart = Math.hypot(a[0] - b[0], a[1] - b[1]);
      if (pinch) Canvas.zoom(apart / pinch, (a[0] + b[0]) / 2, (a[1] + b[1]) / 2);
      pinch = apart; moved = true;
      return;
    }
    const dx = x - last[0], dy = y - last[1];
    if (!dragged && Math.hypot(dx, dy) < 4) return;
    dragged = true; moved = true;
    if (held) { [held.x, held.y] = Canvas.toWorld(x, y); held.held = true; }
    else { Canvas.view.x -= dx / Canvas.view.scale; Canvas.view.y -= dy / Canvas.view.scale; }
    last = [x, y];
    tip(null);
    Canvas.ask();
  });
  const letGo = (event) => {
    if (!pointers.delete(event.pointerId)) return;
    canvas.classList.remove("held");
    if (event.type === "pointerup" && !dragged && event.button === 0) select(held);
    if (held) { held.held = false; findRegions(); }
    held = null;
  };
  canvas.addEventListener("pointerup", letGo);
  canvas.addEventListener("pointercancel", letGo);
  canvas.addEventListener("pointerleave", () => { if (!pointers.size) { state.hover = null; tip(null); Canvas.ask(); } });
  canvas.addEventListener("wheel", (event) => {
    event.preventDefault();
    moved = true;
    const [x, y] = point(event), pace = event.deltaMode === 1 ? 30 : 1;
    Canvas.zoom(Math.exp(-Math.max(-200, Math.min(200, event.deltaY * pace)) * 0.0022), x, y);
  }, { passive: false });
  canvas.addEventListener("dblclick", (event) => { moved = true; Canvas.zoom(1.8, ...point(event)); });

  // Keys

  const pan = (dx, dy) => { moved = true; Canvas.view.x += dx / Canvas.view.scale; Canvas.view.y += dy / Canvas.view.scale; Canvas.ask(); };
  const zoomBy = (factor) => { moved = true; Canvas.zoom(factor); };
  function theme() {
    const root = document.documentElement, dark = getComputedStyle(root).colorScheme.includes("dark");
    root.dataset.theme = dark ? "light" : "dark";
    Canvas.readTheme();
    Canvas.ask();
  }
  const anywhere = {
    "/": () => { if ($("menu").offsetWidth) menu(true); $("search").focus(); $("search").select(); },
    "?": () => $("help").showModal(),
    "+": () => zoomBy(1.3), "=": () => zoomBy(1.3), "-": () => zoomBy(1 / 1.3), 0: () => Canvas.fit(state.shown),
    n: () => step(1), p: () => step(-1), f: alone, r: arrange, t: theme,
    Escape: () => { if ($("side").classList.contains("open")) menu(false); else select(null); },
  };
  const onCanvas = {
    ArrowLeft: () => pan(-60, 0), ArrowRight: () => pan(60, 0), ArrowUp: () => pan(0, -60), ArrowDown: () => pan(0, 60),
    Enter: () => { const [w, h] = Canvas.size(); select(Canvas.at(state.shown, w / 2, h / 2, Infinity)); },
  };
  document.addEventListener("keydown", (event) => {
    if (event.ctrlKey || event.metaKey || event.altKey || $("help").open) return;
    const at = document.activeElement;
    if (at && at.matches("input[type=search], select") && event.key !== "Escape") return;
    const act = anywhere[event.key] || (at === canvas ? onCanvas[event.key] : undefined);
    if (!act) return;
    event.preventDefault();
    act();
  });
  $("search").addEventListener("keydown", (event) => {
    const first = $("found").querySelector("button");
    if (event.key === "Enter" && first) first.click();
    else if (event.key === "ArrowDown" && first) { event.preventDefault(); first.focus(); }
    else if (event.key === "Escape") { event.stopPropagation(); $("search").value = ""; search(); canvas.focus(); }
  });
  for (const id of ["found", "detail"]) {
    $(id).addEventListener("keydown", (event) => {
      if (event.key !== "ArrowDown" && event.key !== "ArrowUp") return;
      const all = [...$(id).querySelectorAll("button")], at = all.indexOf(document.activeElement);
      if (at < 0) return;
      event.preventDefault();
      const next = at + (event.key === "ArrowDown" ? 1 : -1);
      if (all[next]) all[next].focus(); else if (id === "found" && next < 0) $("search").focus();
    });
  }

  // Beginning

  function menu(open) { $("side").classList.toggle("open", open); $("menu").setAttribute("aria-expanded", String(open)); }
  const fromAddress = () => select(byId.get(decodeURIComponentSafe(location.hash.slice(1))) || null, { show: true, quiet: true });
  const clicks = { menu: () => menu(!$("side").classList.contains("open")), closer: () => zoomBy(1.3), farther: () => zoomBy(1 / 1.3),
    fit: () => Canvas.fit(state.shown), again: arrange, theme, keys: () => $("help").showModal() };
  for (const [id, act] of Object.entries(clicks)) $(id).addEventListener("click", act);
  const clusterMark = (c) => swatch("", c.colour), typeMark = (t) => swatch(shapeClass(t), "var(--soft)");
  retick.push(filterList("clusters", clusters, clusterMark, (c) => c.label), filterList("types", typesShown, typeMark, typeName),
    filterList("relations", relations, (r) => swatch("line", r.colour), (r) => r.words));
  $("search").addEventListener("input", search);
  $("linked").addEventListener("change", refresh);
  $("colours").addEventListener("change", () => { colour(); repaintSwatches(); legend(); detail(); Canvas.ask(); });
  $("reset").addEventListener("click", () => {
    [...clusters, ...relations].forEach((one) => { one.on = true; });
    types.forEach((t) => { t.on = t.ofPages || !OFF_AT_FIRST.has(t.label); });
    $("linked").checked = false;
    state.alone = false;
    retick.forEach((again) => again());
    refresh();
    detail();
    Canvas.fit(state.shown);
  });
  window.addEventListener("popstate", fromAddress);
  window.addEventListener("resize", () => { Canvas.measure(); if (!moved) Canvas.fit(state.shown); });
  matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => { Canvas.readTheme(); Canvas.ask(); });
  Canvas.onDraw(() => {
    const focus = state.selected && state.selected.on ? state.selected : state.hover;
    const near = focus ? neighbours(focus, focus.edges.filter((e) => e.on)) : null;
    Canvas.paint({ nodes: state.byDegree, edges: state.lines, selected: state.selected, hover: state.hover, focus, near, regions: state.regions });
  });

  colour();
  repaintSwatches();
  sift();
  count();
  Canvas.measure();
  settle(1, { fitAfter: true, quick: BEFORE });
  findRegions();
  legend();
  overview();
  if (location.hash.length > 1) fromAddress();
})();
