import { gunzipSync } from "node:zlib";
import { describe, expect, test } from "vitest";
import { safety } from "../../support/http-client.ts";
import {
  TOKEN,
  setupBackend,
  signIn,
  startDashboard,
  wrongToken,
  type Sent,
} from "../../support/dashboard-server.ts";

const typeOf = (answer: Response): string => answer.headers.get("content-type") ?? "";
const json = (body: string, type = "application/json"): Sent => ({
  method: "POST",
  headers: { "content-type": type },
  body,
});

describe("responses", () => {
  test("carry security headers and Vary, and are not stored", async () => {
    await using server = await startDashboard();
    await using fresh = await startDashboard({ form: setupBackend() });
    const session = await signIn(server);
    const { open, get, post, form, request } = server;
    const answers = [
      await open("/"),
      await open("/", session),
      await open("/overview", session),
      await open("/login"),
      await get("/login"),
      await open("/setup"),
      await request("/login", { method: "HEAD" }),
      await open("/nowhere", session),
      await get("/nowhere", session),
      await open(`/?token=${TOKEN}`),
      await open(`/?token=${wrongToken(1)}`),
      await get(`/?token=${wrongToken(1)}`),
      await post("/login", { token: TOKEN }),
      await post("/login", {}),
      await post("/login", { token: wrongToken(1) }),
      await form("/login", { token: TOKEN }),
      await form("/login", { token: "" }),
      await form("/login", { token: wrongToken(1) }),
      await post("/login", { token: "x".repeat(5_000) }),
      await request("/login", json("{")),
      await request("/login", json("x", "text/plain")),
      await get("/%zz"),
      await post("/login", {}, { origin: "https://evil.example" }),
      await get("/", { host: "evil.example" }),
      await post("/logout", {}),
      await form("/logout", {}),
      await get("/logout"),
      await get("/healthz"),
      await get("/readyz"),
      await get("/api/auth/status"),
      await get("/api/status"),
      await get("/api/status", session),
      await post("/api/signin-links", undefined, session),
      await fresh.open("/setup"),
      await fresh.open("/"),
      await fresh.get("/"),
      await fresh.post("/setup", {}),
      await fresh.form("/setup", {}),
      await fresh.post("/setup", { code: TOKEN, keep: true }),
    ];
    for (const answer of answers) {
      expect(Object.fromEntries(answer.headers)).toMatchObject({
        ...safety,
        "cache-control": "no-store",
      });
      if (answer.status !== 400) expect(answer.headers.get("vary")).toBe("Accept, Sec-Fetch-Mode");
      for (const name of [
        "server",
        "x-powered-by",
        "access-control-allow-origin",
        "strict-transport-security",
      ]) {
        expect(answer.headers.get(name)).toBeNull();
      }
    }
  });

  test("carry the same headers for cached assets", async () => {
    await using server = await startDashboard();
    const page = await (await server.open("/login")).text();
    const paths = [...page.matchAll(/(?:href|src)="(\/assets\/[^"]+)"/g)].map(([, path]) => path!);
    expect(paths.length).toBeGreaterThan(3);
    for (const path of paths) {
      const answer = await server.get(path);
      expect(answer.status).toBe(200);
      expect(Object.fromEntries(answer.headers)).toMatchObject({
        ...safety,
        "cache-control": "public, max-age=31536000, immutable",
      });
      expect(answer.headers.get("content-type")).toMatch(
        /^(text\/css|text\/javascript|image\/svg\+xml|font\/woff2)/,
      );
    }
  });

  test.each([
    ["gzip", "gzip"],
    ["deflate, GZIP ; q=0.5", "gzip"],
    ["identity", null],
    ["gzip;q=0, br", null],
    ["x-gzip-like, gzipped", null],
  ])("contain compressed assets where the client accepts them: %s", async (accepted, coding) => {
    await using server = await startDashboard();
    const page = await (await server.open("/login")).text();
    const [, style] = /href="(\/assets\/[^"]+\.css)"/.exec(page)!;
    const [, font] = /href="(\/assets\/[^"]+\.woff2)"/.exec(page) ?? [];
    const get = (path: string, encoding: string) =>
      server.get(path, { "accept-encoding": encoding });
    const answer = await get(style!, accepted);
    expect(answer.headers.get("content-encoding")).toBe(coding);
    expect(answer.headers.get("vary")).toContain("Accept-Encoding");
    const bytes = new Uint8Array(await answer.arrayBuffer());
    const text = Buffer.from(coding ? gunzipSync(bytes) : bytes).toString();
    expect(text).toBe(await (await get(style!, "identity")).text());
    if (font) expect((await get(font, accepted)).headers.get("content-encoding")).toBeNull();
  });

  test("contain a page for navigations outside /api/, else JSON", async () => {
    await using server = await startDashboard();
    const session = await signIn(server);
    const isPage = async (
      path: string,
      headers: Record<string, string>,
      method = "GET",
    ): Promise<boolean> =>
      typeOf(
        await server.request(path, { method, headers: { ...session, ...headers } }),
      ).startsWith("text/html");
    expect(await isPage("/nowhere", { "sec-fetch-mode": "navigate" })).toBe(true);
    expect(await isPage("/nowhere", { accept: "application/json, text/html;q=0.5" })).toBe(true);
    expect(await isPage("/nowhere", { accept: "text/html" }, "HEAD")).toBe(true);
    expect(await isPage("/nowhere", { accept: "*/*" })).toBe(false);
    expect(await isPage("/nowhere", {})).toBe(false);
    expect(
      await isPage("/api/nowhere", { accept: "text/html", "sec-fetch-mode": "navigate" }),
    ).toBe(false);
    expect(await isPage("/nowhere", { accept: "text/html" }, "POST")).toBe(false);
    expect(await isPage("/apix", { accept: "text/html" })).toBe(true);
  });
});
