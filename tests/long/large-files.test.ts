// 2 GB pass through a launcher in both directions, and its memory stays flat.
import { createHash } from "node:crypto";
import { readFileSync } from "node:fs";
import { request, type IncomingMessage } from "node:http";
import { once } from "node:events";
import { Readable } from "node:stream";
import { pipeline } from "node:stream/promises";
import { describe, expect, test } from "vitest";
import { startLauncher } from "../e2e/launcher.ts";
import { isBrief } from "../support/runs.ts";

const MiB = 1024 * 1024;
const size = (isBrief ? 256 : 2_048) * MiB;
const token = "large-files-".repeat(4);
const headers = { authorization: `Bearer ${token}` };

/** Creates bytes that no part repeats. */
function* content(): Iterable<Buffer> {
  const part = Buffer.alloc(256 * 1024, "doorward");
  for (let at = 0; at < size; at += part.length) {
    part.writeUInt32BE(at / part.length, 0);
    yield Buffer.from(part);
  }
}

/** Reads the memory of a process in MiB, and the largest so far. */
function memoryOf(pid: number): { now: number; most: number } {
  const status = readFileSync(`/proc/${pid}/status`, "utf8");
  const read = (name: string): number =>
    Number(new RegExp(`${name}:\\s+(\\d+)`).exec(status)![1]) / 1024;
  return { now: read("VmRSS"), most: read("VmHWM") };
}

async function responseOf(sent: ReturnType<typeof request>): Promise<IncomingMessage> {
  const [response] = (await once(sent, "response")) as [IncomingMessage];
  return response;
}

async function readJson(response: IncomingMessage): Promise<Record<string, unknown>> {
  let text = "";
  for await (const chunk of response) text += String(chunk);
  return JSON.parse(text) as Record<string, unknown>;
}

describe.skipIf(process.platform !== "linux")("files of 2 GB", () => {
  test("take less than 30 MiB of memory in each direction", { timeout: 600_000 }, async () => {
    await using launcher = await startLauncher({
      args: ["-console", "-no-browser", "-port", "0"],
      env: { SERVICE_CHANNELS_PICO_ENABLED: "true", SERVICE_CHANNELS_PICO_TOKEN: token },
    });
    const { origin } = launcher.base;
    const pid = launcher.child.pid!;
    const upload = async (body: Iterable<Buffer>) => {
      const url = `${origin}/pico/media?session_id=s`;
      const sent = request(url, { method: "POST", headers });
      const [response] = await Promise.all([responseOf(sent), pipeline(Readable.from(body), sent)]);
      return { status: response.statusCode, body: await readJson(response) };
    };
    const download = async (url: string, more: Record<string, string> = {}) => {
      const sent = request(origin + url, { headers: { ...headers, ...more } }).end();
      const response = await responseOf(sent);
      const hash = createHash("sha256");
      let bytes = 0;
      for await (const chunk of response) {
        hash.update(chunk as Buffer);
        bytes += (chunk as Buffer).length;
      }
      return { bytes, sha256: hash.digest("hex") };
    };
    // Code and buffers of the first small files belong to no large one.
    for (let round = 0; round < 20; round++) {
      const { body } = await upload([Buffer.alloc(MiB, round)]);
      await download(String(body["url"]));
    }
    const before = memoryOf(pid);
    const hash = createHash("sha256");
    for (const part of content()) hash.update(part);
    const expected = hash.digest("hex");
    const { status, body } = await upload(content());
    const uploaded = memoryOf(pid);
    expect({ status, ...body }).toMatchObject({ status: 201, size, sha256: expected });
    expect(await download(String(body["url"]))).toEqual({ bytes: size, sha256: expected });
    const downloaded = memoryOf(pid);
    const half = size / 2;
    const rest = await download(String(body["url"]), { range: `bytes=${half}-` });
    expect(rest.bytes).toBe(half);
    console.log({ size, before, uploaded, downloaded });
    expect(Math.max(uploaded.most, downloaded.most) - before.now).toBeLessThan(30);
  });
});
