import { describe, expect, test } from "vitest";
import { linesThat, projectFiles, read, root } from "./source.ts";

/* Checks that the project files name no path of a developer machine, no registry, no tool that
 * wrote them and no external plan. */

const texts = projectFiles.filter(
  (path) => !/\.(png|ico|woff2?)$/.test(path) && path !== "tests/rules/speech.test.ts",
);
/** They name the agents of other vendors that run behind Doorward. */
const aboutAgents = /^(docs\/agents\.md|tests\/clients\/agents\/)/;

const vendors = "a tool that writes text";
const forbidden: readonly (readonly [what: string, pattern: RegExp])[] = [
  [
    "a path of a machine",
    /\/(work|farm|root|Users|tmp\/briefs)\/(?!\.)|\/home\/(?!home\b|node\b|doorward\b|you\b)\w/,
  ],
  ["a registry", /registry\.npmjs|verdaccio|artifactory|"resolved":/i],
  [vendors, /\b(Claude|Anthropic|ChatGPT|Copilot|LLM-generated|AI-generated|sub-?agents?)\b/i],
  [
    "a reference to an external plan",
    /\bissue #?\d+\b|\bdesign\/|\b(dashboard-http|pico-protocol|services)\.md/,
  ],
  ["a mark of unfinished work", /\b(TODO|FIXME|XXX|HACK)\b/],
];

/** Returns the local targets of the links and images in a document. */
const targetsIn = (text: string): string[] =>
  [...text.matchAll(/\]\(([^)\s]+)\)|(?:src|srcset)="([^"]+)"/g)]
    .map(([, link, image]) => (link ?? image)!.split("#")[0]!)
    .filter((target) => target !== "" && !/^(https?|mailto):/.test(target));

describe("project files", () => {
  test.each(forbidden)("never contain %s", (what, pattern) => {
    expect(
      texts
        .filter((path) => what !== vendors || !aboutAgents.test(path))
        .flatMap((path) => linesThat((line) => pattern.test(line), path, read(path))),
    ).toEqual([]);
  });

  test("link to existing files in documents", () => {
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
