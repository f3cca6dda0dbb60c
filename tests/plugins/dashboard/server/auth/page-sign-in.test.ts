// Tests whether the channel accepts the sign-in of a page wherever the dashboard does, and why not.
import { describe, expect, test } from "vitest";
import { withChannel } from "../../../../support/dashboard-channel.ts";
import {
  TOKEN,
  cookieFrom,
  type DashboardServer,
  type HeaderLines,
} from "../../../../support/dashboard-server.ts";
import { sendRaw, wsLines, type RawResponse } from "../../../../support/pico-server-harness.ts";

const on = { env: { SERVICE_CHANNELS_PICO_ENABLED: "true", SERVICE_CHANNELS_PICO_TOKEN: TOKEN } };
/** A proxy without TLS at this address forwards the host without its port. */
const page = "http://127.0.0.1:8080";
const proxied = { host: "127.0.0.1", origin: page };
const sameOrigin = { "sec-fetch-site": "same-origin" };

async function signInWith(server: DashboardServer, headers: HeaderLines): Promise<string> {
  const answer = await server.post("/login", { token: TOKEN }, headers);
  expect(answer.status).toBe(200);
  return cookieFrom(answer);
}

/** Opens a WebSocket as a browser does. */
function handshake(server: DashboardServer, headers: Record<string, string>): Promise<RawResponse> {
  const lines = Object.entries(headers).map(([name, value]) => `${name}: ${value}`);
  return sendRaw(server.port, "/pico", { lines: [...wsLines, ...lines] });
}

const statusView = async (server: DashboardServer) =>
  (await (await server.get("/api/status", { authorization: `Bearer ${TOKEN}` })).json()) as {
    channel: { refusals: { code: string; why?: string }[] };
  };

describe("handshake of a page", () => {
  test("accepts the origin at which the page signed in", () =>
    withChannel(async (server) => {
      const cookie = await signInWith(server, { ...proxied, ...sameOrigin });
      expect((await handshake(server, { ...proxied, cookie })).status).toBe(101);
      const upper = { ...proxied, origin: page.toUpperCase() };
      expect((await handshake(server, { ...upper, cookie })).status).toBe(101);
      // Firefox sends the header with handshakes, too.
      const fresh = await signInWith(server, sameOrigin);
      const told = { ...proxied, ...sameOrigin, cookie: fresh };
      expect((await handshake(server, told)).status).toBe(101);
    }, on));

  test("accepts the origin after POST /api/handshake, and not before", () =>
    withChannel(async (server) => {
      // A native form has no origin: `Origin: null`.
      const form = { host: "127.0.0.1", origin: "null", ...sameOrigin };
      const answer = await server.form("/login", { token: TOKEN }, form);
      const cookie = cookieFrom(answer);
      const rejected = await handshake(server, { ...proxied, cookie });
      expect(rejected).toMatchObject({ status: 401, body: { error: "sign_in_rejected" } });
      const asked = await server.post("/api/handshake", {}, { ...proxied, ...sameOrigin, cookie });
      expect([asked.status, await asked.json()]).toEqual([200, {}]);
      expect((await handshake(server, { ...proxied, cookie })).status).toBe(101);
    }, on));

  test("accepts the origins in allowed_origins", () =>
    withChannel(
      async (server) => {
        const cookie = await signInWith(server, proxied);
        expect((await handshake(server, { ...proxied, cookie })).status).toBe(101);
      },
      { ...on, launcher: { allowed_origins: [page] } },
    ));

  test.each([
    ["another port", "http://127.0.0.1:9999", {}],
    ["another scheme", "https://127.0.0.1:8080", {}],
    ["another name", "http://localhost:8080", {}],
    ["another site", "https://evil.example", {}],
    ["no origin", "null", {}],
    ["another port, as the browser says", page, { "sec-fetch-site": "same-site" }],
    ["another site, as the browser says", page, { "sec-fetch-site": "cross-site" }],
  ])("rejects a sign-in from %s", (_, origin, headers) =>
    withChannel(async (server) => {
      const cookie = await signInWith(server, { ...proxied, ...sameOrigin });
      // A page elsewhere can make the browser send these; none of them proves its origin.
      for (const site of ["same-site", "cross-site", "none"]) {
        const foreign = { host: "127.0.0.1", origin, "sec-fetch-site": site, cookie };
        await server.get("/api/status", foreign);
        await server.post("/api/handshake", {}, foreign);
      }
      const sent = { host: "127.0.0.1", origin, ...headers, cookie };
      const { status, body } = await handshake(server, sent);
      expect([status, body.error]).toEqual([401, "sign_in_rejected"]);
      expect(body.message).toContain(`The page is on ${origin}`);
    }, on),
  );

  test("rejects a sign-in without an origin, and one that has ended", () =>
    withChannel(async (server) => {
      const cookie = await signInWith(server, {});
      const without = await handshake(server, { host: server.base.host, cookie });
      expect(without.body).toMatchObject({ error: "sign_in_rejected" });
      expect(without.body.message).toContain("Origin");
      const origin = { origin: server.origin, host: server.base.host };
      expect((await handshake(server, { ...origin, cookie })).status).toBe(101);
      await server.post("/logout", {}, { cookie, origin: server.origin });
      const ended = await handshake(server, { ...origin, cookie });
      expect(ended.body.message).toContain("Sign in again.");
      expect((await handshake(server, origin)).body.error).toBe("token_missing");
    }, on));

  test("names host and scheme that a proxy must forward", () =>
    withChannel(
      async (server) => {
        const secure = { "x-forwarded-proto": "https", "x-forwarded-host": "door.example.org" };
        const origin = "https://door.example.org";
        const cookie = await signInWith(server, { ...secure, origin });
        const lost = { "x-forwarded-host": "door.example.org", origin, cookie };
        const host = { host: server.base.host };
        expect((await handshake(server, { ...host, ...lost })).body.message).toMatch(
          /signed in over https.*arrived as http\..*X-Forwarded-Proto.*trusted_proxies/,
        );
        const foreign = { ...secure, "x-forwarded-host": "other.example", origin, cookie };
        expect((await handshake(server, { ...host, ...foreign })).body.message).toMatch(
          /"other\.example" is not allowed.*allowed_hosts/,
        );
        expect((await handshake(server, { ...host, ...secure, origin, cookie })).status).toBe(101);
      },
      {
        ...on,
        launcher: { trusted_proxies: ["127.0.0.1"], allowed_hosts: ["door.example.org"] },
      },
    ));

  test("says why in the log, on the overview and to the page", () =>
    withChannel(async (server) => {
      const cookie = await signInWith(server, {});
      await handshake(server, { ...proxied, cookie });
      const why = expect.stringMatching(
        /page is on http:\/\/127\.0\.0\.1:8080, but the request names http:\/\/127\.0\.0\.1\. .*\$http_host.*"allowed_origins"/,
      );
      expect(server.lines).toContainEqual(
        expect.objectContaining({ reason: "sign_in_rejected", text: "client rejected", why }),
      );
      const { channel } = await statusView(server);
      expect(channel.refusals).toEqual([
        expect.objectContaining({ code: "sign_in_rejected", origin: page, why }),
      ]);
      // Without Sec-Fetch-Site, the dashboard rejects the question itself.
      const asked = await server.post("/api/handshake", {}, { ...proxied, cookie });
      expect(await asked.json()).toMatchObject({
        error: "origin_not_allowed",
        hint: expect.stringMatching(/allowed_origins.*\$http_host/),
      });
      const own = { origin: server.origin, cookie };
      expect(await (await server.post("/api/handshake", {}, own)).json()).toEqual({});
    }, on));

  test("learns that the proxy changes only the handshake", () =>
    withChannel(
      async (server) => {
        const { host } = server.base;
        const secure = { "x-forwarded-proto": "https", "x-forwarded-host": host };
        const page = { ...secure, ...sameOrigin, origin: `https://${host}` };
        const cookie = await signInWith(server, page);
        await handshake(server, { host, origin: `https://${host}`, cookie });
        const asked = await server.post("/api/handshake", {}, { ...page, cookie });
        expect(await asked.json()).toEqual({
          code: "sign_in_rejected",
          why: expect.stringContaining("X-Forwarded-Proto"),
        });
      },
      { ...on, launcher: { trusted_proxies: ["127.0.0.1"] } },
    ));

  test("learns that the header Upgrade was lost", () =>
    withChannel(async (server) => {
      const cookie = await signInWith(server, {});
      const own = { origin: server.origin, cookie };
      const { status } = await server.get("/pico", {
        ...own,
        "sec-websocket-key": "dGhlIHNhbXBsZSBub25jZQ==",
      });
      expect(status).toBe(426);
      const answer = await server.post("/api/handshake", {}, own);
      expect(await answer.json()).toEqual({
        code: "upgrade_required",
        why: expect.stringContaining("proxy"),
      });
      await server.clock.increment(11_000);
      expect(await (await server.post("/api/handshake", {}, own)).json()).toEqual({});
    }, on));
});

describe("X-Forwarded-Proto of an upgrade", () => {
  const trusted = { ...on, launcher: { trusted_proxies: ["127.0.0.1"] } };
  const config = '{"channels":{"pico":{"enabled":true,"allow_origins":["self"]}}}';

  test.each(["wss", "WSS", "https", "ws, wss", "wss,wss"])("means https: %s", (scheme) =>
    withChannel(
      async (server) => {
        const { host } = server.base;
        const forwarded = { "x-forwarded-proto": "https", "x-forwarded-host": host };
        const cookie = await signInWith(server, { ...forwarded, origin: `https://${host}` });
        const upgrade = { ...forwarded, host, "x-forwarded-proto": scheme };
        const at = (origin: string, more: Record<string, string>) =>
          handshake(server, { ...upgrade, origin, ...more });
        expect((await at(`https://${host}`, { cookie })).status).toBe(101);
        const token = { authorization: `Bearer ${TOKEN}` };
        expect((await at(`https://${host}`, token)).status).toBe(101);
        expect((await at(`http://${host}`, { cookie })).status).toBe(401);
        expect((await at(`http://${host}`, token)).status).toBe(403);
      },
      { ...trusted, config },
    ),
  );

  test.each(["ws", "WS", "http", "wss, ws", "wsss", "h2"])("means http: %s", (scheme) =>
    withChannel(
      async (server) => {
        const { host } = server.base;
        const cookie = await signInWith(server, { origin: server.origin });
        const upgrade = { host, "x-forwarded-proto": scheme, cookie };
        const at = (origin: string) => handshake(server, { ...upgrade, origin });
        expect((await at(server.origin)).status).toBe(101);
        expect((await at(`https://${host}`)).status).toBe(401);
      },
      { ...trusted, config },
    ),
  );

  test("accepts a forwarded host with the default port", () =>
    withChannel(async (server) => {
      const forwarded = { "x-forwarded-proto": "https", "x-forwarded-host": "localhost:443" };
      const origin = "https://localhost";
      const cookie = await signInWith(server, { ...forwarded, origin });
      const sent = { ...forwarded, host: server.base.host, origin, cookie };
      expect((await handshake(server, sent)).status).toBe(101);
    }, trusted));
});
