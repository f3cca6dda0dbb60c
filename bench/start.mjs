import { spawn } from "node:child_process";
import { once } from "node:events";
import { readFile } from "node:fs/promises";
import { setTimeout as wait } from "node:timers/promises";
import { freePort, makeHome, startLauncher } from "./launcher.mjs";
import { interleave, ratio } from "./report.mjs";

const rounds = 15;

/** From the spawn of the process until its port takes a connection, beside a Node that does nothing. */
export async function measureStart() {
  const used = await makeHome();
  try {
    const [bare = [], first = [], later = []] = await interleave(rounds, [
      emptyNode,
      async () => {
        const fresh = await makeHome();
        return startIn(fresh.home).finally(fresh.remove);
      },
      () => startIn(used.home),
    ]);
    const toNode = (/** @type {number[]} */ values) => `${ratio(values, bare)} of node`;
    return [
      { what: "node -e '', start to end", unit: "ms", values: bare },
      { what: "first start to listening", unit: "ms", values: first, against: toNode(first) },
      { what: "later start to listening", unit: "ms", values: later, against: toNode(later), aim: "250 ms" },
    ];
  } finally {
    await used.remove();
  }
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
  await launcher.stop();
  return took;
}

/** Resident memory two seconds after the launcher listens, with nobody there; the channel is on. */
export async function measureMemory() {
  const { home, remove } = await makeHome({ channels: { pico: { enabled: true } } });
  try {
    const [values = []] = await interleave(5, [
      async () => {
        const port = await freePort();
        const launcher = startLauncher(home, port, { SERVICE_CHANNELS_PICO_TOKEN: "f".repeat(64) });
        try {
          await launcher.listening(port);
          await wait(2_000);
          return await residentMegabytes(launcher.pid);
        } finally {
          await launcher.stop();
        }
      },
    ]);
    return [{ what: "resident memory, idle", unit: "MB", values, aim: "95 MB" }];
  } finally {
    await remove();
  }
}

/** From `/proc`, so Linux only. @param {number} pid */
async function residentMegabytes(pid) {
  const [, kilobytes] = /^VmRSS:\s+(\d+) kB$/m.exec(await readFile(`/proc/${pid}/status`, "utf8")) ?? [];
  return Number(kilobytes) / 1024;
}
