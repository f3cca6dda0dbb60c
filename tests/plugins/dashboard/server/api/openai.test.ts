import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import type { AnyPlugin } from "../../../../../kernel/index.ts";
import { echo } from "../../../../../plugins/echo/index.ts";
import type { ProtocolView } from "../../../../../plugins/dashboard/shared/protocols.ts";
import { openai } from "../../../../../plugins/protocols/openai/index.ts";
import { bearer, pico, withChannel } from "../../../../support/dashboard-channel.ts";
import { signIn, type DashboardServer } from "../../../../support/dashboard-server.ts";

const before = [...pico(), openai({ enabled: false }), echo()] as unknown as AnyPlugin[];

/** Returns the data of the OpenAI protocol in the page, undefined if it has none. */
async function openaiData(server: DashboardServer): Promise<ProtocolView | undefined> {
  const { cookie } = await signIn(server);
  const page = await (await server.get("/clients", { cookie })).text();
  const [, text = ""] = /id="data">([^<]*)</.exec(page) ?? [];
  const { data } = JSON.parse(text) as { data: { protocols: readonly ProtocolView[] } };
  const found = data.protocols.find(({ name }) => name === "openai");
  expect(page.includes(">OpenAI clients<")).toBe(found !== undefined);
  expect(page.includes("chat/completions")).toBe(found?.enabled === true);
  return found;
}

const turn = (server: DashboardServer, { enabled, etag }: ProtocolView): Promise<Response> =>
  server.request("/api/channels/openai", {
    method: "PUT",
    body: JSON.stringify({ enabled: !enabled }),
    headers: {
      "content-type": "application/json",
      "if-match": etag!,
      ...bearer,
    },
  });

describe("Clients page", () => {
  test("turns the OpenAI protocol on and shows snippets that work", () =>
    withChannel(
      async (server, home) => {
        const off = await openaiData(server);
        expect(off?.enabled).toBe(false);
        expect((await turn(server, off!)).status).toBe(200);
        const view = (await openaiData(server))!;
        expect(view.enabled).toBe(true);
        const base = view.url;
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
        expect((await turn(server, view)).status).toBe(200);
        expect((await fetch(`${base}/models`)).status).toBe(404);
      },
      { before },
    ));

  test("shows no OpenAI card without the plugin", () =>
    withChannel(async (server) => {
      expect(await openaiData(server)).toBeUndefined();
    }));
});
