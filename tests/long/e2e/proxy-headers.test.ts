// Tests the chat behind nginx, Caddy and HAProxy that change the host or the scheme of requests.
import { once } from "node:events";
import type { Browser, Page } from "playwright-core";
import { afterAll, beforeAll, beforeEach, describe, expect, test } from "vitest";
import { WebSocket } from "ws";
import { hasBrowser, launchBrowser, skipWithoutBrowser } from "../../browser/browser.ts";
import { caddy, startCaddy } from "../../e2e/caddy.ts";
import { haproxy, startHaproxy } from "../../e2e/haproxy.ts";
import {
  enablePico,
  finishSetup,
  startLauncher,
  type RunningLauncher,
} from "../../e2e/launcher.ts";
import { nginx, startNginx } from "../../e2e/nginx.ts";
import { exchange, type Proxy } from "../../e2e/proxies.ts";

type Change = (text: string) => string;
const caddyProxy = /reverse_proxy (127\.0\.0\.1:\d+)/;

/** Puts other lines in the place of the line that forwards requests. */
const forwardWith = (text: string, lines: (address: string) => string[]): string => {
  const [, address = ""] = caddyProxy.exec(text) ?? [];
  return exchange(text, caddyProxy, lines(address).join("\n\t\t"));
};
/** Adds lines to the frontend of HAProxy. */
const atFrontend = (text: string, ...lines: string[]): string =>
  exchange(text, /^ +default_backend/m, `${lines.map((line) => `    ${line}\n`).join("")}$&`);

const lostPort: Readonly<Record<string, Change>> = {
  nginx: (text) => text.replaceAll("$http_host", "$host"),
  Caddy: (text) =>
    forwardWith(text, (address) => [
      `reverse_proxy ${address} {`,
      "\theader_up Host {host}",
      "\theader_up X-Forwarded-Host {host}",
      "}",
    ]),
  HAProxy: (text) =>
    atFrontend(
      exchange(text, /req\.hdr\(Host\)/, "req.hdr(Host),field(1,:)"),
      "http-request set-header Host %[req.hdr(Host),field(1,:)]",
    ),
};

/** As Traefik does: `wss` and `ws` for upgrades. */
const upgradeScheme: Readonly<Record<string, Change>> = {
  nginx: (text) =>
    `map "$scheme:$http_upgrade" $named_scheme {
       default $scheme;
       ~*^https:websocket$ wss;
       ~*^http:websocket$ ws;
     }\n${text.replaceAll(/X-Forwarded-Proto \$scheme/g, "X-Forwarded-Proto $named_scheme")}`,
  Caddy: (text) =>
    forwardWith(text, (address) => [
      ...["https wss", "http ws"].flatMap((pair) => {
        const [protocol, scheme] = pair.split(" ");
        return [
          `@${scheme} {\n\theader Upgrade *\n\tprotocol ${protocol}\n}`,
          `reverse_proxy @${scheme} ${address} {\n\theader_up X-Forwarded-Proto ${scheme}\n}`,
        ];
      }),
      `reverse_proxy ${address}`,
    ]),
  HAProxy: (text) =>
    atFrontend(
      text,
      "http-request set-header X-Forwarded-Proto wss if { ssl_fc } { hdr(Upgrade) -i websocket }",
      "http-request set-header X-Forwarded-Proto ws if !{ ssl_fc } { hdr(Upgrade) -i websocket }",
    ),
};

const proxies = [
  { name: "nginx", program: nginx, start: startNginx },
  { name: "Caddy", program: caddy, start: startCaddy },
  { name: "HAProxy", program: haproxy, start: startHaproxy },
];
const cases = proxies.flatMap((proxy) => [
  { ...proxy, fault: "loses the port", change: lostPort[proxy.name]! },
  { ...proxy, fault: "names the scheme of upgrades", change: upgradeScheme[proxy.name]! },
]);

describe.each(cases)("behind $name, which $fault", ({ name, program, start, change }) => {
  let launcher: RunningLauncher;
  let proxy: Proxy;
  let browser: Browser;

  beforeEach(skipWithoutBrowser);
  beforeEach(({ skip }) => skip(program === undefined, `needs ${name}`));
  beforeAll(async () => {
    if (!hasBrowser || program === undefined) return;
    const env = { SERVICE_LAUNCHER_TRUSTED_PROXIES: "127.0.0.1" };
    [launcher, browser] = await Promise.all([startLauncher({ env }), launchBrowser()]);
    await enablePico(launcher, await finishSetup(launcher));
    proxy = await start(launcher.base.port, "", change);
  });
  afterAll(async () => {
    await browser?.close();
    await proxy?.[Symbol.asyncDispose]();
    await launcher?.[Symbol.asyncDispose]();
  });

  async function signedIn(base: URL, see: (page: Page) => Promise<void>): Promise<void> {
    const context = await browser.newContext({ ignoreHTTPSErrors: true });
    try {
      const page = await context.newPage();
      await page.goto(new URL("login", base).href);
      await page.getByLabel("Launcher token", { exact: true }).fill(launcher.token!);
      await page.keyboard.press("Enter");
      await page.getByText("Live", { exact: true }).waitFor();
      await see(page);
    } finally {
      await context.close();
    }
  }

  test.each(["encrypted", "plain"] as const)(
    "connects the chat and satisfies the doctor: %s",
    (kind) =>
      signedIn(proxy[kind], async (page) => {
        await page.goto(new URL(`chat#${kind}`, proxy[kind]).href);
        await page.getByText("Connected", { exact: true }).waitFor();
        await page.getByLabel("Message", { exact: true }).fill(`by way of ${kind}`);
        await page.keyboard.press("Enter");
        await page.locator(".msg:not(.mine)").getByText(`by way of ${kind}`).waitFor();
        await page.goto(new URL("doctor", proxy[kind]).href);
        const opened = page.getByText("This page opened a WebSocket to its own address.");
        await opened.waitFor({ state: "attached" });
      }),
  );

  test("rejects the sign-in on pages of other origins", () =>
    signedIn(proxy.encrypted, async (page) => {
      const cookies = await page.context().cookies();
      const cookie = cookies.map((one) => `${one.name}=${one.value}`).join("; ");
      const { host } = proxy.encrypted;
      for (const origin of [`http://${host}`, "https://127.0.0.1:9", "https://evil.example"]) {
        const socket = new WebSocket(`wss://${host}/pico`, {
          rejectUnauthorized: false,
          headers: { cookie, origin },
        });
        const [error] = (await once(socket, "error")) as [Error];
        expect([origin, error.message]).toEqual([origin, "Unexpected server response: 401"]);
      }
    }));
});
