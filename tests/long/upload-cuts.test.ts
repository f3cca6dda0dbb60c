// A file arrives once and equal over a connection that is cut again and again, and over a kill.
import { createHash } from "node:crypto";
import { createReadStream } from "node:fs";
import { mkdtemp, open, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { Upload } from "tus-js-client";
import { expect, test } from "vitest";
import { startLauncher } from "../e2e/launcher.ts";
import { startCutter } from "../support/cutter.ts";
import { filesBelow } from "../support/media-server.ts";
import { isBrief } from "../support/runs.ts";

const MiB = 1024 * 1024;
const size = (isBrief ? 24 : 500) * MiB;
const cuts = isBrief ? 4 : 20;
const token = "cut-uploads-".repeat(4);
const headers = { authorization: `Bearer ${token}` };

/** Writes a file whose parts all differ. @returns Its SHA-256. */
async function writeContent(path: string): Promise<string> {
  const hash = createHash("sha256");
  const part = Buffer.alloc(MiB, "doorward");
  const file = await open(path, "w");
  for (let at = 0; at < size; at += part.length) {
    part.writeUInt32BE(at / part.length, 0);
    hash.update(part);
    await file.write(part);
  }
  await file.close();
  return hash.digest("hex");
}

test("stores a file once and equal over cuts and a kill", { timeout: 360_000 }, async () => {
  const folder = await mkdtemp(join(tmpdir(), "doorward-cut-"));
  const home = join(folder, ".service");
  const path = join(folder, "content");
  const sha256 = await writeContent(path);
  const start = () =>
    startLauncher({
      args: ["-console", "-no-browser", "-port", "0"],
      env: {
        SERVICE_HOME: home,
        SERVICE_CHANNELS_PICO_ENABLED: "true",
        SERVICE_CHANNELS_PICO_TOKEN: token,
      },
    });
  const launchers = [await start()];
  const { origin } = launchers[0]!.base;
  await using cutter = await startCutter(origin);
  let seen = 0;
  let restarted: Promise<void> | undefined;
  const restart = async (): Promise<void> => {
    cutter.block();
    launchers[0]!.child.kill("SIGKILL");
    await launchers[0]!.ended;
    launchers.push(await start());
    cutter.retarget(Number(launchers[1]!.base.port));
    cutter.heal();
  };
  const url = await new Promise<string>((resolve, reject) => {
    const upload = new Upload(createReadStream(path), {
      endpoint: `${cutter.base}/pico/media?session_id=s`,
      headers,
      metadata: { filename: "content.bin", sha256 },
      retryDelays: [0, 100, 500, 1_000, 3_000, 6_000, 12_000],
      onProgress(sent) {
        if (seen >= cuts || sent < ((seen + 1) * size) / (cuts + 2)) return;
        seen += 1;
        if (seen === 2) restarted = restart().catch(reject);
        else cutter.cut();
      },
      onSuccess: () => resolve(upload.url!),
      onError: reject,
    });
    upload.start();
  });
  await restarted;
  expect(seen).toBe(cuts);
  const { origin: last } = launchers.at(-1)!.base;
  const response = await fetch(last + new URL(url, last).pathname, { headers });
  const hash = createHash("sha256");
  for await (const chunk of response.body!) hash.update(chunk);
  expect(hash.digest("hex")).toBe(sha256);
  const stored = await filesBelow(join(home, "state", "media"));
  expect(stored.filter((name) => name.startsWith("sessions/"))).toHaveLength(1);
  expect(stored.filter((name) => name.startsWith("parts/"))).toEqual([]);
  for (const launcher of launchers) await launcher[Symbol.asyncDispose]();
  await rm(folder, { recursive: true, force: true });
});
