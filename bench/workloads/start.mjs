import { spawn } from "node:child_process";
import { once } from "node:events";
import { setTimeout as wait } from "node:timers/promises";
import { interleave } from "../rounds.mjs";
import { processorSeconds } from "../load/processor.mjs";
import { ratios, readings } from "../report.mjs";
import { freePort, makeHome, residentBytes, startLauncher } from "../servers.mjs";

/** @typedef {import("../rounds.mjs").Size} Size */

const maxMs = Number.parseInt(process.versions.node) >= 22 ? 300 : 400;

/** Measures the time from the spawn of the process until its port accepts a connection, compared with
 * an empty Node program.
 * @param {Size} size */
export async function measureStart({ rounds, deadline, against }) {
  /** @type {{ label: string, root: string | undefined }[]} */
  const versions = [{ label: "", root: undefined }];
  if (against) versions.push({ label: `, ${against.commit}`, root: against.root });
  const homes = await Promise.all(versions.map(() => makeHome()));
  try {
    for (const [at, { root }] of versions.entries()) await startIn(homes[at]?.home ?? "", root);
    const [empty = [], ...starts] = await interleave(
      rounds * 3 - 2,
      [
        async () => ({ took: await emptyNode(), cpu: 0 }),
        ...versions.flatMap(({ root }, at) => [
          async () => {
            const fresh = await makeHome();
            return startIn(fresh.home, root).finally(fresh.remove);
          },
          () => startIn(homes[at]?.home ?? "", root),
        ]),
      ],
      deadline,
    );
    const rows = versions.flatMap(({ label }, at) => {
      const [first = [], later = []] = starts.slice(2 * at);
      const times = (/** @type {string} */ what, /** @type {typeof first} */ all) => [
        { what, unit: "ms", values: all.map(took) },
        { what, unit: "x node", values: ratios(all.map(took), empty.map(took)) },
      ];
      return [
        ...times(`first start to listening${label}`, first),
        ...times(`later start to listening${label}`, later),
        { what: `processor time of a later start${label}`, unit: "ms", values: later.map(cpu) },
      ];
    });
    const node = { what: "node -e '', start to end", unit: "ms", values: empty.map(took) };
    console.log(readings([node, ...rows]));
    const [first = [], later = []] = starts;
    return [
      atMost("first start to listening", maxMs, first.map(took), "ms"),
      atMost("later start to listening", maxMs, later.map(took), "ms"),
    ];
  } finally {
    await Promise.all(homes.map(({ remove }) => remove()));
  }
}

/** @param {{ took: number }} start */
const took = ({ took }) => took;
/** @param {{ cpu: number }} start */
const cpu = ({ cpu }) => cpu;

/** @param {string} what @param {number} aim @param {number[]} values @param {string} unit
 * @returns {import("../report.mjs").Target} */
const atMost = (what, aim, values, unit) => ({ what, aim, bound: "at most", values, unit });

async function emptyNode() {
  const began = performance.now();
  await once(spawn(process.execPath, ["-e", ""], { stdio: "ignore" }), "exit");
  return performance.now() - began;
}

/** @param {string} home @param {string} [root] */
async function startIn(home, root) {
  const port = await freePort();
  const began = performance.now();
  const launcher = startLauncher(home, port, {}, root);
  await launcher.listening(port);
  const took = performance.now() - began;
  const cpu = processorSeconds(launcher.pid) * 1_000;
  await launcher.stop();
  return { took, cpu };
}

/** Measures the resident memory of an idle launcher with the channel on.
 * @param {Size} size */
export async function measureMemory({ rounds, seconds, deadline, against }) {
  const { home, remove } = await makeHome({ channels: { pico: { enabled: true } } });
  /** @type {{ label: string, root: string | undefined }[]} */
  const versions = [{ label: "", root: undefined }];
  if (against) versions.push({ label: `, ${against.commit}`, root: against.root });
  const measure = async (/** @type {string | undefined} */ root) => {
    const port = await freePort();
    const token = { SERVICE_CHANNELS_PICO_TOKEN: "f".repeat(64) };
    const launcher = startLauncher(home, port, token, root);
    try {
      await launcher.listening(port);
      await wait(seconds * 1_000);
      return (await residentBytes(launcher.pid)) / 1_024 ** 2;
    } finally {
      await launcher.stop();
    }
  };
  try {
    const found = await interleave(
      rounds,
      versions.map(
        ({ root }) =>
          () =>
            measure(root),
      ),
      deadline,
    );
    const what = "resident memory, idle";
    console.log(
      readings(
        versions.map(({ label }, at) => ({
          what: what + label,
          unit: "MiB",
          values: found[at] ?? [],
        })),
      ),
    );
    return [atMost(what, 70, found[0] ?? [], "MiB")];
  } finally {
    await remove();
  }
}
