import { once } from "node:events";
import { describe, expect, test, vi } from "vitest";
import { WebSocket } from "ws";
import { PICO, TOKEN, withApi, type ApiClient } from "../../../../support/api-client.ts";

async function join(
  office: ApiClient,
  session: string,
  headers: Record<string, string> = {},
): Promise<WebSocket> {
  const ws = new WebSocket(`ws://127.0.0.1:${office.port}/pico?session_id=${session}`, {
    headers: { authorization: `Bearer ${PICO}`, ...headers },
  });
  await once(ws, "open");
  return ws;
}

describe("GET /api/connections", () => {
  test("lists a page of connections, filtered by any text", () =>
    withApi(async (office) => {
      for (const name of ["one", "two", "three"])
        await join(office, name, { "user-agent": `Tester/${name}` });
      const all = await office.ask("GET", "/api/connections");
      expect(all.body.total).toBe(3);
      expect(all.body.connections[0]).toMatchObject({
        session: "one",
        method: "header",
        address: "127.0.0.1",
        userAgent: "Tester/one",
        messagesIn: 0,
      });
      const page = await office.ask("GET", "/api/connections?offset=1&limit=1");
      expect([
        page.body.total,
        page.body.connections.map((each: { session: string }) => each.session),
      ]).toEqual([3, ["two"]]);
      const found = await office.ask("GET", "/api/connections?text=TESTER%2Fthree");
      expect(found.body).toMatchObject({ total: 1, connections: [{ session: "three" }] });
      expect(await office.ask("GET", "/api/connections?limit=-1")).toMatchObject({ status: 400 });
    }));

  test("redacts a session id that a rotation turns into a token", () =>
    withApi(async (office) => {
      const session = "session-with-the-name-of-a-later-launcher-token";
      await join(office, session);
      await join(office, "other");
      const before = await office.ask("GET", "/api/connections");
      expect(before.body.connections).toMatchObject([{ session }, { session: "other" }]);
      const change = { which: "launcher", token: session, current: TOKEN };
      expect(await office.ask("POST", "/api/token/rotate", change)).toMatchObject({ status: 200 });
      const owner = { authorization: `Bearer ${session}` };
      for (const query of ["", `?text=${session}`]) {
        const { body } = await office.ask("GET", `/api/connections${query}`, undefined, owner);
        expect(JSON.stringify(body)).not.toContain(session);
      }
      const { body } = await office.ask("GET", "/api/connections", undefined, owner);
      expect(body.connections).toMatchObject([{ session: "[redacted]" }, { session: "other" }]);
      const status = await office.ask("GET", "/api/status", undefined, owner);
      expect(JSON.stringify([status.body, office.lines])).not.toContain(session);
    }));

  test("closes a connection with 4403 and answers 404 to unknown ids", () =>
    withApi(async (office) => {
      const ws = await join(office, "one");
      const [{ id }] = (await office.ask("GET", "/api/connections")).body.connections;
      const closed = once(ws, "close");
      expect(await office.ask("DELETE", `/api/connections/${id}`)).toMatchObject({ status: 200 });
      expect((await closed)[0]).toBe(4403);
      await vi.waitFor(
        async () => {
          expect(await office.ask("DELETE", `/api/connections/${id}`)).toMatchObject({
            status: 404,
          });
        },
        { timeout: 20_000 },
      );
    }));
});

describe("GET /api/channels", () => {
  test("agrees with the overview", () =>
    withApi(async (office) => {
      const { body } = await office.ask("GET", "/api/channels");
      expect(body.channels).toEqual([
        expect.objectContaining({ name: "pico", enabled: true, connections: 0 }),
      ]);
    }));
});

describe("POST /api/channels/pico/try", () => {
  const codes = ({ body }: { body: any }) =>
    Object.fromEntries(
      body.results.map(({ method, ok, code }: Record<string, string>) => [method, `${code} ${ok}`]),
    );

  test("opens a handshake by each method and returns no token", () =>
    withApi(async (office) => {
      const asked = await office.ask("POST", "/api/channels/pico/try");
      expect(codes(asked)).toEqual({
        header: "101 true",
        subprotocol: "101 true",
        query: "token_query_disabled false",
        requests: "200 true",
      });
      expect(JSON.stringify(asked.body)).not.toContain(PICO);
      await expect
        .poll(async () => (await office.ask("GET", "/api/connections")).body.total)
        .toBe(0);
    }));

  test("does not count its own handshakes as rejected clients", () =>
    withApi(async (office) => {
      const rejected = async () =>
        (await office.ask("GET", "/api/figures")).body.hour.rejected.at(-1);
      expect(codes(await office.ask("POST", "/api/channels/pico/try"))["query"]).toContain("false");
      expect(await rejected()).toBe(0);
      const upgrade = { connection: "Upgrade", upgrade: "websocket" };
      await office.ask("GET", "/pico?token=wrong", undefined, upgrade);
      expect(await rejected()).toBe(1);
    }));

  test("reports that the query method is allowed", () =>
    withApi(
      async (office) => {
        expect(codes(await office.ask("POST", "/api/channels/pico/try"))["query"]).toBe("101 true");
      },
      { config: { channels: { pico: { enabled: true, allow_token_query: true } } } },
    ));

  test("sends a token of any characters by each method", () =>
    withApi(
      async (office) => {
        expect(codes(await office.ask("POST", "/api/channels/pico/try"))).toMatchObject({
          header: "101 true",
          subprotocol: "101 true",
          query: "101 true",
          requests: "200 true",
        });
      },
      {
        config: { channels: { pico: { enabled: true, allow_token_query: true } } },
        env: { SERVICE_CHANNELS_PICO_TOKEN: "ünïcödé & {odd} 🔑 token" },
      },
    ));

  test("reports that the channel is off", () =>
    withApi(
      async (office) => {
        expect(codes(await office.ask("POST", "/api/channels/pico/try"))["header"]).toBe(
          "not_found false",
        );
      },
      { config: { channels: { pico: { enabled: false } } } },
    ));

  test("runs one test at a time", () =>
    withApi(async ({ ask }) => {
      const both = await Promise.all([
        ask("POST", "/api/channels/pico/try"),
        ask("POST", "/api/channels/pico/try"),
      ]);
      expect(both.map(({ status }) => status).sort()).toEqual([200, 409]);
    }));
});
