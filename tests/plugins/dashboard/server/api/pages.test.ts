import { readdirSync } from "node:fs";
import { describe, expect, test } from "vitest";
import type { AnyPlugin } from "../../../../../kernel/index.ts";
import { channels } from "../../../../../plugins/channels/index.ts";
import { picoServer } from "../../../../../plugins/pico-server/index.ts";
import {
  TOKEN,
  cookieFrom,
  rejection,
  signIn,
  startDashboard,
} from "../../../../support/dashboard-server.ts";

const names = readdirSync(new URL("../../../../../docs", import.meta.url)).flatMap(
  (file) => /^(.+)\.md$/.exec(file)?.[1] ?? [],
);

describe("GET /docs", () => {
  test("serves every page of docs/ with valid links", async () => {
    await using server = await startDashboard({
      basePath: "/door",
      before: [channels(), picoServer({ enabled: false })] as unknown as AnyPlugin[],
    });
    const headers = { cookie: cookieFrom(await server.post("/door/login", { token: TOKEN })) };
    const read = async (path: string): Promise<string> => {
      const answer = await server.open(path, headers);
      expect([path, answer.status]).toEqual([path, 200]);
      return answer.text();
    };
    const pages = new Map([["/door/docs", await read("/door/docs")]]);
    for (const name of names) pages.set(`/door/docs/${name}`, await read(`/door/docs/${name}`));
    for (const name of names)
      expect(pages.get("/door/docs")).toContain(`href="/door/docs/${name}"`);
    const astray: string[] = [];
    const others = new Map<string, string>();
    for (const path of ["/door/overview", "/door/security", "/door/settings", "/door/clients"])
      others.set(path, await read(path));
    for (const [path, text] of [...pages, ...others]) {
      expect(text).toMatch(/<h1>[^<]+<\/h1>/);
      const [, article = ""] = /<article([^]*)<\/article>/.exec(text) ?? [];
      const links = others.has(path)
        ? text.matchAll(/href="(\/door\/docs[^"]*)"/g)
        : article.matchAll(/href="([^"]*)"/g);
      for (const [, link = ""] of links) {
        const [page = "", place] = link.split("#");
        const target = pages.get(page === "" ? path : page);
        const isThere =
          target !== undefined && (place === undefined || target.includes(`id="${place}"`));
        if (!isThere && !link.startsWith("https://")) astray.push(`${path}: ${link}`);
      }
    }
    expect(astray).toEqual([]);
  });

  test("requires a sign-in and serves no other files", async () => {
    await using server = await startDashboard();
    expect((await server.open("/docs/security")).headers.get("location")).toBe(
      "/login?next=%2Fdocs%2Fsecurity",
    );
    const session = await signIn(server);
    for (const name of [
      "nothing",
      "..%2fbrowser%2ficon.svg",
      "security.html",
      "security.json",
      "contents",
      "contents.json",
      "search",
      "__proto__",
      "%00",
      "SECURITY",
    ]) {
      await rejection(await server.get(`/docs/${name}`, session), 404, "not_found");
    }
    const page = await (await server.open("/security", session)).text();
    expect(page).toMatch(/<a href="\/docs"[^>]*>.*?Documentation/s);
  });
});

describe("Old addresses", () => {
  test.each([
    ["/tokens", "/security"],
    ["/sessions", "/security"],
    ["/log", "/activity"],
    ["/connect", "/clients"],
    ["/connections", "/clients/connections"],
  ])("redirects %s to %s after sign-in", async (old, target) => {
    await using server = await startDashboard({ basePath: "/door" });
    const headers = { cookie: cookieFrom(await server.post("/door/login", { token: TOKEN })) };
    const answer = await server.open(`/door${old}`, headers);
    expect([answer.status, answer.headers.get("location")]).toEqual([301, `/door${target}`]);
  });
});
