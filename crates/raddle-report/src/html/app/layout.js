// A layered layout from left to right. The same graph always gets the same places.
//
// After Sugiyama, Tagawa and Toda: edges that close a cycle are turned round, layers are longest paths, crossings are reduced by
// barycentres, and each node moves towards its neighbours as far as its layer allows.

const LAYER_GAP = 50;
const NODE_GAP = 26;

/** Gives every node `x` and `y`. `nodes` have `width` and `height`, `edges` are pairs of indices, `roots` come first. */
function layOut(nodes, edges, roots) {
  const count = nodes.length;
  const out = nodes.map(() => []);
  edges.forEach(([from, to]) => { if (from !== to) out[from].push(to); });
  const degree = new Int32Array(count);
  edges.forEach(([from, to]) => { if (from !== to) { degree[from]++; degree[to]++; } });

  // Depth first from the roots: an edge to a node that is still open closes a cycle.
  const state = new Uint8Array(count);
  const order = [];
  const forward = nodes.map(() => []);
  const visit = (start) => {
    const stack = [[start, 0]];
    state[start] = 1;
    while (stack.length > 0) {
      const top = stack[stack.length - 1];
      const [node, next] = top;
      if (next === out[node].length) { state[node] = 2; order.push(node); stack.pop(); continue; }
      top[1]++;
      const to = out[node][next];
      if (state[to] === 1) { forward[to].push(node); continue; }
      forward[node].push(to);
      if (state[to] === 0) { state[to] = 1; stack.push([to, 0]); }
    }
  };
  for (const root of roots) if (state[root] === 0) visit(root);
  for (let node = 0; node < count; node++) if (state[node] === 0) visit(node);

  const layer = new Int32Array(count);
  const topological = topologicalOrder(forward, order.reverse());
  for (const node of topological) for (const to of forward[node]) layer[to] = Math.max(layer[to], layer[node] + 1);

  const linked = topological.filter((node) => degree[node] > 0 || roots.includes(node));
  const lonely = topological.filter((node) => degree[node] === 0 && !roots.includes(node)).sort((one, other) => one - other);
  const layers = [];
  for (const node of linked) (layers[layer[node]] = layers[layer[node]] || []).push(node);
  const filled = layers.filter(Boolean);
  reduceCrossings(filled, forward, count);
  place(filled, forward, nodes);
  placeLonely(lonely, linked, nodes);
}

/** The nodes so that every edge leads forward. Turned edges may have upset the order of the search. */
function topologicalOrder(forward, order) {
  const incoming = new Int32Array(forward.length);
  forward.forEach((list) => list.forEach((to) => incoming[to]++));
  const queue = order.filter((node) => incoming[node] === 0);
  for (let at = 0; at < queue.length; at++) {
    for (const to of forward[queue[at]]) if (--incoming[to] === 0) queue.push(to);
  }
  const known = new Set(queue);
  return queue.concat(order.filter((node) => !known.has(node)));
}

function reduceCrossings(layers, forward, count) {
  const back = Array.from({ length: count }, () => []);
  forward.forEach((list, from) => list.forEach((to) => back[to].push(from)));
  const position = new Float64Array(count);
  const number = (layer) => layer.forEach((node, at) => { position[node] = at; });
  layers.forEach(number);
  const sweep = (layer, neighbours) => {
    const weight = new Map(layer.map((node) => {
      const near = neighbours[node];
      return [node, near.length ? near.reduce((sum, other) => sum + position[other], 0) / near.length : position[node]];
    }));
    layer.sort((one, other) => weight.get(one) - weight.get(other) || position[one] - position[other]);
    number(layer);
  };
  for (let round = 0; round < 6; round++) {
    for (let at = 1; at < layers.length; at++) sweep(layers[at], back);
    for (let at = layers.length - 2; at >= 0; at--) sweep(layers[at], forward);
  }
}

function place(layers, forward, nodes) {
  const back = nodes.map(() => []);
  forward.forEach((list, from) => list.forEach((to) => back[to].push(from)));
  let x = 0;
  for (const layer of layers) {
    let y = 0;
    for (const node of layer) { nodes[node].x = x; nodes[node].y = y; y += nodes[node].height + NODE_GAP; }
    x += Math.max(...layer.map((node) => nodes[node].width)) + LAYER_GAP;
  }
  const settle = (layer, neighbours) => {
    const middle = (node) => nodes[node].y + nodes[node].height / 2;
    const wanted = layer.map((node) => {
      const near = neighbours[node];
      return near.length ? near.reduce((sum, other) => sum + middle(other), 0) / near.length - nodes[node].height / 2 : nodes[node].y;
    });
    // Nodes keep their order and distance; a pushed group gives way to both sides alike.
    let floor = -Infinity;
    layer.forEach((node, at) => { nodes[node].y = Math.max(wanted[at], floor); floor = nodes[node].y + nodes[node].height + NODE_GAP; });
    const shift = layer.reduce((sum, node, at) => sum + wanted[at] - nodes[node].y, 0) / layer.length;
    layer.forEach((node) => { nodes[node].y += shift; });
  };
  for (let round = 0; round < 4; round++) {
    for (let at = 1; at < layers.length; at++) settle(layers[at], back);
    for (let at = layers.length - 2; at >= 0; at--) settle(layers[at], forward);
  }
}

/** Objects that nothing leads to stand in rows below the others. */
function placeLonely(lonely, linked, nodes) {
  const box = linked.map((node) => nodes[node]);
  const right = Math.max(640, ...box.map((node) => node.x + node.width));
  let y = box.length ? Math.max(...box.map((node) => node.y + node.height)) + 2 * NODE_GAP : 0;
  let x = 0;
  let tallest = 0;
  for (const node of lonely.map((at) => nodes[at])) {
    if (x > 0 && x + node.width > right) { x = 0; y += tallest + NODE_GAP; tallest = 0; }
    node.x = x;
    node.y = y;
    x += node.width + NODE_GAP;
    tallest = Math.max(tallest, node.height);
  }
}
