import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { loadAssets } from "../../../plugins/dashboard/server/assets.ts";
import {
  relativeTime,
  formatCount,
  formatDuration,
} from "../../../plugins/dashboard/shared/format.ts";
import { violatedRules } from "../../../plugins/dashboard/shared/token-rules.ts";
import {
  failedSignInLabel,
  signInMethodLabel,
} from "../../../plugins/dashboard/shared/sign-in-labels.ts";
import { tokenLabel } from "../../../plugins/dashboard/shared/token-labels.ts";
import type { TokenWay } from "../../../plugins/dashboard/index.ts";
import { program, running } from "../../browser/sample.ts";
import { doorway, overview, pages } from "../../browser/site.ts";

const site = { url: (path: string) => `/base${path}`, assets: "/assets/abc" };
const tags = (page: string): string[] => page.match(/<\/?[a-z][^\s>]*/g) ?? [];

describe("pages", () => {
  test("escape outside text, so it adds or removes no tag", () => {
    const draw = (text: string): string =>
      [
        doorway("sign-in", { ways: [], next: text })(site),
        doorway("sign-in", { ways: [], link: text })(site),
        doorway("setup", {
          ways: [],
          hasCookie: false,
          error: { code: "weak_token", message: text },
        })(site),
        doorway("message", { text, hint: text })(site),
        overview({
          ...running,
          version: text,
          addresses: [text],
          channel: {
            ...running.channel!,
            url: text,
            enabledManagedBy: text,
            refusals: [
              { at: 0, times: 2, address: text, via: text, code: text, origin: text, until: 1 },
            ],
          },
          program: { ...program, command: text, stderr: [{ at: 0, text }] },
          refusals: [{ at: 0, times: 1, address: text, via: text, code: text }],
          warnings: [{ id: text, text, fix: text }],
          tokens: [{ name: text, source: "config", managedByEnv: false }],
        })(site),
      ].join("");
    const expected = tags(draw("plain"));
    const known = fc.constantFrom(
      `"><script>`,
      `'></pre><b>`,
      "</title><script>",
      "&lt;b&gt;",
      "\u2028<a",
    );
    const attempt = (text: string): void => {
      expect(tags(draw(text))).toEqual(expected);
    };
    fc.assert(fc.property(fc.oneof(fc.string(), known), attempt), { numRuns: 60 });
  });

  test("build every link, form and asset with url()", () => {
    const all = [
      doorway("sign-in", { ways: [] })(site),
      doorway("setup", { ways: [], hasCookie: true })(site),
      overview(running)(site),
      doorway("message", { text: "t" })(site),
    ].join("");
    const targets = [...all.matchAll(/ (?:href|src|action)="([^"]*)"/g)].map((match) => match[1]);
    expect(targets.length).toBeGreaterThan(15);
    expect(targets.filter((target) => !/^(#(main|end)$|\/base\/)/.test(target!))).toEqual([]);
  });

  test("contain nothing inline, as the security policy requires", () => {
    const data = '<script type="application/json" id="data">';
    expect(overview(running)(site).split(data).length).toBe(2);
    const page = overview(running)(site).replace(data, "");
    expect(page).not.toMatch(/<script(?![^>]* src=)|<style| style=| on[a-z]+="/);
  });

  test("mask every token field and allow password managers", () => {
    for (const name of ["/sign-in", "/setup-page"]) {
      const fields = pages[name]!(site).match(/<input[^>]*autocomplete="[a-z]+-password"[^>]*>/g);
      expect(fields?.length, name).toBeGreaterThan(0);
      for (const field of fields ?? []) expect(field).toContain('type="password"');
      expect(pages[name]!(site)).not.toContain("onpaste");
    }
  });

  test("contain the sign-out form for signed-in browsers", () => {
    const open = /^\/(sign-in|setup|message)/;
    for (const [name, draw] of Object.entries(pages))
      expect([name, draw(site).includes('action="/base/logout"')]).toEqual([
        name,
        !open.test(name),
      ]);
  });

  test("contain no exclamation mark", () => {
    const all = Object.values(pages)
      .map((draw) => draw(site))
      .join("");
    expect(all.replace(/<!doctype html>|<pre[^]*?<\/pre>|<!--/g, "")).not.toContain("!");
  });

  test("show the version after sign-in only", () => {
    expect(overview(running)(site)).toContain(`Doorward ${running.version}`);
    expect(doorway("sign-in", { ways: [] })(site)).not.toContain(running.version);
  });

  test("name only the token hints of the deployment", () => {
    const marks: Record<TokenWay, string> = {
      env: "_LAUNCHER_TOKEN",
      file: "launcher-config.json",
      console: "-console",
      log: "logs/launcher.log",
      command: "doorward token show",
      tray: "Copy Console Token",
    };
    const ways = Object.keys(marks) as TokenWay[];
    fc.assert(
      fc.property(fc.subarray(ways), (offered) => {
        const page = doorway("sign-in", { ways: offered })(site);
        expect(ways.filter((way) => page.includes(marks[way]))).toEqual(offered);
      }),
    );
  });
});

test("loadAssets: adds a content hash and types, and serves nothing else", () => {
  const assets = loadAssets();
  expect(assets.prefix).toMatch(/^\/assets\/[0-9a-f]{12}$/);
  expect(loadAssets().prefix).toBe(assets.prefix);
  expect(assets.get("console/base.css")?.type).toBe("text/css; charset=utf-8");
  expect(assets.get("console/overview.js")?.body.length).toBeGreaterThan(50);
  expect(assets.get("console/inter.woff2")?.type).toBe("font/woff2");
  expect(assets.get("console/icon.svg")?.type).toBe("image/svg+xml");
  const unknown = [
    "",
    "console",
    "console/",
    "console/../assets.js",
    "console/words.d.ts",
    "base.css",
  ];
  for (const path of [...unknown, "constructor"]) {
    expect(assets.get(path)).toBeUndefined();
  }
});

describe("numbers", () => {
  test("show durations in the two largest units", () => {
    expect([0, 59_999, 60_000, 3_599_000, 3_600_000, 90_000_000].map(formatDuration)).toEqual([
      "0 s",
      "59 s",
      "1 min 0 s",
      "59 min 59 s",
      "1 h 0 min",
      "1 d 1 h",
    ]);
  });

  test("show ages in the largest unit", () => {
    expect(
      [0, -5000, 5000, 61_000, 7_200_000, 200_000_000].map((age) => relativeTime(1e12 - age, 1e12)),
    ).toEqual(["just now", "just now", "5 s ago", "1 min ago", "2 h ago", "2 d ago"]);
  });

  test("group digits by threes", () => {
    expect([0, 999, 1000, 1_234_567].map(formatCount)).toEqual([
      "0",
      "999",
      "1\u202f000",
      "1\u202f234\u202f567",
    ]);
  });
});

test("violatedRules: accepts 16 to 256 visible ASCII characters, not one repeated", () => {
  const near = [fc.stringMatching(/^(ott_)?[!-~]{10,260}$/), fc.stringMatching(/^a{10,20}$/)];
  fc.assert(
    fc.property(fc.oneof(fc.string({ maxLength: 300 }), ...near), (token) => {
      const fine =
        /^[!-~]{16,256}$/.test(token) && !/^(.)\1*$/.test(token) && !token.startsWith("ott_");
      expect(violatedRules(token).length === 0).toBe(fine);
    }),
    { numRuns: 300 },
  );
});

test('labels: shows unknown values such as "constructor" unchanged', () => {
  for (const name of ["__proto__", "constructor", "toString"]) {
    expect([signInMethodLabel(name), tokenLabel(name)]).toEqual([name, `Token ${name}`]);
    expect(failedSignInLabel(name)).toBe(name.replaceAll("_", " "));
  }
});
