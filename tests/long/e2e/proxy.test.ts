// Tests a launcher behind nginx, Caddy and HAProxy with the documented configuration.
import { readFile } from "node:fs/promises";
import { request as requestHttp, type IncomingHttpHeaders, type IncomingMessage } from "node:http";
import { request as requestHttps } from "node:https";
import { join } from "node:path";
import type { Browser, Page } from "playwright-core";
import { afterAll, beforeAll, beforeEach, describe, expect, test, vi } from "vitest";
import { WebSocket } from "ws";
import { hasBrowser, launchBrowser, skipWithoutBrowser } from "../../browser/browser.ts";
import { startLauncher, type RunningLauncher } from "../../e2e/launcher.ts";
import { caddy, startCaddy } from "../../e2e/caddy.ts";
import { haproxy, startHaproxy } from "../../e2e/haproxy.ts";
import { nginx, startNginx, type Nginx } from "../../e2e/nginx.ts";
import type { Proxy } from "../../e2e/proxies.ts";

/** Loopback address that differs from the address of the proxy. */
const visitor = "127.0.0.2";

interface Answer {
  readonly status: number;
  readonly headers: IncomingHttpHeaders;
  readonly body: string;
}
/** Sends a request like a browser: with `Origin`. Ignores certificate errors. */
function ask(
  url: URL,
  body?: object,
  headers: Readonly<Record<string, string>> = {},
  method = body ? "POST" : "GET",
): Promise<Answer> {
  const options = {
    method,
    localAddress: visitor,
    rejectUnauthorized: false,
    agent: false as const,
    headers: {
      ...(body && { origin: url.origin, "content-type": "application/json" }),
      ...headers,
    },
  };
  return new Promise((resolve, reject) => {
    const read = async (response: IncomingMessage): Promise<void> => {
      let text = "";
      for await (const chunk of response.setEncoding("utf8")) text += chunk;
      resolve({ status: response.statusCode!, headers: response.headers, body: text });
    };
    const request = url.protocol === "https:" ? requestHttps : requestHttp;
    request(url, options, (response) => void read(response).catch(reject))
      .on("error", reject)
      .end(body && JSON.stringify(body));
  });
}
const cookieOf = ({ headers }: Answer): string => headers["set-cookie"]!.at(-1)!;
const bare = (line: string): string => line.split(";", 1)[0]!;

const proxies = [
  { name: "nginx", program: nginx, start: startNginx },
  { name: "Caddy", program: caddy, start: startCaddy },
  { name: "HAProxy", program: haproxy, start: startHaproxy },
];

describe.each(proxies)("behind $name as documented, below /doorward", (each) => {
  const { name, program, start } = each;
  let launcher: RunningLauncher;
  let proxy: Proxy;
  let browser: Browser;
  let cookie: string;

  const at = (path: string, base = proxy.encrypted): URL => new URL(path, base);
  const log = (): Promise<string> => readFile(join(launcher.home, "logs", "launcher.log"), "utf8");

  beforeEach(skipWithoutBrowser);
  beforeEach(({ skip }) => skip(program === undefined, `needs ${name}`));
  beforeAll(async () => {
    if (!hasBrowser || program === undefined) return;
    const env = {
      SERVICE_LAUNCHER_TRUSTED_PROXIES: "127.0.0.1",
      SERVICE_LAUNCHER_BASE_PATH: "/doorward",
    };
    [launcher, browser] = await Promise.all([startLauncher({ env }), launchBrowser()]);
    proxy = await start(launcher.base.port, "/doorward");
  });
  afterAll(async () => {
    await browser?.close();
    await proxy?.[Symbol.asyncDispose]();
    await launcher?.[Symbol.asyncDispose]();
  });

  async function page(base: URL, see: (page: Page) => Promise<void>): Promise<void> {
    const context = await browser.newContext({ ignoreHTTPSErrors: true });
    try {
      const page = await context.newPage();
      const foreign: string[] = [];
      page.on(
        "request",
        (request) => request.url().startsWith(base.href) || foreign.push(request.url()),
      );
      await page.goto(at("login", base).href);
      await page.getByLabel("Launcher token", { exact: true }).fill(launcher.token!);
      await page.keyboard.press("Enter");
      await page.getByText("Live", { exact: true }).waitFor();
      await see(page);
      expect(foreign).toEqual([]);
    } finally {
      await context.close();
    }
  }

  test("opens setup over HTTPS with host-bound cookies", async () => {
    const first = await ask(at(launcher.link.search), undefined, {
      accept: "text/html",
      "sec-fetch-mode": "navigate",
    });
    expect([first.status, first.headers.location]).toEqual([303, "/doorward/setup"]);
    expect(cookieOf(first)).toMatch(/^__Host-\w+_setup_.*; Path=\/;.*Secure/);
    const done = await ask(at("setup"), { keep: true }, { cookie: bare(cookieOf(first)) });
    expect(done.status).toBe(200);
    expect(cookieOf(done)).toMatch(/^__Host-\w+_session_/);
  });

  test("sets Secure __Host- cookies over HTTPS, plain cookies over HTTP", async () => {
    const token = { token: launcher.token };
    const [encrypted, plain] = await Promise.all([
      ask(at("login"), token),
      ask(at("login", proxy.plain), token),
    ]);
    expect([encrypted.status, plain.status]).toEqual([200, 200]);
    expect(cookieOf(encrypted)).toMatch(
      /^__Host-\w+_session_.*; Path=\/; HttpOnly; Secure; SameSite=Lax/,
    );
    expect(cookieOf(plain)).not.toMatch(/__Host-|Secure/);
    cookie = bare(cookieOf(encrypted));
    expect((await ask(at("api/status"), undefined, { cookie })).status).toBe(200);
  });

  test("rejects the Origin of another site", async () => {
    const forged = await ask(
      at("login"),
      { token: launcher.token },
      { origin: "https://elsewhere.example" },
    );
    expect([forged.status, JSON.parse(forged.body).error]).toEqual([403, "origin_not_allowed"]);
  });

  test("logs the client address and ignores forged headers", async () => {
    const answer = await ask(at("login"), { token: "wrong" }, { "x-forwarded-for": "192.0.2.66" });
    expect(answer.status).toBe(401);
    await vi.waitFor(
      async () => {
        const refused = (await log()).split("\n").filter((line) => line.includes("sign-in failed"));
        expect(refused.at(-1)).toContain(visitor);
      },
      { timeout: 20_000 },
    );
    expect(await log()).not.toContain("192.0.2.66");
    expect(await log()).not.toContain("trusted_proxies are ignored");
  });

  test("turns on the channel and shows its public URL", async () => {
    const { channel } = JSON.parse((await ask(at("api/status"), undefined, { cookie })).body);
    expect(channel.url).toBe(at("pico").href.replace("https", "wss"));
    const headers = { cookie, "if-match": channel.etag };
    const { status } = await ask(at("api/channels/pico"), { enabled: true }, headers, "PUT");
    expect(status).toBe(200);
  });

  test("connects channel clients over HTTPS and HTTP", async () => {
    const token = /token: ["']?([0-9a-f]{64})/.exec(
      await readFile(join(launcher.home, ".security.yml"), "utf8"),
    )![1]!;
    for (const base of [proxy.encrypted, proxy.plain]) {
      const socket = new WebSocket(at("pico", base), [`token.${token}`], {
        rejectUnauthorized: false,
      });
      const answer = new Promise<string>((resolve, reject) => {
        socket.on("error", reject);
        socket.on("open", () =>
          socket.send('{"type":"message.send","payload":{"content":"through the proxy"}}'),
        );
        socket.on("message", (data) => {
          const { type, payload } = JSON.parse(String(data));
          if (type === "message.create") resolve(payload.content);
        });
      });
      expect(await answer).toBe("through the proxy");
      socket.close();
    }
  });

  test("serves pages, assets and chat below the path", () =>
    page(proxy.encrypted, async (page) => {
      const failed: string[] = [];
      page.on("response", (response) => response.status() < 400 || failed.push(response.url()));
      for (const path of ["", "connect", "connections", "tokens", "sessions", "settings", "log"]) {
        await page.goto(at(path).href);
        await page.getByText("Live", { exact: true }).waitFor();
      }
      await page.goto(at("chat#proxied").href);
      await page.getByText("Connected", { exact: true }).waitFor();
      await page.getByLabel("Message", { exact: true }).fill("by way of the proxy");
      await page.keyboard.press("Enter");
      await page.locator(".msg:not(.mine)").getByText("by way of the proxy").waitFor();
      await page.goto(at("doctor").href);
      const opened = page.getByText("This page opened a WebSocket to its own address.");
      await opened.waitFor({ state: "attached" });
      const trusted = page.getByText('"trusted_proxies" contains 127.0.0.1');
      await trusted.waitFor({ state: "attached" });
      expect(failed).toEqual([]);
    }));

  // No other documented configuration causes these errors by mistake.
  if (name !== "nginx") return;

  test("reports in the doctor a proxy that drops Upgrade", () => {
    const { withoutUpgrade } = proxy as Nginx;
    return page(withoutUpgrade, async (page) => {
      await page.goto(at("doctor", withoutUpgrade).href);
      const found = page.locator(".finding", { hasText: "WebSockets through the proxy" });
      await found.getByText("a proxy drops the header Upgrade").waitFor();
      await expect.poll(() => found.textContent()).toContain("Problem:");
      await expect
        .poll(() => found.textContent())
        .toContain("proxy_set_header Upgrade $http_upgrade;");
    });
  });

  test("reports in the doctor a proxy that omits the scheme", async () => {
    const { withoutScheme } = proxy as Nginx;
    const login = await ask(at("login", withoutScheme), { token: launcher.token });
    const answer = await ask(
      at("api/doctor", withoutScheme),
      {},
      { cookie: bare(cookieOf(login)) },
    );
    const { checks } = JSON.parse(answer.body) as {
      checks: { id: string; result: string; reason: string }[];
    };
    expect(checks.find(({ id }) => id === "proxy")).toMatchObject({
      result: "warning",
      reason: expect.stringContaining("X-Forwarded-Proto"),
    });
  });
});
