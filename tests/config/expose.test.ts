import { readFile } from "node:fs/promises";
import { describe, expect, test } from "vitest";
import { importsSite, isBare, parseAddress, siteText } from "../../config/expose/caddy.ts";

const upstream = "127.0.0.1:18800";

describe("siteText", () => {
  test("has the lines of the documented Caddyfile", async () => {
    const file = await readFile(new URL("../../docs/deploy/Caddyfile", import.meta.url), "utf8");
    const site = { address: "door.example.org", upstream, basePath: "", isInternal: false };
    const lines = (text: string): string[] => text.trim().split("\n").slice(1);
    expect(lines(siteText(site))).toEqual(lines(file));
  });

  test("serves the base path and what is below it only", () => {
    const text = siteText({ address: "a.example", upstream, basePath: "/agent", isInternal: true });
    expect(text).toContain("\ttls internal\n");
    expect(text).toContain("\t@doorward path /agent /agent/*\n\thandle @doorward {\n");
  });
});

describe("parseAddress", () => {
  test.each([
    ["Door.Example.org", { name: "door.example.org", port: undefined }],
    ["localhost:8443", { name: "localhost", port: 8_443 }],
  ])("reads %s", (text, expected) => {
    expect(parseAddress(text)).toEqual(expected);
  });

  test.each([
    "",
    "a b",
    "a{b",
    "a\nb",
    "1.2.3.4",
    "::1",
    "a:0",
    "a:70000",
    "-a.example",
    "a/b",
    "4",
  ])("rejects %j", (text) => {
    expect(parseAddress(text)).toBeUndefined();
  });
});

describe("importsSite", () => {
  test("knows the name, its path and patterns", () => {
    for (const target of ["doorward.caddy", "/etc/caddy/doorward.caddy", "*.caddy", "/etc/caddy/*"])
      expect(importsSite(`a.example {\n}\n  import ${target}\n`, "/etc/caddy")).toBe(true);
    for (const line of ["# import doorward.caddy", "import other.caddy", ":80 {\n}"])
      expect(importsSite(line, "/etc/caddy")).toBe(false);
  });
});

describe("isBare", () => {
  test("permits comments and white space", () => {
    expect([isBare(""), isBare("# a\n\n  # b\n"), isBare("# a\n:80\n")]).toEqual([
      true,
      true,
      false,
    ]);
  });
});
