import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import type { AnyPlugin } from "../../../../kernel/index.ts";
import { echo } from "../../../../plugins/echo/index.ts";
import { openai } from "../../../../plugins/openai/index.ts";
import { bearer, pico, withChannel } from "../../../support/dashboard-channel.ts";
import { signIn, type DashboardServer } from "../../../support/dashboard-server.ts";

const before = [...pico(), openai(), echo()] as unknown as AnyPlugin[];

async function connectPage(server: DashboardServer): Promise<string> {
  const { cookie } = await signIn(server);
  return (await server.get("/connect", { cookie })).text();
}

const turn = (server: DashboardServer, page: string): Promise<Response> =>
  server.request("/api/channels/openai", {
    method: "PUT",
    body: JSON.stringify({ enabled: page.includes('data-turn="on"') }),
    headers: {
      "content-type": "application/json",
      "if-match": /data-etag="([^"]+)"/.exec(page)![1]!,
      ...bearer,
    },
  });

describe("Connect page", () => {
  test("turns the OpenAI protocol on and shows snippets that work", () =>
    withChannel(
      async (server, home) => {
        const off = await connectPage(server);
        expect(off).not.toContain("openai-curl");
        expect((await turn(server, off)).status).toBe(200);
        const page = await connectPage(server);
        expect(page).toContain('data-protocol="openai" data-turn="off"');
        const [, base = ""] = /Base URL <code>([^<]+)</.exec(page) ?? [];
        const secrets = await readFile(join(home, ".security.yml"), "utf8");
        const [, token = ""] = /openai:\s+token: "?([0-9a-f]{64})/.exec(secrets) ?? [];
        const reply = await fetch(`${base}/chat/completions`, {
          method: "POST",
          headers: { authorization: `Bearer ${token}`, "content-type": "application/json" },
          body: JSON.stringify({
            model: "doorward",
            messages: [{ role: "user", content: "hello" }],
          }),
        });
        expect([reply.status, await reply.text()]).toEqual([
          200,
          expect.stringContaining('"content":"hello"'),
        ]);
        expect((await turn(server, page)).status).toBe(200);
        expect((await fetch(`${base}/models`)).status).toBe(404);
      },
      { before },
    ));

  test("shows no OpenAI card without the plugin", () =>
    withChannel(async (server) => {
      expect(await connectPage(server)).not.toContain("OpenAI");
    }));
});
