import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import type { AnyPlugin } from "../../../../kernel/index.ts";
import { echo } from "../../../../plugins/echo/index.ts";
import { openai } from "../../../../plugins/openai/index.ts";
import { bearer, pico, withChannel } from "../../../support/dashboard-channel.ts";
import { signedIn, type DashboardStand } from "../../../support/dashboard-server.ts";

const before = [...pico(), openai(), echo()] as unknown as AnyPlugin[];

async function connectPage(stand: DashboardStand): Promise<string> {
  const { cookie } = await signedIn(stand);
  return (await stand.get("/connect", { cookie })).text();
}

const turn = (stand: DashboardStand, page: string): Promise<Response> =>
  stand.request("/api/channels/openai", {
    method: "PUT",
    body: JSON.stringify({ enabled: page.includes('data-openai="on"') }),
    headers: {
      "content-type": "application/json",
      "if-match": /data-etag="([^"]+)"/.exec(page)![1]!,
      ...bearer,
    },
  });

describe("Connect page", () => {
  test("turns the OpenAI protocol on and shows snippets that work", () =>
    withChannel(
      async (stand, home) => {
        const off = await connectPage(stand);
        expect(off).not.toContain("openai-curl");
        expect((await turn(stand, off)).status).toBe(200);
        const page = await connectPage(stand);
        expect(page).toContain('data-openai="off"');
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
        expect((await turn(stand, page)).status).toBe(200);
        expect((await fetch(`${base}/models`)).status).toBe(404);
      },
      { before },
    ));

  test("shows no OpenAI card without the plugin", () =>
    withChannel(async (stand) => {
      expect(await connectPage(stand)).not.toContain("OpenAI");
    }));
});
