import { describe, expect, test } from "vitest";
import type { AnyPlugin, Plugin } from "../../../../../kernel/index.ts";
import { channels } from "../../../../../plugins/channels/index.ts";
import { keys, type Keys, type KeysShape } from "../../../../../plugins/keys/index.ts";
import { memory } from "../../../../../plugins/token-store/index.ts";
import { picoServer } from "../../../../../plugins/pico-server/index.ts";
import {
  rejection,
  signIn,
  startDashboard,
  TOKEN,
  type DashboardServer,
} from "../../../../support/dashboard-server.ts";

/** Starts a dashboard with the plugin, and its service. */
async function start(): Promise<DashboardServer & { readonly keys: Keys }> {
  const inner = keys();
  let service: Keys | undefined;
  const plugin: Plugin<KeysShape> = {
    ...inner,
    async start(scope) {
      const offered = await inner.start(scope);
      service = offered.keys;
      return offered;
    },
  };
  return Object.assign(await startDashboard({ before: [plugin] }), { keys: service! });
}
const bearer = { authorization: `Bearer ${TOKEN}` };

describe("/api/keys", () => {
  test("creates, rotates, lists and revokes a key, and shows secrets once", async () => {
    await using server = await start();
    const auth = await signIn(server);
    const input = { name: "phone", scopes: ["read"], sessions: ["lobby"], current: TOKEN };
    const created = await (await server.post("/api/keys", input, auth)).json();
    expect(created).toMatchObject({ key: { name: "phone", scopes: ["read"] }, path: "/keys" });
    const { id } = created.key;
    const rotated = await (
      await server.post(`/api/keys/${id}/rotate`, { grace: 60, current: TOKEN }, auth)
    ).json();
    expect(rotated.secret).toMatch(new RegExp(`^dwk_${id}_`));
    const listed = await (await server.get("/api/keys", auth)).text();
    for (const { secret } of [created, rotated]) expect(listed).not.toContain(secret.slice(13));
    expect(JSON.parse(listed).keys).toMatchObject([{ id, state: "active" }]);
    const page = await (await server.open("/security", auth)).text();
    expect(page).toContain("phone");
    const headers = { ...auth, "content-type": "application/json" };
    const body = JSON.stringify({ current: TOKEN });
    const revoked = await server.request(`/api/keys/${id}`, { method: "DELETE", headers, body });
    expect(await revoked.json()).toMatchObject({ id, state: "revoked" });
    expect(server.logged()).not.toMatch(/dwk_[a-z2-7]{8}_/);
  });

  test("requires the launcher token again, but not for a program with it", async () => {
    await using server = await start();
    const auth = await signIn(server);
    await rejection(await server.post("/api/keys", { name: "phone" }, auth), 400, "invalid_body");
    const wrong = { name: "phone", current: "wrong" };
    await rejection(await server.post("/api/keys", wrong, auth), 403, "invalid_token");
    const { key } = await server.keys.create({ name: "phone" });
    const path = `/api/keys/${key.id}`;
    await rejection(
      await server.request(path, { method: "DELETE", headers: auth }),
      400,
      "invalid_body",
    );
    expect((await server.request(path, { method: "DELETE", headers: bearer })).status).toBe(200);
    await rejection(
      await server.request(path, { method: "DELETE", headers: bearer }),
      404,
      "not_found",
    );
  });

  test.each([
    [{ name: "" }, 422, "invalid_key"],
    [{ name: "phone" }, 409, "key_rejected"],
    [{ name: "x", scopes: ["owner"] }, 400, "invalid_body"],
    [{ name: "x", sessions: [] }, 422, "invalid_key"],
  ])("rejects %j", async (input, status, code) => {
    await using server = await start();
    await server.keys.create({ name: "phone" });
    const given = { ...input, current: TOKEN };
    await rejection(await server.post("/api/keys", given, bearer), status, code);
  });

  test("sends an event when a key changes", async () => {
    await using server = await start();
    const ending = new AbortController();
    const response = await fetch(new URL("/api/events", server.base), {
      headers: bearer,
      signal: ending.signal,
    });
    const reader = response.body!.getReader();
    const { key } = await server.keys.create({ name: "phone" });
    let text = "";
    while (!text.includes('"created"'))
      text += Buffer.from((await reader.read()).value!).toString();
    expect(text).toContain(`"id":"${key.id}","what":"created"`);
    ending.abort();
    await reader.cancel().catch(() => undefined);
  });

  test.each([true, false])("says that the channel is off: %s", async (isOff) => {
    const before = [keys(), channels(), picoServer({ enabled: !isOff })] as unknown as AnyPlugin[];
    const form = memory({ launcher: TOKEN, pico: TOKEN.toUpperCase() });
    await using server = await startDashboard({ before, form });
    const closed = isOff ? /"closed":"The channel pico is off, so \/keys answers 404\. Turn/ : /^/;
    const create = async (input: object) =>
      (await server.post("/api/keys", { ...input, current: TOKEN }, bearer)).text();
    const list = async () => (await server.get("/api/keys", bearer)).text();
    expect(await create({ name: "script", protocols: ["openai"] })).not.toContain("closed");
    expect(await list()).not.toContain("closed");
    const created = await create({ name: "phone" });
    for (const text of [created, await list()]) {
      expect(text).toMatch(closed);
      expect(text.includes("closed")).toBe(isOff);
    }
  });

  test("answers 404 without the plugin", async () => {
    await using server = await startDashboard();
    await rejection(await server.get("/api/keys", bearer), 404, "not_found");
    expect((await server.open("/security", await signIn(server))).status).toBe(200);
  });
});
