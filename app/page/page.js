"use strict";
// Draws the picture that is embedded in this page. Whatever comes from the cluster becomes text of
// the document: no element, attribute name, style or address is made of it.

const GIB = 2 ** 30;
const MOST_ENTRIES = 200; // of a list, until all are asked for
const FEW_NODES = 5; // of a reason, that are named

const WORDS = {
  placed: "placed",
  pending: "pending",
  not_created: "waits",
  moved: "moved",
  lost: "lost",
  replica_placed: "rebuilt",
  replica_removed: "removed",
  replica_moved: "to move",
  volume_lost: "lost",
  changed: "changed",
  refused: "refused",
  held: "room held",
};
const LEFT_OUT = new Set(["pending", "not_created", "lost", "volume_lost", "refused"]);

const find = (id) => document.getElementById(id);
const picture = JSON.parse(find("report").textContent);
const steps = picture.steps;
const histories = new Map(); // by node: its states as [step, node], the oldest first; null: removed
const articles = new Map(); // by node: its element, which keeps its place
const zones = new Map(); // by name: {details, grid, figures}
const drawn = new Map(); // by node: the state that its element shows
const replicas = new Map(); // by volume: the elements of its replicas
const volumeOf = new WeakMap(); // the volume of a replica's element
const placeOf = new WeakMap(); // where a replica's element is, in words
const volumeButtons = new WeakMap(); // the volume that a button in a text marks
let shown = 0;
let kept = null; // the volume that was picked
let marked = null; // the volume that is marked now
let markedElements = []; // of its replicas
let current = null; // the disk or replica that the Tab key leads to

// Sizes as the command line writes them: in GiB with one decimal, halves to the even digit.
function gib(bytes) {
  const tenths = (bytes * 10) / GIB;
  let whole = Math.floor(tenths);
  const rest = tenths - whole;
  if (rest > 0.5 || (rest === 0.5 && whole % 2 !== 0)) whole += 1;
  return (whole / 10).toFixed(1);
}

// Control characters and those that reorder or hide text are shown by their number.
function inert(text) {
  return String(text).replace(/[\p{Cc}\p{Cf}\p{Zl}\p{Zp}]/gu, (character) => {
    if (character === "\n") return " ";
    const number = character.codePointAt(0).toString(16).toUpperCase().padStart(4, "0");
    return `\u27e8U+${number}\u27e9`;
  });
}

function make(tag, name, ...content) {
  const element = document.createElement(tag);
  if (name) element.className = name;
  for (const each of content) element.append(typeof each === "string" ? inert(each) : each);
  return element;
}

const isolated = (text) => make("bdi", "", text);
const counted = (number, one, many) => `${number} ${number === 1 ? one : many}`;

function collectStates() {
  for (const block of document.querySelectorAll("script.nodes")) {
    steps[0].nodes = (steps[0].nodes ?? []).concat(JSON.parse(block.textContent));
  }
  steps.forEach((step, number) => {
    const add = (name, node) => {
      if (!histories.has(name)) histories.set(name, []);
      histories.get(name).push([number, node]);
    };
    for (const name of step.removed_nodes ?? []) add(name, null);
    for (const node of step.nodes ?? []) add(node.name, node);
  });
}

// A step has only the nodes that it changes: the last one before it counts for the others.
function stateAt(name, number) {
  let found = null;
  for (const [step, node] of histories.get(name)) {
    if (step > number) break;
    found = node;
  }
  return found;
}

function zoneOf(name) {
  if (!zones.has(name)) {
    const grid = make("div", "nodes");
    const figures = make("span", "faint");
    const heading = make("h3", "", isolated(name ? `Zone ${name}` : "No zone"));
    const details = make("details", "zone", make("summary", "", heading, " ", figures), grid);
    details.open = true;
    find("cluster").append(details);
    zones.set(name, { details, grid, figures });
  }
  return zones.get(name);
}

function scheduledOf(disk) {
  return disk.scheduled_bytes + (disk.held_bytes ?? 0);
}

function share(element, bytes, scale) {
  element.style.width = `${(100 * Math.max(0, bytes)) / scale}%`;
  return element;
}

function replicaText(replica) {
  const words = [replica.is_new && "new", replica.is_failed && "failed"].filter(Boolean);
  return [`${gib(replica.size_bytes)} GiB`, ...words].join(", ");
}

function diskText(disk, fresh, over) {
  const parts = [`${gib(disk.scheduled_bytes)} of ${gib(disk.limit_bytes)} GiB scheduled`];
  if (fresh) parts.push(`${gib(fresh)} GiB of it new`);
  if (disk.held_bytes) parts.push(`${gib(disk.held_bytes)} GiB held for pods`);
  if (over > 0) parts.push(`${gib(over)} GiB over the limit`);
  const used = Math.max(0, disk.maximum_bytes - disk.available_bytes);
  parts.push(`${gib(used)} of ${gib(disk.maximum_bytes)} GiB used on the file system`);
  if (disk.reserved_bytes) parts.push(`${gib(disk.reserved_bytes)} GiB reserved`);
  parts.push(counted((disk.replicas ?? []).length, "replica", "replicas"));
  if (disk.problem) parts.push(`takes no replicas: ${disk.problem}`);
  return `Disk ${disk.name}: ${parts.join("; ")}`;
}

function drawReplica(replica, node, disk, scale) {
  const kind = replica.is_failed ? "failed" : replica.is_new ? "new" : "old";
  const element = share(make("i", `replica ${kind}`), replica.size_bytes, scale);
  element.tabIndex = -1;
  element.setAttribute("role", "img");
  element.setAttribute("aria-label", inert(`Replica of ${replica.volume}: ${replicaText(replica)}`));
  volumeOf.set(element, replica.volume);
  placeOf.set(element, `${node.name} ${disk.name} (${replicaText(replica)})`);
  if (!replicas.has(replica.volume)) replicas.set(replica.volume, new Set());
  replicas.get(replica.volume).add(element);
  return element;
}

function drawDisk(node, disk) {
  const known = disk.replicas ?? [];
  const sum = known.reduce((bytes, each) => bytes + each.size_bytes, 0);
  const fresh = known.reduce((bytes, each) => bytes + (each.is_new ? each.size_bytes : 0), 0);
  const rest = Math.max(0, disk.scheduled_bytes - sum);
  const held = disk.held_bytes ?? 0;
  const filled = sum + rest + held;
  const scale = Math.max(disk.maximum_bytes, disk.limit_bytes, filled, 1);
  const over = scheduledOf(disk) - disk.limit_bytes;

  const bar = make("div", "bar");
  const before = known.filter((each) => !each.is_new);
  for (const each of before) bar.append(drawReplica(each, node, disk, scale));
  if (rest) bar.append(share(make("i", "rest"), rest, scale));
  for (const each of known) if (each.is_new) bar.append(drawReplica(each, node, disk, scale));
  if (held) bar.append(share(make("i", "held"), held, scale));
  if (filled > disk.limit_bytes) {
    const beyond = share(make("i", "over"), filled - disk.limit_bytes, scale);
    beyond.style.left = `${(100 * disk.limit_bytes) / scale}%`;
    bar.append(beyond);
  }
  const limit = make("i", "limit");
  limit.style.left = `min(${(100 * disk.limit_bytes) / scale}%, 100% - 3px)`;
  bar.append(limit);

  const files = share(make("div", "files"), disk.maximum_bytes, scale);
  const maximum = Math.max(disk.maximum_bytes, 1);
  files.append(share(make("i", "written"), disk.maximum_bytes - disk.available_bytes, maximum));
  if (disk.reserved_bytes) {
    const reserved = Math.min(disk.reserved_bytes, maximum);
    files.append(share(make("i", "reserved"), reserved, maximum));
  }

  const figure = make("span", "figure", `${gib(scheduledOf(disk))} of ${gib(disk.limit_bytes)} GiB`);
  if (over > 0) figure.append(make("b", "over-text", ` ${gib(over)} over`));
  const label = make("div", "label", isolated(disk.name), figure);
  const element = make("div", "disk", label, bar, files);
  if (disk.problem) element.append(make("p", "problem", `takes no replicas: ${disk.problem}`));
  element.tabIndex = -1;
  element.setAttribute("role", "group");
  element.setAttribute("aria-label", inert(diskText(disk, fresh, over)));
  return element;
}

function nodeTexts(node) {
  const texts = [];
  if (node.problem) texts.push(make("p", "problem", node.problem));
  if (node.held_bytes) {
    texts.push(make("p", "", `${gib(node.held_bytes)} GiB held for pods, on disks not known yet`));
  }
  if (node.allocatable_millicores || node.allocatable_memory_bytes) {
    const cpu = `CPU ${(node.requested_millicores ?? 0) / 1000} of ${(node.allocatable_millicores ?? 0) / 1000}`;
    const asked = gib(node.requested_memory_bytes ?? 0);
    const memory = `memory ${asked} of ${gib(node.allocatable_memory_bytes ?? 0)} GiB`;
    texts.push(make("p", "room", `${cpu}, ${memory}`));
  }
  return texts;
}

function drawPods(pods) {
  const list = make("ul", "");
  fill(list, pods, (pod) => make("li", "", isolated(pod)));
  return make("details", "", make("summary", "", counted(pods.length, "pod", "pods")), list);
}

function forget(article) {
  for (const element of article.querySelectorAll(".replica")) {
    replicas.get(volumeOf.get(element)).delete(element);
  }
}

function drawNode(name, node) {
  const article = articles.get(name);
  forget(article);
  article.hidden = node === null;
  drawn.set(name, node);
  if (node === null) {
    article.replaceChildren();
    return;
  }
  const { grid } = zoneOf(node.zone ?? "");
  if (article.parentNode !== grid) grid.append(article);
  const heading = make("h4", "", isolated(node.name));
  const disks = (node.disks ?? []).map((disk) => drawDisk(node, disk));
  const pods = node.pods?.length ? [drawPods(node.pods)] : [];
  article.replaceChildren(heading, ...nodeTexts(node), ...disks, ...pods);
}

function drawZones() {
  const sums = new Map([...zones.keys()].map((zone) => [zone, [0, 0, 0, 0, 0]]));
  for (const [name, node] of drawn) {
    if (node === null) continue;
    const sum = sums.get(node.zone ?? "");
    sum[0] += 1;
    for (const disk of node.disks ?? []) {
      sum[1] += 1;
      sum[2] += scheduledOf(disk);
      sum[3] += disk.limit_bytes;
    }
    if (articles.get(name).classList.contains("changed")) sum[4] += 1;
  }
  for (const [zone, { details, figures }] of zones) {
    const [nodes, disks, scheduled, limit, changed] = sums.get(zone);
    details.hidden = nodes === 0;
    const room = `${gib(scheduled)} of ${gib(limit)} GiB scheduled`;
    const news = changed ? `, ${changed} changed` : "";
    const count = `${counted(nodes, "node", "nodes")}, ${counted(disks, "disk", "disks")}`;
    figures.textContent = `${count}, ${room}${news}`;
  }
}

function fill(list, entries, draw) {
  list.replaceChildren(...entries.slice(0, MOST_ENTRIES).map(draw));
  if (entries.length <= MOST_ENTRIES) return;
  const more = make("button", "more", `Show all ${entries.length}`);
  more.type = "button";
  more.addEventListener("click", () => list.replaceChildren(...entries.map(draw)));
  list.append(make("li", "", more));
}

function drawVolume(volume) {
  const name = make("button", "volume-name", volume.name);
  name.type = "button";
  volumeButtons.set(name, volume.name);
  const size = `, ${gib(volume.size_bytes)} GiB, ${volume.locality}`;
  const places = (volume.replicas ?? []).map((place) => {
    if (!place.node) return "a replica without a place";
    return `${place.node} ${place.disk ?? ""}`.trim() + (place.is_new ? " (new)" : "");
  });
  return make("li", "", name, places.length ? `${size}: ${places.join("; ")}` : size);
}

function drawReason(reason) {
  const few = reason.nodes.length <= FEW_NODES ? ` (${reason.nodes.join(", ")})` : "";
  const nodes = reason.nodes.length ? `${counted(reason.nodes.length, "node", "nodes")}${few}: ` : "";
  const remedy = reason.remedy ? ` What to do: ${reason.remedy}` : "";
  const stop = reason.text.endsWith(".") ? "" : ".";
  return make("li", "", `${nodes}${reason.text}${stop}${remedy}`);
}

function drawEvent(event) {
  const where = event.before
    ? ` from ${event.before} to ${event.node ?? "no node"}`
    : event.node
      ? ` on ${event.node}`
      : "";
  const score = event.score === undefined ? "" : ` (score ${event.score})`;
  const text = event.text ? `: ${event.text}` : "";
  const item = make("li", event.kind, make("b", "", WORDS[event.kind] ?? event.kind), " ");
  item.append(isolated(event.object), inert(where + score + text));
  const parts = [...(event.volumes ?? []).map(drawVolume), ...(event.reasons ?? []).map(drawReason)];
  if (parts.length) item.append(make("ul", "", ...parts));
  return item;
}

function drawWarning(warning) {
  return make("li", "warning", isolated(warning.object), `: ${warning.text}`);
}

function drawSteps() {
  const many = steps.length > 1;
  find("steps").hidden = find("only-label").hidden = !many;
  find("slider").max = String(steps.length - 1);
  const sections = steps.map((step, number) => {
    const lists = [(step.warnings ?? []).map(drawWarning), (step.events ?? []).map(drawEvent)];
    const texts = lists.filter((list) => list.length).map((list) => make("ul", "", ...list));
    return make("section", "", make("h2", "", stepName(number)), ...texts);
  });
  find("all-steps").append(...sections);
}

function stepName(number) {
  return steps.length > 1 ? `Step ${number}: ${steps[number].title}` : steps[number].title;
}

function drawLeftOut() {
  const entries = steps.flatMap((step, number) =>
    (step.events ?? []).filter((event) => LEFT_OUT.has(event.kind)).map((event) => [number, event]),
  );
  find("left-out").hidden = entries.length === 0 || steps.length === 1;
  fill(find("left-out-list"), entries, ([number, event]) => {
    const item = drawEvent(event);
    const jump = make("button", "", `Step ${number}`);
    jump.type = "button";
    jump.addEventListener("click", () => show(number));
    item.prepend(jump, " ");
    return item;
  });
}

function drawSummary() {
  const { is_plan: isPlan, origin, works, summary, notes } = picture;
  const heading = isPlan ? "Plan for Longhorn's disks" : "Longhorn's disks now";
  find("heading").textContent = document.title = heading;
  find("answer").textContent = inert(summary);
  find("answer").classList.toggle("bad", works === false);
  find("summary").textContent = inert(origin);
  fill(find("notes"), notes, (note) => make("li", "", note));
  for (const each of document.querySelectorAll(isPlan ? ".of-service" : ".of-plan")) {
    each.hidden = true;
  }
}

function drawChoice() {
  const names = new Set();
  const inPlan = new Set();
  for (const states of histories.values()) {
    for (const [, node] of states) {
      for (const disk of node?.disks ?? []) {
        for (const replica of disk.replicas ?? []) {
          names.add(replica.volume);
          if (replica.is_new) inPlan.add(replica.volume);
        }
      }
    }
  }
  const others = [...names].filter((name) => !inPlan.has(name));
  const select = find("volume");
  select.append(option("no volume", ""));
  for (const [title, group] of [["In this plan", [...inPlan]], ["Others", others]]) {
    if (!group.length) continue;
    const part = document.createElement("optgroup");
    part.label = title;
    part.append(...group.sort().map((name) => option(name, name)));
    select.append(part);
  }
}

function option(text, value) {
  const element = make("option", "", text);
  element.value = value;
  return element;
}

function show(number) {
  shown = Math.min(Math.max(number, 0), steps.length - 1);
  const step = steps[shown];
  const changed = new Set(shown ? (step.nodes ?? []).map((node) => node.name) : []);
  for (const [name, article] of articles) {
    const node = stateAt(name, shown);
    if (drawn.get(name) !== node) drawNode(name, node);
    article.classList.toggle("changed", changed.has(name));
  }
  drawZones();
  find("title").textContent = inert(stepName(shown));
  find("count").textContent = `${shown} of ${steps.length - 1}`;
  find("slider").value = String(shown);
  find("slider").setAttribute("aria-valuetext", inert(stepName(shown)));
  find("previous").disabled = shown === 0;
  find("next").disabled = shown === steps.length - 1;
  fill(find("warnings"), step.warnings ?? [], drawWarning);
  fill(find("events"), step.events ?? [], drawEvent);
  if (!current?.isConnected) setCurrent(find("cluster").querySelector(".disk"));
  mark(kept);
}

function mark(volume) {
  for (const element of markedElements) {
    element.classList.remove("marked");
    element.closest(".disk")?.classList.remove("has-marked");
  }
  marked = volume;
  markedElements = [...(replicas.get(volume) ?? [])];
  for (const element of markedElements) {
    element.classList.add("marked");
    element.closest(".disk").classList.add("has-marked");
  }
  const places = markedElements.map((element) => placeOf.get(element)).join("; ");
  const count = counted(markedElements.length, "replica", "replicas");
  find("told").textContent = volume === null ? "" : inert(`${volume}: ${count}. ${places}`);
}

function glance(volume) {
  const wanted = volume ?? kept;
  if (wanted !== marked) mark(wanted);
}

function keep(volume) {
  kept = volume;
  find("volume").value = volume ?? "";
  mark(volume);
}

function setCurrent(element) {
  if (current) current.tabIndex = -1;
  current = element;
  if (current) current.tabIndex = 0;
}

function isInSight(disk) {
  const article = disk.closest(".node");
  const isLeftOut = find("only").checked && !article.classList.contains("changed");
  return article.closest("details").open && !isLeftOut;
}

// The disk or replica that a key leads to from the current one; null if it leads nowhere.
function neighbour(key) {
  const disk = current.closest(".disk");
  if (key === "ArrowRight" || key === "ArrowLeft") {
    const row = [disk, ...disk.querySelectorAll(".replica")];
    return row[row.indexOf(current) + (key === "ArrowRight" ? 1 : -1)] ?? null;
  }
  const disks = [...find("cluster").querySelectorAll(".disk")].filter(isInSight);
  if (key === "Home") return disks[0] ?? null;
  if (key === "End") return disks.at(-1) ?? null;
  return disks[disks.indexOf(disk) + (key === "ArrowDown" ? 1 : -1)] ?? null;
}

function pressInCluster(event) {
  if (!event.target.matches(".disk, .replica")) return;
  const keys = ["ArrowRight", "ArrowLeft", "ArrowDown", "ArrowUp", "Home", "End"];
  if (keys.includes(event.key)) {
    event.preventDefault();
    neighbour(event.key)?.focus();
  } else if (event.key === "Enter" || event.key === " ") {
    event.preventDefault();
    keep(volumeOf.get(event.target) ?? null);
  }
}

function press(event) {
  if (event.altKey || event.ctrlKey || event.metaKey || event.shiftKey) return;
  if (event.key === "Escape") keep(null);
  if (event.target.closest("input, select, #cluster")) return;
  if (event.key === "ArrowRight") show(shown + 1);
  if (event.key === "ArrowLeft") show(shown - 1);
}

// On paper: the last state, and every zone.
const paper = { isSet: false, step: 0, closed: [] };

function toPaper() {
  if (paper.isSet) return;
  paper.isSet = true;
  paper.step = shown;
  paper.closed = [...zones.values()].map((zone) => zone.details).filter((each) => !each.open);
  for (const details of paper.closed) details.open = true;
  show(steps.length - 1);
}

function fromPaper() {
  if (!paper.isSet) return;
  paper.isSet = false;
  for (const details of paper.closed) details.open = false;
  show(paper.step);
}

function listen() {
  const cluster = find("cluster");
  const replicaAt = (event) => volumeOf.get(event.target) ?? null;
  cluster.addEventListener("pointerover", (event) => glance(replicaAt(event)));
  cluster.addEventListener("pointerleave", () => glance(null));
  cluster.addEventListener("focusin", (event) => {
    glance(replicaAt(event));
    if (event.target.matches(".disk, .replica")) setCurrent(event.target);
  });
  cluster.addEventListener("focusout", () => glance(null));
  cluster.addEventListener("click", (event) => {
    if (volumeOf.has(event.target)) keep(volumeOf.get(event.target));
  });
  cluster.addEventListener("keydown", pressInCluster);
  document.addEventListener("click", (event) => {
    if (volumeButtons.has(event.target)) keep(volumeButtons.get(event.target));
  });
  document.addEventListener("keydown", press);
  find("volume").addEventListener("change", (event) => keep(event.target.value || null));
  find("slider").addEventListener("input", (event) => show(Number(event.target.value)));
  find("previous").addEventListener("click", () => show(shown - 1));
  find("next").addEventListener("click", () => show(shown + 1));
  find("only").addEventListener("change", (event) => {
    cluster.classList.toggle("only-changed", event.target.checked);
  });
  matchMedia("print").addEventListener("change", (event) => (event.matches ? toPaper() : fromPaper()));
  addEventListener("beforeprint", toPaper);
  addEventListener("afterprint", fromPaper);
}

collectStates();
for (const [name, [[, first]]] of histories) {
  const article = make("article", "node");
  article.hidden = true;
  articles.set(name, article);
  zoneOf(first?.zone ?? "").grid.append(article);
}
drawSummary();
drawChoice();
drawSteps();
drawLeftOut();
listen();
show(steps.length - 1);
