import { spawn } from "node:child_process";
import { once } from "node:events";
import { existsSync } from "node:fs";
import path from "node:path";
import { setTimeout as wait } from "node:timers/promises";
import { interleave } from "../compare.mjs";
import { processorSeconds } from "../load/processor.mjs";
import { ratios, readings } from "../report.mjs";
import { freePort, makeHome, residentBytes, startLauncher } from "../servers.mjs";

/** @typedef {import("../compare.mjs").Size} Size */

/** From the spawn of the process until its port takes a connection, beside a Node that does nothing.
 * @param {Size} size */
export async function measureStart({ rounds, deadline }) {
  const used = await makeHome();
  try {
    await leaveCompiled(used.home);
    const [bare = [], first = [], later = []] = await interleave(
      rounds * 3 - 2,
      [
        async () => ({ took: await emptyNode(), cpu: 0 }),
        async () => {
          const fresh = await makeHome();
          return startIn(fresh.home).finally(fresh.remove);
        },
        () => startIn(used.home),
      ],
      deadline,
    );
    const took = (/** @type {readonly { took: number }[]} */ all) => all.map(({ took }) => took);
    const cpu = (/** @type {readonly { cpu: number }[]} */ all) => all.map(({ cpu }) => cpu);
    console.log(
      readings([
        { what: "node -e '', start to end", unit: "ms", values: took(bare) },
        { what: "first start to listening", unit: "ms", values: took(first) },
        {
          what: "first start to listening",
          unit: "x node",
          values: ratios(took(first), took(bare)),
        },
        { what: "later start to listening", unit: "ms", values: took(later) },
        {
          what: "later start to listening",
          unit: "x node",
          values: ratios(took(later), took(bare)),
        },
        { what: "processor time of a later start", unit: "ms", values: cpu(later) },
      ]),
    );
    const what = "later start to listening";
    return [
      { what, aim: 250, bound: /** @type {const} */ ("at most"), values: took(later), unit: "ms" },
    ];
  } finally {
    await used.remove();
  }
}

/** As a launcher that has run for some seconds leaves it. @param {string} home */
async function leaveCompiled(home) {
  const port = await freePort();
  const launcher = startLauncher(home, port);
  await launcher.listening(port);
  const patience = performance.now() + 20_000;
  while (!existsSync(path.join(home, "cache", "program")) && performance.now() < patience)
    await wait(50);
  await launcher.stop();
}

async function emptyNode() {
  const began = performance.now();
  await once(spawn(process.execPath, ["-e", ""], { stdio: "ignore" }), "exit");
  return performance.now() - began;
}

/** @param {string} home */
async function startIn(home) {
  const port = await freePort();
  const began = performance.now();
  const launcher = startLauncher(home, port);
  await launcher.listening(port);
  const took = performance.now() - began;
  const cpu = processorSeconds(launcher.pid) * 1_000;
  await launcher.stop();
  return { took, cpu };
}

/** Resident memory two seconds after the launcher listens, with nobody there; the channel is on.
 *  @param {Size} size */
export async function measureMemory({ rounds, seconds, deadline }) {
  const { home, remove } = await makeHome({ channels: { pico: { enabled: true } } });
  try {
    const [values = []] = await interleave(
      rounds,
      [
        async () => {
          const port = await freePort();
          const launcher = startLauncher(home, port, {
            SERVICE_CHANNELS_PICO_TOKEN: "f".repeat(64),
          });
          try {
            await launcher.listening(port);
            await wait(seconds * 1_000);
            return (await residentBytes(launcher.pid)) / 1_024 ** 2;
          } finally {
            await launcher.stop();
          }
        },
      ],
      deadline,
    );
    const what = "resident memory, nobody there";
    console.log(readings([{ what, unit: "MiB", values }]));
    return [{ what, aim: 95, bound: /** @type {const} */ ("at most"), values, unit: "MiB" }];
  } finally {
    await remove();
  }
}
