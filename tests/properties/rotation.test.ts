import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import fc from "fast-check";
import { describe, expect, test, vi } from "vitest";
import { WebSocket } from "ws";
import { createKernel } from "../../kernel/index.ts";
import { createCapturedLog } from "../../kernel/testing.ts";
import { channels } from "../../plugins/channels/index.ts";
import { http } from "../../plugins/http/index.ts";
import { picoServer } from "../../plugins/pico-server/index.ts";
import { files, tokenStore } from "../../plugins/token-store/index.ts";
import { runs } from "../support/runs.ts";

const TOKENS = 4;
const value = (n: number): string => `token-number-${n}-of-the-pico-channel`;
const security = (token: string): string => `channels:\n  pico:\n    token: ${token}\n`;

type Step = {
  readonly do: "rotate" | "edit" | "connect";
  readonly token: number;
  readonly waitMs: number;
};
const step: fc.Arbitrary<Step> = fc.record({
  do: fc.constantFrom("rotate" as const, "edit" as const, "connect" as const, "connect" as const),
  token: fc.nat(TOKENS - 1),
  waitMs: fc.constantFrom(0, 0, 1, 5, 120),
});

interface Guest {
  readonly token: number;
  readonly ws: WebSocket;
  /** 101, or the status of the rejection. */
  readonly answer: Promise<number>;
}

function openConnection(port: number, token: number): Guest {
  const ws = new WebSocket(`ws://127.0.0.1:${port}/pico`, {
    headers: { authorization: `Bearer ${value(token)}` },
  });
  ws.on("error", () => undefined);
  const answer = new Promise<number>((done) => {
    ws.on("open", () => done(101));
    ws.on("unexpected-response", (request, { statusCode = 0 }) => {
      request.destroy();
      done(statusCode);
    });
    ws.on("close", () => done(0));
  });
  return { token, ws, answer };
}

async function play(steps: readonly Step[]): Promise<void> {
  const home = await mkdtemp(join(tmpdir(), "doorward-rotation-"));
  const file = join(home, ".security.yml");
  await writeFile(file, security(value(0)));
  const kernel = createKernel(
    [
      tokenStore(files({ home, env: {} })),
      channels(),
      http({ port: 0 }),
      picoServer({ enabled: false }),
    ],
    { log: createCapturedLog().log, config: { "channels.pico": { enabled: true } } },
  );
  const rotations: number[] = [];
  kernel.on("token-store:rotated", ({ version }) => void rotations.push(version));
  await kernel.start();
  const { tokens, tokenSecrets, http: web } = kernel.services;
  const port = Number(web.addresses()[0]!.port);
  const guests: Guest[] = [];
  const work: Promise<unknown>[] = [];
  try {
    for (const { do: what, token, waitMs } of steps) {
      if (what === "connect") guests.push(openConnection(port, token));
      if (what === "edit") work.push(writeFile(file, security(value(token))));
      if (what === "rotate") {
        const { version: expected } = tokens.info("pico");
        work.push(
          tokenSecrets
            .replace("pico", { value: value(token), expect: expected })
            .catch(() => undefined),
        );
      }
      // All are asked at the same instant: one responds, whatever is in progress.
      const answers = await Promise.all(
        Array.from({ length: TOKENS }, (_, n) => tokens.verify("pico", value(n))),
      );
      expect(answers.filter((match) => match !== false)).toHaveLength(1);
      if (waitMs > 0) await new Promise((done) => setTimeout(done, waitMs));
    }
    await Promise.all(work);
    // The final content of the file counts: one last edit is noticed.
    await writeFile(file, security(value(TOKENS)));
    await vi.waitFor(
      async () => expect(await tokens.verify("pico", value(TOKENS))).not.toBe(false),
      { timeout: 20_000 },
    );
    const statuses = await Promise.all(guests.map(({ answer }) => answer));
    expect(statuses.every((status) => [101, 401, 429].includes(status))).toBe(true);
    await vi.waitFor(
      () => {
        expect(guests.filter(({ ws }) => ws.readyState === WebSocket.OPEN)).toEqual([]);
      },
      { timeout: 20_000 },
    );
    expect(rotations).toEqual([...rotations].sort((a, b) => a - b));
    expect(new Set(rotations).size).toBe(rotations.length);
  } finally {
    for (const { ws } of guests) ws.terminate();
    await kernel.stop();
    await rm(home, { recursive: true, force: true });
  }
}

describe("token rotation", () => {
  test("keeps exactly one token valid and closes older connections", async () => {
    const steps = fc.array(step, { minLength: 4, maxLength: 20 });
    await fc.assert(fc.asyncProperty(steps, play), { numRuns: runs(12) });
  }, 60_000);
});
