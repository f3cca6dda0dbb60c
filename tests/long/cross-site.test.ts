import { createServer, type Server } from "node:http";
import { once } from "node:events";
import type { AddressInfo } from "node:net";
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from "vitest";
import type { Browser, Page } from "playwright-core";
import { startLauncherServer, type LauncherServer } from "../support/launcher-server.ts";
import { isSignedIn, rejection, signIn, TOKEN, wrongToken } from "../support/dashboard-server.ts";
import { hasBrowser, launchBrowser, skipWithoutBrowser } from "../browser/browser.ts";

let browser: Browser;
let evil: Server;
let evilPort: number;
let launcher: LauncherServer;
let me: { cookie: string };
let page: Page;
/** The dashboard URL in the browser of the owner. */
let victim: string;

beforeEach(skipWithoutBrowser);
beforeAll(async () => {
  if (!hasBrowser) return;
  browser = await launchBrowser(
    ["--host-resolver-rules=MAP rebound.example 127.0.0.1"],
    "complete",
  );
  evil = createServer((request, response) => {
    const policy = request.url?.includes("silent")
      ? '<meta name="referrer" content="no-referrer">'
      : "";
    response
      .writeHead(200, { "content-type": "text/html" })
      .end(`<!doctype html>${policy}<title>evil</title>`);
  }).listen(0, "127.0.0.1");
  await once(evil, "listening");
  evilPort = (evil.address() as AddressInfo).port;
});
afterAll(async () => {
  await browser?.close();
  evil?.closeAllConnections();
  evil?.close();
});
beforeEach(async () => {
  launcher = await startLauncherServer();
  victim = `http://localhost:${launcher.port}`;
  me = await signIn(launcher);
  const context = await browser.newContext();
  const [name = "", value = ""] = me.cookie.split("=");
  await context.addCookies([{ name, value, url: victim, httpOnly: true, sameSite: "Lax" }]);
  page = await context.newPage();
});
afterEach(async () => {
  await page.context().close();
  await launcher[Symbol.asyncDispose]();
});

it("allows the page of the owner to use the API", async () => {
  await page.goto(victim);
  const opened = page.evaluate(`new Promise((done) => {
    const socket = new WebSocket("${victim.replace("http", "ws")}/pico");
    socket.onopen = () => done("open");
    socket.onerror = () => done("refused");
  })`);
  expect(await opened).toBe("open");
  expect(await page.evaluate("fetch('/api/status').then((answer) => answer.status)")).toBe(200);
});

/** A browser sends the cookie to another port of the same host, but not to another host. */
describe.each([
  ["another port of localhost", "localhost"],
  ["another name of this machine", "127.0.0.1"],
  ["a host below localhost", "evil.localhost"],
])("a page of %s", (_, host) => {
  const visit = (path = "/") => page.goto(`http://${host}:${evilPort}${path}`);

  it("opens no socket with the cookie of the owner", async () => {
    await visit();
    for (const path of ["/pico", "/pico/ws"]) {
      const outcome = await page.evaluate(`new Promise((done) => {
        const socket = new WebSocket("${victim.replace("http", "ws")}${path}");
        socket.onopen = () => done("open");
        socket.onerror = () => done("refused");
      })`);
      expect(outcome).toBe("refused");
    }
  });

  it("neither reads nor changes anything over the API", async () => {
    await visit();
    const read = (path: string, options = "") =>
      page.evaluate(`fetch("${victim}${path}", { credentials: "include", ${options} })
      .then(async (answer) => answer.type + (await answer.text()), () => "failed")`);
    for (const path of ["/api/status", "/api/tokens", "/api/log", "/api/auth/status"]) {
      expect(await read(path), path).toBe("failed");
      expect(await read(path, 'mode: "no-cors"'), path).toMatch(/^(opaque|failed)$/);
    }
    for (const path of [
      "/api/signin-links",
      "/api/token/rotate",
      "/api/doctor",
      "/logout",
      "/setup",
    ]) {
      await read(path, 'method: "POST", mode: "no-cors", body: "{}"');
    }
    expect(await read("/api/sessions", 'method: "DELETE"')).toBe("failed");
    const headers =
      "method: 'PUT', headers: { 'content-type': 'application/json', 'if-match': 'x' }, body: '{}'";
    expect(await read("/api/launcher", headers)).toBe("failed");
    expect(await isSignedIn(launcher, me)).toBe(true);
    expect(launcher.facts.map(({ type }) => type)).toEqual(["dashboard:signed-in"]);
    expect(launcher.logged()).not.toContain("was rotated");
  });

  it.each(["/", "/silent"])("changes no sign-in with a form (%s)", async (from) => {
    for (const path of ["/logout", "/login", "/setup", "/api/signin-links"]) {
      await visit(from);
      const answered = page.waitForResponse(victim + path);
      await page.evaluate(`(() => {
        const form = document.createElement("form");
        form.method = "post";
        form.action = "${victim}${path}";
        form.innerHTML = "<input name=token value=${wrongToken(1)}><input name=code value=${wrongToken(2)}><input name=keep value=true>";
        document.body.append(form);
        form.submit();
      })()`);
      expect((await answered).status(), path).toBe(403);
      await page.waitForURL(victim + path);
    }
    expect(await isSignedIn(launcher, me)).toBe(true);
    expect(launcher.facts.filter(({ type }) => type !== "dashboard:signed-in")).toEqual([]);
  });

  it("frames nothing", async () => {
    await visit();
    await page.evaluate(`document.body.innerHTML = '<iframe src="${victim}/login"></iframe>'`);
    await expect.poll(() => page.frames()[1]?.url()).toMatch(/^chrome-error:/);
  });

  it("uses none of the sign-in attempts by embedded resources", async () => {
    await visit();
    const elements = [
      "<img src=URL>",
      "<iframe src=URL></iframe>",
      "<link rel=stylesheet href=URL>",
      "<object data=URL></object>",
      "<video src=URL></video>",
      "<link rel=prefetch href=URL>",
      "<link rel=preload as=image href=URL>",
      "<embed src=URL>",
    ];
    const html = Array.from({ length: 32 }, (__, n) =>
      elements[n % elements.length]!.replace("URL", `${victim}/?token=${wrongToken(n)}`),
    ).join("");
    await page.evaluate(`new Promise((done) => {
      document.body.innerHTML = ${JSON.stringify(html)};
      Promise.all(Array.from({ length: 15 }, (_, n) => fetch("${victim}/?token=wrong-by-fetch-" + n, { mode: "no-cors", credentials: "include" })
        .catch(() => undefined))).then(() => setTimeout(done, 200));
    })`);
    expect(launcher.facts.filter(({ type }) => type === "dashboard:sign-in-refused")).toEqual([]);
    await rejection(await launcher.post("/login", { token: wrongToken(99) }), 401, "invalid_token");
    expect((await launcher.post("/login", { token: TOKEN })).status).toBe(200);
  });
});

it("rejects reads and writes under a rebound DNS name", async () => {
  const rebound = `http://rebound.example:${launcher.port}`;
  expect((await page.goto(rebound))?.status()).toBe(403);
  for (const path of ["/api/auth/status", "/api/status", "/login", "/?token=x"]) {
    expect(await page.evaluate(`fetch("${path}").then((answer) => answer.status)`), path).toBe(403);
  }
  expect(
    await page.evaluate(
      `fetch("/login", { method: "POST", body: new URLSearchParams({ token: "x" }) }).then((a) => a.status)`,
    ),
  ).toBe(403);
});
