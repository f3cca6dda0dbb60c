// Tests the private host name: random, used to open a browser, accepted like 127.0.0.1.
import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import type { AnyPlugin } from "../../../../../kernel/index.ts";
import { channels } from "../../../../../plugins/channels/index.ts";
import { picoServer } from "../../../../../plugins/pico-server/index.ts";
import { memory } from "../../../../../plugins/token-store/index.ts";
import { selfSigned } from "../../../http/certificate.ts";
import { connectClient } from "../../../../support/pico-server-harness.ts";
import {
  TOKEN,
  cookieFrom,
  isSignedIn,
  rejection,
  startDashboard,
  tempHome,
  type DashboardServer,
} from "../../../../support/dashboard-server.ts";

const privateUrl = (server: DashboardServer, page?: string): string | undefined =>
  server.kernel.services.signInLinks.mint(page).privateUrl;
const hostOf = (server: DashboardServer): string => new URL(privateUrl(server)!).host;

describe("SignInLinks.mint", () => {
  test("adds a private URL with 80 random bits, constant per start", async () => {
    await using one = await startDashboard();
    await using two = await startDashboard();
    expect(hostOf(one)).toMatch(new RegExp(`^doorward-[0-9a-f]{20}\\.localhost:${one.port}$`));
    expect(hostOf(one)).toBe(hostOf(one));
    expect(hostOf(one).split(".")[0]).not.toBe(hostOf(two).split(".")[0]);
  });

  test("signs in under the private name and opens the page", async () => {
    await using server = await startDashboard({ basePath: "/door" });
    const url = new URL(privateUrl(server, "/tokens")!);
    expect(url.pathname).toBe("/door/");
    const answer = await server.open(url.pathname + url.search, { host: url.host });
    expect([answer.status, answer.headers.get("location")]).toEqual([303, "/door/tokens"]);
  });

  test.each([
    ["127.0.0.1", true],
    ["localhost", true],
    ["127.0.0.2", false],
    ["0.0.0.0", true],
  ])("adds a private URL only if browsers can reach it: %s", async (host, offered) => {
    await using server = await startDashboard({ host });
    expect(privateUrl(server) !== undefined).toBe(offered);
  });

  test("adds no private URL over TLS, whose certificate lacks the name", async () => {
    await using folder = await tempHome();
    const [cert, key] = [join(folder.home, "cert.pem"), join(folder.home, "key.pem")];
    const made = selfSigned();
    await writeFile(cert, made.cert);
    await writeFile(key, made.key);
    await using server = await startDashboard({ launcher: { tls: { cert, key } } });
    expect(server.kernel.services.signInLinks.mint()).not.toHaveProperty("privateUrl");
  });
});

describe("PrivateHost", () => {
  test("accepts the private name as Host and Origin", async () => {
    await using server = await startDashboard();
    const host = hostOf(server);
    const origin = `http://${host}`;
    const answer = await server.post("/login", { token: TOKEN }, { host, origin });
    expect(answer.status).toBe(200);
    expect(answer.headers.getSetCookie()[0]).not.toContain("Domain");
    const cookie = cookieFrom(answer);
    expect(await isSignedIn(server, { host, cookie })).toBe(true);
    const links = await server.post("/api/signin-links", undefined, { host, origin, cookie });
    expect(((await links.json()) as { url: string }).url).toMatch(`${origin}/login?link=ott_`);
    for (const other of [server.origin, `http://other.localhost:${server.port}`]) {
      const wrong = await server.post("/logout", undefined, { host, origin: other, cookie });
      await rejection(wrong, 403, "origin_not_allowed");
    }
  });

  test("opens the channel for a page, and keeps the name private", async () => {
    const before = [channels(), picoServer({ enabled: false })] as unknown as AnyPlugin[];
    const form = memory({ launcher: TOKEN, pico: "0123456789abcdef0123" });
    await using folder = await tempHome();
    await using server = await startDashboard({
      before,
      form,
      home: folder.home,
      env: { SERVICE_CHANNELS_PICO_ENABLED: "true" },
    });
    const host = hostOf(server);
    const headers = { host, origin: `http://${host}` };
    const cookie = cookieFrom(await server.post("/login", { token: TOKEN }, headers));
    const page = await connectClient(server.port, "/pico", {
      token: null,
      headers: { ...headers, cookie },
    });
    page.ws.close();
    const status = (await (await server.get("/api/status", { ...headers, cookie })).json()) as {
      channel: { url: string };
    };
    expect(status.channel.url).toBe(`ws://127.0.0.1:${server.port}/pico`);
    expect(JSON.stringify(status)).not.toContain("localhost");
    expect(server.logged()).not.toContain(host);
  });
});
