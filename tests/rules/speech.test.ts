import { describe, expect, test } from "vitest";
import { linesThat, projectFiles, read, root } from "./source.ts";

/* The project speaks of itself: no path of somebody's machine, no registry, no word about how it came to be. */

const texts = projectFiles.filter(
  (path) => !/\.(png|ico|woff2?)$/.test(path) && path !== "tests/rules/speech.test.ts",
);

const forbidden: readonly (readonly [what: string, pattern: RegExp])[] = [
  [
    "a path of a machine",
    /\/(work|farm|root|Users|tmp\/briefs)\/(?!\.)|\/home\/(?!node\b|doorward\b|you\b)\w/,
  ],
  ["a registry", /registry\.npmjs|verdaccio|artifactory|"resolved":/i],
  [
    "how it is written",
    /\b(Claude|Anthropic|ChatGPT|Copilot|LLM-generated|AI-generated|sub-?agents?)\b/i,
  ],
  [
    "work that is planned elsewhere",
    /\bissue #?\d+\b|\bdesign\/|\b(dashboard-http|pico-protocol|services)\.md/,
  ],
  ["work that is not done", /\b(TODO|FIXME|XXX|HACK)\b/],
];

/** What a document links to or shows, on this side of the network. */
const targetsIn = (text: string): string[] =>
  [...text.matchAll(/\]\(([^)\s]+)\)|(?:src|srcset)="([^"]+)"/g)]
    .map(([, link, picture]) => (link ?? picture)!.split("#")[0]!)
    .filter((target) => target !== "" && !/^(https?|mailto):/.test(target));

describe("speech", () => {
  test.each(forbidden)("nothing names %s", (_, pattern) => {
    expect(
      texts.flatMap((path) => linesThat((line) => pattern.test(line), path, read(path))),
    ).toEqual([]);
  });

  test("documents link to files that exist", () => {
    const exists = (name: string): boolean =>
      projectFiles.some((file) => file === name || file.startsWith(`${name.replace(/\/$/, "")}/`));
    const resolve = (target: string, from: string): string =>
      decodeURIComponent(
        new URL(target, new URL(from, `file://${root}`)).pathname.slice(root.length),
      );
    const broken = projectFiles
      .filter((path) => path.endsWith(".md"))
      .flatMap((path) =>
        targetsIn(read(path))
          .map((target) => resolve(target, path))
          .filter((name) => !exists(name))
          .map((name) => `${path} links to ${name}`),
      );
    expect(broken).toEqual([]);
  });
});
