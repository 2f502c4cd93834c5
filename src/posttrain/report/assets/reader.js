// The trace reader. Text of models and corpora is only ever set as the text of a node, never as markup.
"use strict";
(() => {
  const SHOWN = 20000; // characters of one text that are shown before a button shows the rest
  const TOKENS = 4000; // and tokens of one reply
  const LISTED = 3000;
  const ODD = /[\u0000-\u0008\u000b-\u001f\u007f-\u009f\u200b\u200e\u200f\u2028-\u202e\u2060-\u2069\ufeff]|[\ud800-\udbff](?![\udc00-\udfff])|(?<![\ud800-\udbff])[\udc00-\udfff]/g;
  const byId = (id) => document.getElementById(id);
  const fields = ["arm", "label", "human", "type", "from", "to", "text"];
  const state = { arm: "", label: "", human: "", type: "", from: "", to: "", text: "", id: "", compare: "" };
  const chunks = new Map();
  let index = null, listed = [], turn = 0;

  function make(tag, attributes = {}, ...children) {
    const node = document.createElement(tag);
    for (const [name, value] of Object.entries(attributes)) node.setAttribute(name, value);
    node.append(...children);
    return node;
  }

  async function unpacked(id) {
    const bytes = Uint8Array.from(atob(byId(id).textContent), (letter) => letter.charCodeAt(0));
    const stream = new Blob([bytes]).stream().pipeThrough(new DecompressionStream("gzip"));
    return JSON.parse(await new Response(stream).text());
  }

  // The traces of an arm's chunk, an array per episode; unpacked when first asked for.
  function chunk(arm, number) {
    const name = `traces-${arm}-${number}`;
    if (!chunks.has(name)) chunks.set(name, unpacked(name));
    return chunks.get(name);
  }

  async function traceOf(arm, row) {
    return (await chunk(arm.key, Math.floor(row.n / index.chunk)))[row.n % index.chunk];
  }

  // Controls, marks that reorder their neighbours and half surrogates are shown by their number.
  function put(node, text) {
    let from = 0;
    for (const match of text.matchAll(ODD)) {
      node.append(text.slice(from, match.index));
      const number = match[0].charCodeAt(0).toString(16).toUpperCase().padStart(4, "0");
      node.append(make("span", { class: "odd", title: `U+${number}` }, number));
      from = match.index + match[0].length;
    }
    node.append(text.slice(from));
  }

  // A button that makes place for what it stands for.
  function later(text, show) {
    const more = make("button", { type: "button" }, text);
    more.addEventListener("click", () => { const place = document.createElement("span"); more.replaceWith(place); show(place); });
    return more;
  }

  function piece(text, attributes, tag = "span") {
    const node = make(tag, attributes), rest = text.length - SHOWN;
    put(node, text.slice(0, SHOWN));
    if (rest > 0) node.append(later(`show the other ${rest.toLocaleString("en")} characters`, (place) => put(place, text.slice(SHOWN))));
    return node;
  }

  const doubt = (logprob) => (logprob > -0.1 ? 0 : logprob > -0.4 ? 1 : logprob > -1 ? 2 : logprob > -2 ? 3 : logprob > -4 ? 4 : 5);

  // kind: 0 inserted, 1 sampled, 2 inserted control token, 3 sampled control token, 4 inserted gold paragraph.
  function traceNode([prompt, episode]) {
    const start = make("details", state.compare ? {} : { open: "" }, make("summary", {}, "first prompt"));
    putPieces(start, prompt);
    const node = make("div", { class: "text", tabindex: "0", dir: "ltr" }, start);
    putPieces(node, episode);
    return node;
  }

  function putPieces(node, pieces) {
    for (const [kind, texts, logprobs] of pieces) {
      if (kind === 1 || kind === 3) {
        const show = (place, from, to) => {
          for (let i = from; i < Math.min(to, texts.length); i++) {
            const name = `sampled${kind === 3 ? " control" : ""} d${doubt(logprobs[i])}`;
            place.append(piece(texts[i], { class: name, title: `probability ${Math.exp(logprobs[i]).toPrecision(3)}, logprob ${logprobs[i]}` }));
          }
        };
        const rest = texts.length - TOKENS;
        show(node, 0, TOKENS);
        if (rest > 0) node.append(later(`show the other ${rest.toLocaleString("en")} tokens`, (place) => show(place, TOKENS, Infinity)));
      } else {
        node.append(piece(texts, { class: kind === 2 ? "control" : kind === 4 ? "gold" : "inserted" }));
      }
    }
  }

  const verdict = (row) => (row.b ? `failed: ${row.b}` : "solved");

  async function episodeNode(arm, row, heading) {
    const node = make("article", { class: "episode" });
    const title = make("h3");
    put(title, heading);
    const facts = make("dl", { class: "facts" });
    const fact = (name, text, how = "") => {
      facts.append(make("dt", {}, name), piece(text, how ? { class: how } : {}, "dd"));
    };
    fact("gold answer", row.a.join(" | "));
    fact("prediction", row.e === "answer" ? row.p : `none (${row.e})`);
    fact("F1", `${row.f.toFixed(3)}, ${verdict(row)}`, row.b ? "failed" : "solved");
    if (row.h) fact("label by a person", row.h);
    if (row.g.length) fact("gold paragraphs", row.g.map(([title, seen]) => `${title} (${seen ? "retrieved" : "not retrieved"})`).join("; "));
    fact("searches", `${row.q.length}${row.q.length ? ": " + row.q.join(" · ") : ""}`);
    const link = make("a", { href: `#arm=${arm.key}&id=${encodeURIComponent(row.i)}` }, "link to this trace");
    node.append(title, facts, make("p", { class: "keys" }, `${row.t} tokens, ${row.u.toFixed(5)} USD · `, link), traceNode(await traceOf(arm, row)));
    return node;
  }

  const armNow = () => index.arms.find((arm) => arm.key === state.arm) || index.arms[0];

  async function show() {
    const mine = ++turn, arm = armNow();
    const row = arm.rows.find((each) => each.i === state.id) || listed[0];
    let body;
    if (!row) body = make("p", {}, "No episode passes the filter.");
    else if (state.compare) {
      const pairs = index.arms.map((each) => [each, each.rows.find((other) => other.i === row.i)]).filter(([, other]) => other);
      body = make("div", { class: "columns" }, ...(await Promise.all(pairs.map(([each, other]) => episodeNode(each, other, each.title)))));
      const question = make("h3");
      put(question, row.s);
      body = make("div", {}, question, body);
    } else body = await episodeNode(arm, row, row.s);
    if (mine !== turn) return; // a later choice came first
    byId("shown").replaceChildren(body);
    byId("shown").parentElement.classList.toggle("comparing", Boolean(state.compare));
    const place = listed.indexOf(row);
    byId("place").textContent = row ? `${place + 1 || "–"} of ${listed.length}` : "0 of 0";
    for (const link of byId("list").querySelectorAll("a")) {
      const current = row && link.dataset.id === row.i;
      if (current) { link.setAttribute("aria-current", "true"); link.scrollIntoView({ block: "nearest" }); } else link.removeAttribute("aria-current");
    }
    state.id = row ? row.i : "";
  }

  async function holds(arm, row, wanted) {
    const parts = [row.i, row.s, row.p, ...row.a, ...row.q];
    for (const [, texts] of (await traceOf(arm, row)).flat()) parts.push(typeof texts === "string" ? texts : texts.join(""));
    return parts.join("\n").toLowerCase().includes(wanted);
  }

  async function filter() {
    const mine = ++turn, arm = armNow(), from = parseFloat(state.from), to = parseFloat(state.to), wanted = state.text.trim().toLowerCase();
    const kept = [];
    for (const row of arm.rows) {
      if (state.label === "solved" ? row.b : state.label === "failed" ? !row.b : state.label && row.b !== state.label) continue;
      if (state.human && row.h !== state.human) continue;
      if (state.type && row.y !== state.type) continue;
      if (row.f < (Number.isNaN(from) ? -Infinity : from) || row.f > (Number.isNaN(to) ? Infinity : to)) continue;
      if (wanted && !(await holds(arm, row, wanted))) continue;
      kept.push(row);
    }
    if (mine !== turn) return;
    listed = kept;
    const items = kept.slice(0, LISTED).map((row) => {
      const question = make("span", { class: "question" });
      put(question, row.s);
      const how = make("span", { class: `how ${row.b ? "failed" : "solved"}` }, `${row.f.toFixed(2)} · ${verdict(row)}`);
      const link = make("a", { href: `#arm=${arm.key}&id=${encodeURIComponent(row.i)}` }, question, how);
      link.dataset.id = row.i;
      return make("li", {}, link);
    });
    byId("list").replaceChildren(...items);
    byId("count").textContent = `${kept.length} of ${arm.rows.length} episodes` + (kept.length > LISTED ? `; the first ${LISTED} are listed` : "");
    if (!kept.some((row) => row.i === state.id)) state.id = kept.length ? kept[0].i : "";
    await show();
  }

  function choices(node, values, all) {
    node.replaceChildren(...(all === undefined ? [] : [make("option", { value: "" }, all)]), ...values.map(([value, text]) => make("option", { value }, text)));
  }

  function offer() {
    const arm = armNow(), count = (key) => {
      const counts = new Map();
      for (const row of arm.rows) if (row[key]) counts.set(row[key], (counts.get(row[key]) || 0) + 1);
      return [...counts].sort().map(([value, n]) => [value, `${value} (${n})`]);
    };
    choices(byId("arm"), index.arms.map((each) => [each.key, each.title]));
    choices(byId("label"), [["solved", "solved"], ["failed", "any failure"], ...count("b")], "all");
    choices(byId("human"), count("h"), "all");
    choices(byId("type"), count("y"), "all");
    state.arm = arm.key;
    for (const name of fields) {
      byId(name).value = state[name];
      if (byId(name).value !== state[name]) byId(name).value = state[name] = "";
    }
    byId("compare").checked = Boolean(state.compare);
  }

  function write() {
    const said = new URLSearchParams();
    for (const [name, value] of Object.entries(state)) if (value) said.set(name, value);
    history.replaceState(null, "", `#${said}`);
  }

  // True if the address names a trace or a filter, and not a section.
  function read() {
    const said = new URLSearchParams(location.hash.slice(1));
    if (!said.has("arm")) return false;
    for (const name of Object.keys(state)) state[name] = said.get(name) || "";
    return true;
  }

  function step(by) {
    const place = listed.findIndex((row) => row.i === state.id), next = listed[place + by];
    if (next) { state.id = next.i; write(); show(); }
  }

  function compare(on) {
    state.compare = on ? "1" : "";
    byId("compare").checked = on;
    write();
    show();
  }

  function keys(event) {
    if (event.ctrlKey || event.metaKey || event.altKey) return;
    const typing = ["INPUT", "SELECT", "TEXTAREA"].includes(event.target.tagName);
    if (event.key === "Escape" && typing) event.target.blur();
    if (typing) return;
    const act = { j: () => step(1), ArrowRight: () => step(1), k: () => step(-1), ArrowLeft: () => step(-1), c: () => compare(!state.compare), "/": () => byId("text").focus() }[event.key];
    if (act) { event.preventDefault(); act(); }
  }

  function theme() {
    const root = document.documentElement, dark = root.dataset.theme ? root.dataset.theme === "dark" : matchMedia("(prefers-color-scheme: dark)").matches;
    root.dataset.theme = dark ? "light" : "dark";
  }

  async function start() {
    byId("theme").addEventListener("click", theme);
    if (!byId("index")) return;
    index = await unpacked("index");
    const linked = read();
    offer();
    let waiting = 0;
    for (const name of fields) {
      byId(name).addEventListener(name === "text" ? "input" : "change", () => {
        clearTimeout(waiting);
        waiting = setTimeout(async () => {
          state[name] = byId(name).value;
          if (name === "arm") offer();
          write();
          await filter();
        }, name === "text" ? 150 : 0);
      });
    }
    byId("compare").addEventListener("change", () => compare(byId("compare").checked));
    byId("previous").addEventListener("click", () => step(-1));
    byId("next").addEventListener("click", () => step(1));
    document.addEventListener("keydown", keys);
    addEventListener("hashchange", async () => { if (read()) { offer(); await filter(); } });
    await filter();
    if (linked) byId("traces").scrollIntoView();
    document.documentElement.dataset.ready = "true";
  }

  start().catch((error) => {
    const said = make("p", { class: "alarm" }, `The traces cannot be shown: ${error}. A browser of 2023 or later is needed.`);
    (byId("traces") || document.body).append(said);
    throw error;
  });
})();
