// Measures streamed answers over the protocols of other products, compared with a bare handler.
import { interleave, sampleOf, withPairs } from "../rounds.mjs";
import { comparison, rateTarget, readings } from "../report.mjs";

/** @typedef {import("../rounds.mjs").Size} Size */
/** @typedef {import("../rounds.mjs").Pair} Pair */

const names = /** @type {const} */ (["openai", "ai_sdk", "ag_ui"]);
const tokens = 2_000;

/** @param {readonly number[]} values @param {number} share */
const percentile = (values, share) =>
  values.toSorted((a, b) => a - b)[Math.ceil(values.length * share) - 1] ?? Number.NaN;

/** @param {string} what @param {string} unit @param {readonly number[]} values */
const reading = (what, unit, values) => ({ what, unit, values });

/** @param {Size} size */
export async function measureProtocols(size) {
  const targets = await withPairs(["doorward, protocols", "bare sse"], size, async (pairs) => {
    const [doorward, bare] = pairs;
    if (!doorward || !bare) return [];
    const found = await measureTokens(doorward, bare, size);
    console.log(readings(await measureAnswers(doorward, size)));
    return found;
  });
  // Uses new processes: memory of the rounds before would hide that of the answers.
  await withPairs(["doorward, protocols", "bare sse"], size, async ([doorward, bare]) => {
    if (doorward && bare) console.log(readings(await measureOpen(doorward, bare, size)));
  });
  return targets;
}

/** Streams ten answers in parallel. @param {Pair} doorward @param {Pair} bare @param {Size} size */
async function measureTokens(doorward, bare, { rounds, seconds, deadline }) {
  const load = { content: `tokens ${tokens}`, parallel: 10, units: tokens, seconds };
  const series = [
    ...names.map((protocol) => ({ name: protocol, pair: doorward, protocol })),
    { name: "bare sse", pair: bare, protocol: names[0] },
  ];
  const samples = await interleave(
    rounds,
    series.map(({ pair, protocol }) => async () => {
      const { server, generator } = pair;
      return sampleOf(await generator.ask("answers", { ...load, ...server, protocol }));
    }),
    deadline,
  );
  const found = series.map(({ name }, at) => ({ name, samples: samples[at] ?? [] }));
  const title = `10 answers of ${tokens} tokens in parallel`;
  console.log(comparison(title, "tokens/s", "bare sse", found));
  return names.map((name) =>
    rateTarget(`${name}, tokens of bare events`, 0.5, found, name, "bare sse"),
  );
}

/** Measures bytes and times of single answers. @param {Pair} doorward @param {Size} size */
async function measureAnswers({ server: { port }, generator }, size) {
  const updates = size.count(100);
  const kilobytes = (updates * 400) / 1_000;
  const rows = [];
  for (const protocol of names) {
    const content = `updates ${updates}`;
    const bytes = await generator.ask("answerBytes", { port, protocol, content });
    rows.push(reading(`${protocol}, ${kilobytes} kB in ${updates} updates`, "bytes", [bytes]));
  }
  for (const protocol of names) {
    const count = size.count(500);
    const content = "tokens 1";
    const times = await generator.ask("firstBytes", { port, protocol, content, count });
    rows.push(reading(`${protocol}, first byte, median`, "ms", [percentile(times, 0.5)]));
    rows.push(reading(`${protocol}, first byte, 99 %`, "ms", [percentile(times, 0.99)]));
  }
  return rows;
}

/** Returns the KiB of an open answer. @param {Pair} pair @param {number} count */
async function openMemory({ server, generator }, count) {
  const load = { port: server.port, protocol: names[0], count };
  // The first answers grow the heap of the server.
  await generator.ask("openAnswers", load);
  await generator.ask("leaveAnswers", undefined);
  const before = await server.memory();
  await generator.ask("openAnswers", load);
  return ((await server.memory()) - before) / count / 1_024;
}

/** Measures many open answers, and a slow reader. @param {Pair} doorward @param {Pair} bare @param {Size} size */
async function measureOpen(doorward, bare, size) {
  const { server, generator } = doorward;
  const { port, pid } = server;
  const count = size.count(1_000);
  const [protocol, parallel, seconds] = [names[0], count - 1, size.seconds];
  const each = await openMemory(doorward, count);
  const least = await openMemory(bare, count);
  await generator.ask("askText", { port, content: "lateness" });
  const load = { port, pid, protocol, content: `tokens ${tokens}`, units: tokens, seconds };
  await generator.ask("answers", { ...load, parallel: 10 });
  const late = Number(await generator.ask("askText", { port, content: "lateness" }));
  await generator.ask("leaveAnswers", undefined);
  const alone = await generator.ask("answers", { ...load, parallel });
  const beside = await generator.ask("answers", { ...load, parallel, slow: 1 });
  const cost = (/** @type {typeof alone} */ { server: used, done }) => (used / done) * 1e6;
  return [
    reading(`memory of an open answer, at ${count}`, "KiB", [each]),
    reading("the same of a bare handler", "KiB", [least]),
    reading(`event loop late, 99 %, ${count} open, 10 growing`, "ms", [late]),
    reading(`processor time of a token, ${parallel} readers`, "µs", [cost(alone)]),
    reading("the same with one reader of 1 kB/s", "µs", [cost(beside)]),
  ];
}
