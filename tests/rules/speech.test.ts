import { execFileSync } from "node:child_process";
import { describe, expect, test } from "vitest";
import { linesThat, read, root } from "./source.ts";

/* The project speaks of itself: no path of somebody's machine, no registry, no word about how it came to be. */

const tracked = execFileSync("git", ["ls-files", "-z"], { cwd: root, encoding: "utf8" }).split("\0").filter(Boolean);
const texts = tracked.filter((path) => !/\.(png|ico|woff2?)$/.test(path) && path !== "tests/rules/speech.test.ts");

const forbidden: readonly (readonly [what: string, pattern: RegExp])[] = [
  ["a path of a machine", /\/(work|farm|root|Users|tmp\/briefs)\/(?!\.)|\/home\/(?!node\b|doorward\b|you\b)\w/],
  ["a registry", /registry\.npmjs|verdaccio|artifactory|"resolved":/i],
  ["how it is written", /\b(Claude|Anthropic|ChatGPT|Copilot|LLM-generated|AI-generated|sub-?agents?)\b/i],
  ["work that is planned elsewhere", /\bissue #?\d+\b|\bdesign\/|\bdashboard-http\.md|\bpico-protocol\.md|\bservices\.md/],
  ["work that is not done", /\b(TODO|FIXME|XXX|HACK)\b/],
];

describe("speech", () => {
  test.each(forbidden)("nothing names %s", (_, pattern) => {
    expect(texts.flatMap((path) => linesThat((line) => pattern.test(line), path, read(path)))).toEqual([]);
  });

  test("documents link to files that exist", () => {
    const documents = tracked.filter((path) => path.endsWith(".md"));
    const broken = documents.flatMap((path) => {
      const folder = new URL(path, `file://${root}`);
      const targets = [...read(path).matchAll(/\]\(([^)\s]+)\)|(?:src|srcset)="([^"]+)"/g)].map(([, a, b]) => (a ?? b)!);
      const local = targets.filter((target) => !/^(https?:|mailto:|#)/.test(target)).map((target) => target.split("#")[0]!);
      const names = local.map((target) => decodeURIComponent(new URL(target, folder).pathname.slice(root.length)));
      return names.filter((name) => !tracked.some((file) => file === name || file.startsWith(`${name.replace(/\/$/, "")}/`)))
        .map((name) => `${path} links to ${name}`);
    });
    expect(broken.filter((line) => !/docs\/pictures\//.test(line))).toEqual([]);
  });
});
