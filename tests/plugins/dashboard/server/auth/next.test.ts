import { describe, expect, test } from "vitest";
import { safeRedirectPath } from "../../../../../plugins/dashboard/server/auth/sign-in.ts";
import { TOKEN, startDashboard } from "../../../../support/dashboard-server.ts";

describe("safeRedirectPath", () => {
  test.each([
    ["/", "/"],
    ["/place", "/place"],
    ["/place?a=1&b=%20x&c", "/place?a=1&b=%20x&c"],
    ["/a/../b/./c", "/b/c"],
    ["/place#part", "/place"],
    ["/place?to=//evil.example", "/place?to=//evil.example"],
    ["/ä ö", "/%C3%A4%20%C3%B6"],
    ["/loginx", "/loginx"],
    ["/apix", "/apix"],
    ["/?a=1", "/?a=1"],
  ])("converts %s to %s", (given, expected) => expect(safeRedirectPath(given)).toBe(expected));

  test.each([
    "",
    "place",
    "./place",
    "?a=1",
    " /place",
    "/place\u0000",
    "/place\u0085",
    "/place\u007f",
    `/${"x".repeat(2_048)}`,
    "//evil.example",
    "///evil.example",
    "/\\evil.example",
    "\\\\evil.example",
    "/\t/evil.example",
    "/\n/evil.example",
    "\t//evil.example",
    " //evil.example",
    "/.//evil.example",
    "/..//evil.example",
    "/a/..//evil.example",
    "/%2e//evil.example",
    "/%2E%2e//evil.example",
    "https://evil.example/",
    "http:/evil.example",
    "javascript:alert(1)",
    "/login",
    "/login?next=/",
    "/login/",
    "/logout",
    "/setup",
    "/setup?x",
    "/api",
    "/api/status",
    "/./login",
    "/x/../api/status",
  ])("replaces %j by the overview", (given) => expect(safeRedirectPath(given)).toBe("/"));

  test("rejects more than 2,048 characters", () => {
    expect(safeRedirectPath(`/${"x".repeat(2_047)}`)).toBe(`/${"x".repeat(2_047)}`);
  });

  test("rejects repeated values", () => {
    for (const given of [undefined, null, 5, {}, ["/place"], ["/a", "/b"]])
      expect(safeRedirectPath(given)).toBe("/");
  });

  test("removes a token", () => {
    expect(safeRedirectPath("/?token=x&a=1")).toBe("/?a=1");
    expect(safeRedirectPath("/place?a=1&token=x&token=y")).toBe("/place?a=1");
  });

  test("passes through the sign-in page and its form", async () => {
    await using server = await startDashboard();
    const sent = await server.open("/place?a=%26&b=c+d");
    const page = await (await server.open(sent.headers.get("location")!)).text();
    const [, next = ""] = /name="next" value="([^"]*)"/.exec(page) ?? [];
    const answer = await server.form("/login", {
      token: TOKEN,
      next: next.replaceAll("&amp;", "&"),
    });
    expect(answer.headers.get("location")).toBe("/place?a=%26&b=c+d");
  });

  test("stays the same after a failed form and never leaves the site", async () => {
    await using server = await startDashboard();
    expect(
      await (await server.form("/login", { token: "wrong", next: "/place" })).text(),
    ).toContain('name="next" value="/place"');
    expect(
      await (await server.form("/login", { token: "wrong", next: "//evil.example" })).text(),
    ).not.toContain("evil.example");
    expect(await (await server.form("/login", { token: "", next: "/place" })).text()).toContain(
      'name="next" value="/place"',
    );
  });
});
