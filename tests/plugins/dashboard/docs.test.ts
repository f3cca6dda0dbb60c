import { readdirSync } from "node:fs";
import { describe, expect, test } from "vitest";
import { TOKEN, cookieFrom, refusal, signedIn, startDashboard } from "./stand.ts";

const names = readdirSync(new URL("../../../docs", import.meta.url)).flatMap((file) => /^(.+)\.md$/.exec(file)?.[1] ?? []);

describe("the documentation in the dashboard", () => {
  test("has every page of docs/, and every link in it leads to a page and a place that are there", async () => {
    await using stand = await startDashboard({ basePath: "/door" });
    const headers = { cookie: cookieFrom(await stand.post("/door/login", { token: TOKEN })) };
    const read = async (path: string): Promise<string> => {
      const answer = await stand.open(path, headers);
      expect([path, answer.status]).toEqual([path, 200]);
      return answer.text();
    };
    const pages = new Map([["/door/docs", await read("/door/docs")]]);
    for (const name of names) pages.set(`/door/docs/${name}`, await read(`/door/docs/${name}`));
    for (const name of names) expect(pages.get("/door/docs")).toContain(`href="/door/docs/${name}"`);
    const astray: string[] = [];
    for (const [path, text] of pages) {
      expect(text).toMatch(/<h1>[^<]+<\/h1>/);
      const [, article = ""] = /<article([^]*)<\/article>/.exec(text) ?? [];
      for (const [, link = ""] of article.matchAll(/href="([^"]*)"/g)) {
        const [page = "", place] = link.split("#");
        const target = pages.get(page === "" ? path : page);
        const isThere = target !== undefined && (place === undefined || target.includes(`id="${place}"`));
        if (!isThere && !link.startsWith("https://")) astray.push(`${path}: ${link}`);
      }
    }
    expect(astray).toEqual([]);
  });

  test("is for the signed in, and holds nothing else", async () => {
    await using stand = await startDashboard();
    expect((await stand.open("/docs/security")).headers.get("location")).toBe("/login?next=%2Fdocs%2Fsecurity");
    const session = await signedIn(stand);
    for (const name of ["nothing", "..%2fbrowser%2ficon.svg", "security.html", "__proto__", "%00", "SECURITY"]) {
      await refusal(await stand.get(`/docs/${name}`, session), 404, "not_found");
    }
    expect(await (await stand.open("/tokens", session)).text()).toContain('<a href="/docs">Documentation</a>');
  });
});
