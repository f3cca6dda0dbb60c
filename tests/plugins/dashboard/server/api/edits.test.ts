import { once } from "node:events";
import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { describe, expect, test, vi } from "vitest";
import { WebSocket } from "ws";
import { isSignedIn } from "../../../../support/dashboard-server.ts";
import { PICO, TOKEN, withApi, type ApiClient } from "../../../../support/api-client.ts";

const OTHER = "another-token-of-the-launcher-0123456789-abc";
const probe = async ({ get }: ApiClient, token: string): Promise<number> =>
  (await get("/pico", { authorization: `Bearer ${token}` })).status;
const eventually = (check: () => unknown): Promise<unknown> =>
  vi.waitFor(check, { timeout: 20_000, interval: 20 });

describe("file watch", () => {
  test("closes connections with 4401 when the channel token is removed", () =>
    withApi(async (office) => {
      const file = join(office.home, ".security.yml");
      const ws = new WebSocket(`ws://127.0.0.1:${office.port}/pico`, {
        headers: { authorization: `Bearer ${PICO}` },
      });
      await once(ws, "open");
      const closed = once(ws, "close");
      await writeFile(file, "channels: {}\n");
      expect((await closed)[0]).toBe(4401);
      expect(await probe(office, PICO)).toBe(503);
      await writeFile(file, `channels:\n  pico:\n    token: ${PICO}-new\n`);
      await eventually(async () => expect(await probe(office, `${PICO}-new`)).toBe(200));
      expect(await probe(office, PICO)).toBe(401);
    }));

  test("ends every session when the launcher token changes", () =>
    withApi(async (office) => {
      await writeFile(
        join(office.home, "launcher-config.json"),
        JSON.stringify({ launcher_token: OTHER }),
      );
      await eventually(async () => expect(await isSignedIn(office, office.session)).toBe(false));
      expect(await isSignedIn(office, { authorization: `Bearer ${OTHER}` })).toBe(true);
      expect(await isSignedIn(office, { authorization: `Bearer ${TOKEN}` })).toBe(false);
    }));

  test("applies settings and changes their etag", () =>
    withApi(async (office) => {
      const pico = async () =>
        (await office.ask("GET", "/api/settings")).body.sections.find(
          (each: { section: string }) => each.section === "channels.pico",
        );
      const before = await pico();
      await writeFile(
        join(office.home, "config.json"),
        JSON.stringify({ channels: { pico: { enabled: false } } }),
      );
      await eventually(async () => expect((await pico()).value.enabled).toBe(false));
      expect((await pico()).etag).not.toBe(before.etag);
      expect(await probe(office, PICO)).toBe(404);
    }));
});
