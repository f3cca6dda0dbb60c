import { connect } from "node:net";
import { describe, expect, test } from "vitest";
import { createKernel, type AnyPlugin } from "../../../../../kernel/index.ts";
import { createCapturedLog } from "../../../../../kernel/testing.ts";
import { channels } from "../../../../../plugins/channels/index.ts";
import { dashboard } from "../../../../../plugins/dashboard/index.ts";
import { http } from "../../../../../plugins/http/index.ts";
import { picoServer } from "../../../../../plugins/pico-server/index.ts";
import { memory, tokenStore } from "../../../../../plugins/token-store/index.ts";
import {
  opened,
  rejection,
  signIn,
  startDashboard,
  TOKEN,
  type DashboardServer,
  type HeaderLines,
} from "../../../../support/dashboard-server.ts";
import { connectClient } from "../../../../support/pico-server-harness.ts";

const secret = "s".repeat(43);
const setting = {
  header: "Remote-User",
  name_header: "Remote-Name",
  owners: ["ann", "bob"],
  logout_url: "https://auth.example.org/logout",
};
const start = (
  launcher: Record<string, unknown> = {},
  before: readonly AnyPlugin[] = [],
): Promise<DashboardServer> =>
  startDashboard({
    before,
    form: memory({ launcher: TOKEN, pico: TOKEN, proxy_sign_in: secret }),
    launcher: { trusted_proxies: ["127.0.0.1"], proxy_sign_in: setting, ...launcher },
  });
const good = { "remote-user": "ann", "x-doorward-proxy": secret };

const spoofs: Readonly<Record<string, HeaderLines>> = {
  "no secret": { "remote-user": "ann" },
  "a wrong secret": { "remote-user": "ann", "x-doorward-proxy": "x".repeat(43) },
  "two secrets": { "remote-user": "ann", "x-doorward-proxy": [secret, secret] },
  "two ids": { "remote-user": ["ann", "ann"], "x-doorward-proxy": secret },
  "an underscore": { remote_user: "ann", "x-doorward-proxy": secret },
  "a list": { "remote-user": "ann, eve", "x-doorward-proxy": secret },
  "no id": { "x-doorward-proxy": secret },
  "an empty id": { "remote-user": "", "x-doorward-proxy": secret },
  "white space after the id": { "remote-user": "ann\u00c2\u00a0", "x-doorward-proxy": secret },
  "bytes that are not UTF-8": { "remote-user": "ann\u00ff", "x-doorward-proxy": secret },
  "a long id": { "remote-user": "a".repeat(8_000), "x-doorward-proxy": secret },
};

describe("proxy_sign_in", () => {
  test("signs in the owners that the header names, without a cookie", async () => {
    await using server = await start();
    for (const name of ["Remote-User", "REMOTE-USER"]) {
      const page = await server.open("/security", { [name]: "ann", "X-Doorward-Proxy": secret });
      expect([page.status, page.headers.getSetCookie()]).toEqual([200, []]);
    }
    const api = await server.get("/api/sessions", good);
    const { sessions } = (await api.json()) as { sessions: unknown[] };
    expect(sessions).toHaveLength(1);
    expect((await server.get("/api/status", { ...good, "remote-user": "bob" })).status).toBe(200);
  });

  test.each(Object.entries(spoofs))("does not sign in with %s", async (_, headers) => {
    await using server = await start();
    await rejection(await server.get("/api/status", headers), 401, "unauthorized");
  });

  test("compares ids as text in UTF-8", async () => {
    await using server = await start({ proxy_sign_in: { ...setting, owners: ["zoë"] } });
    const id = Buffer.from("zoë").toString("latin1");
    const { status } = await server.get("/api/status", { ...good, "remote-user": id });
    expect(status).toBe(200);
  });

  test("closes connections after a rotation of the secret", async () => {
    await using server = await start({}, [channels(), picoServer()]);
    const headers = { ...good, origin: server.origin };
    const client = await connectClient(server.port, "/pico/ws?session_id=a", {
      token: null,
      headers,
    });
    const { tokenSecrets, tokens } = server.kernel.services;
    const expected = tokens.info("proxy_sign_in").version;
    const value = "another-secret-of-the-proxy-0123456789-abcdef";
    await tokenSecrets.replace("proxy_sign_in", { value, expect: expected });
    expect(await client.closed).toMatchObject({ code: 1008 });
    await rejection(await server.get("/api/status", good), 401, "unauthorized");
    const next = { ...good, "x-doorward-proxy": value };
    expect((await server.get("/api/status", next)).status).toBe(200);
  });

  test("does not start if the host names owners", async () => {
    const kernel = createKernel(
      [
        tokenStore(memory({ launcher: TOKEN, proxy_sign_in: secret })),
        http({ port: 0, identify: () => undefined }),
        dashboard(),
      ],
      { log: createCapturedLog().log, config: { launcher: { proxy_sign_in: setting } } },
    );
    await expect(kernel.start()).rejects.toMatchObject({ code: "PROXY_SIGN_IN_TAKEN" });
  });

  test("does not sign in from an address outside trusted_proxies", async () => {
    await using server = await start({ trusted_proxies: ["10.0.0.1"] });
    const forwarded = { ...good, "x-forwarded-for": "10.0.0.1" };
    await rejection(await server.get("/api/status", forwarded), 401, "unauthorized");
  });

  test("names a person who is not an owner", async () => {
    await using server = await start();
    const { message } = await rejection(
      await server.get("/api/status", { ...good, "remote-user": "eve" }),
      403,
      "not_an_owner",
    );
    expect(message).toBe('"eve" is not an owner.');
  });

  test("counts no cookie in a request of the proxy", async () => {
    await using server = await start();
    const auth = await signIn(server);
    expect((await server.get("/api/status", auth)).status).toBe(200);
    const proxied = { "x-doorward-proxy": secret };
    await rejection(await server.get("/api/status", { ...auth, ...proxied }), 401, "unauthorized");
    const other = { ...auth, ...proxied, "remote-user": "eve" };
    await rejection(await server.get("/api/status", other), 403, "not_an_owner");
    const query = await server.open(`/?token=${TOKEN}`, proxied);
    expect((await server.open("/security", { ...opened, ...proxied })).status).toBe(401);
    expect(query.status).not.toBe(200);
  });

  test("decides for each request of a connection", async () => {
    await using server = await start();
    const text = await new Promise<string>((resolve) => {
      const socket = connect(server.port, "127.0.0.1");
      let received = "";
      socket.on("data", (data) => (received += String(data)));
      socket.on("close", () => resolve(received));
      const head = `GET /api/status HTTP/1.1\r\nHost: 127.0.0.1:${server.port}\r\n`;
      const own = `Remote-User: ann\r\nX-Doorward-Proxy: ${secret}\r\n`;
      socket.write(`${head}${own}\r\n${head}Connection: close\r\n\r\n`);
    });
    expect([...text.matchAll(/HTTP\/1\.1 (\d+)/g)].map(([, status]) => status)).toEqual([
      "200",
      "401",
    ]);
  });

  test("leads a sign-out to the proxy", async () => {
    await using server = await start();
    const response = await server.post("/logout", {}, { ...good, origin: server.origin });
    expect(await response.json()).toEqual({ status: "ok", next: setting.logout_url });
  });

  test("logs a wrong secret, without it", async () => {
    await using server = await start();
    await server.get("/api/status", spoofs["a wrong secret"]);
    expect(server.logged()).toContain("the secret of the proxy sign-in is wrong");
    expect(server.logged()).not.toContain("x".repeat(43));
    expect(server.logged()).not.toContain(secret);
  });

  test.each([undefined, "short-secret-of-the-proxy"])(
    "does not start with the secret %j",
    async (given) => {
      const form = memory({ launcher: TOKEN, ...(given && { proxy_sign_in: given }) });
      const starting = startDashboard({ form, launcher: { proxy_sign_in: setting } });
      await expect(starting).rejects.toMatchObject({ code: "PROXY_SECRET" });
    },
  );
});
