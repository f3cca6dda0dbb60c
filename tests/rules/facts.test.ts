import { describe, expect, test } from "vitest";
import { codeOnly, filesUnder, read, tableRows, unquoted } from "./source.ts";

/** Names of facts a file declares: `"http:listening": { … }`. */
const declared = (path: string): string[] =>
  [...codeOnly(read(path)).matchAll(/^\s*"([a-z-]+:[a-z-]+)":/gm)].map(([, name]) => name!);

const eventFiles = filesUnder(["plugins"], /^(events|service)\.ts$/);
const facts = [...declared("kernel/plugin.ts"), ...eventFiles.flatMap(declared)].sort();
const rows = tableRows(read("README.md"), "fact");

describe("facts", () => {
  test("the README's table holds every fact there is and no other", () => {
    expect(rows.map(([fact]) => unquoted(fact!)).sort()).toEqual(facts);
  });

  test("a fact is named after the plugin that announces it", () => {
    for (const path of eventFiles) {
      const plugin = path.split("/")[1];
      expect(
        declared(path).filter((name) => !name.startsWith(`${plugin}:`)),
        path,
      ).toEqual([]);
    }
  });

  test("a row names every field of the payload", () => {
    const text = ["kernel/plugin.ts", ...eventFiles].map((path) => codeOnly(read(path))).join("\n");
    for (const [fact, payload] of rows) {
      const body = new RegExp(`${fact!.replaceAll("`", '"')}:\\s*([^}]*)\\}`).exec(text)?.[1] ?? "";
      const fields = [...body.matchAll(/(\w+)\??: /g)].map(([, name]) => name!);
      for (const field of fields) expect(payload, fact).toContain(`\`${field}\``);
    }
  });
});
