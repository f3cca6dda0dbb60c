import { execFile } from "node:child_process";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, test } from "vitest";
import { connectTestClient } from "../../testkit/index.ts";
import { findTool } from "../support/tools.ts";
import { sessionCookie, startLauncher, type RunningLauncher } from "../e2e/launcher.ts";

const token = "0123456789abcdef".repeat(4);
const guesses = 500;
const hydra = findTool("hydra");

/** Resolves with the passwords that hydra found within ten seconds. */
function guess(
  cwd: string,
  { base }: RunningLauncher,
  service: string,
  how: string,
): Promise<string> {
  const what = [
    "-l",
    "x",
    "-P",
    "words",
    "-t",
    "16",
    "-I",
    "-f",
    "-s",
    base.port,
    base.hostname,
    service,
    how,
  ];
  return new Promise((done) => {
    execFile(hydra!, what, { cwd, timeout: 10_000 }, (_, stdout, stderr) => done(stdout + stderr));
  });
}

/**
 * Sends different wrong values, sixteen in parallel. Replaces hydra for endpoints that respond with
 * 401, at which hydra stops.
 *
 * @returns The number of responses per status.
 */
async function sendGuesses(
  at: URL,
  headersOf: (value: string) => Record<string, string>,
): Promise<Map<number, number>> {
  const seen = new Map<number, number>();
  let next = 0;
  await Promise.all(
    Array.from({ length: 16 }, async () => {
      while (next < guesses) {
        const { status } = await fetch(at, {
          headers: headersOf(`guess-number-${++next}`),
          redirect: "manual",
        });
        seen.set(status, (seen.get(status) ?? 0) + 1);
      }
    }),
  );
  return seen;
}

test.skipIf(!hydra)(
  "rejects parallel guessing and still admits the owner and clients",
  async () => {
    const folder = await mkdtemp(join(tmpdir(), "doorward-hydra-"));
    try {
      const words = Array.from({ length: 5_000 }, (_, n) => `guess-number-${n}`);
      await writeFile(join(folder, "words"), `${words.join("\n")}\n${token}x\n${token.slice(1)}\n`);
      await using launcher = await startLauncher({
        env: {
          SERVICE_LAUNCHER_TOKEN: token,
          SERVICE_CHANNELS_PICO_ENABLED: "true",
          SERVICE_CHANNELS_PICO_TOKEN: token,
          SERVICE_CHANNELS_PICO_ALLOW_TOKEN_QUERY: "true",
        },
      });
      await using fresh = await startLauncher();
      const at = (path: string): URL => new URL(path, launcher.base);
      const login = () =>
        fetch(at("/login"), {
          method: "POST",
          body: new URLSearchParams({ token }),
          redirect: "manual",
        });
      const bearer = (value: string) => ({ authorization: `Bearer ${value}` });
      const client = await connectTestClient(at("/pico"), { token, timeoutMs: 60_000 });
      const cookie = sessionCookie(await login());

      const hydra = Promise.all([
        guess(folder, launcher, "http-post-form", "/login:token=^PASS^:F=Launcher token"),
        // With the headers of a browser, which is redirected to the sign-in page. Other clients get
        // 401, at which hydra stops.
        guess(
          folder,
          launcher,
          "http-get-form",
          "/:token=^PASS^:F=Launcher token:H=Accept\\: text/html",
        ),
        guess(folder, fresh, "http-post-form", "/setup:code=^PASS^&keep=true:F=code"),
      ]);
      const results = await Promise.all([
        sendGuesses(at("/api/status"), bearer),
        sendGuesses(at("/pico"), bearer),
        sendGuesses(at("/pico"), (value) => ({ "sec-websocket-protocol": `token.${value}` })),
      ]);
      for (const output of await hydra) {
        expect(output).toContain("Hydra");
        expect(output).not.toMatch(/host: .*password: |valid password/);
      }
      for (const statuses of results) {
        // After ten wrong values at any endpoint, the server compares no more values.
        expect([...statuses.keys()].filter((status) => status !== 401 && status !== 429)).toEqual(
          [],
        );
        expect(statuses.get(401) ?? 0).toBeLessThan(30);
        expect(statuses.get(429)).toBeGreaterThan(guesses - 30);
      }
      const wrong = await fetch(at("/login"), {
        method: "POST",
        body: new URLSearchParams({ token: "guess" }),
      });
      expect(wrong.status).toBe(429);

      expect((await fetch(at("/api/status"), { headers: { cookie } })).status).toBe(200);
      expect((await fetch(at("/api/status"), { headers: bearer(token) })).status).toBe(200);
      expect((await login()).status).toBe(303);
      expect(
        (await fetch(launcher.link, { redirect: "manual" })).headers.getSetCookie(),
      ).toHaveLength(1);
      // The channel keeps open connections and accepts the correct token from the same address.
      client.say("still here");
      expect((await client.next("message.create")).payload?.["content"]).toBe("still here");
      await client.close();
      await (await connectTestClient(at("/pico"), { token })).close();
      // The guesses did not finish the setup. The setup link still finishes it.
      expect((await fetch(fresh.link, { redirect: "manual" })).status).toBe(303);
    } finally {
      await rm(folder, { recursive: true, force: true });
    }
  },
);
