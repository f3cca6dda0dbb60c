import { describe, expect, test } from "vitest";
import { codeOnly, filesUnder, read, tableRows, unquoted } from "./source.ts";

/** The names of the events that a file declares: `"http:listening": { … }`. */
const declared = (path: string): string[] =>
  [...codeOnly(read(path)).matchAll(/^\s*"([a-z-]+:[a-z-]+)":/gm)].map(([, name]) => name!);

const eventFiles = filesUnder(["plugins"], /^(events|service)\.ts$/);
const events = [...declared("kernel/plugin.ts"), ...eventFiles.flatMap(declared)].sort();
const rows = tableRows(read("docs/events.md"), "event");

describe("docs/events.md", () => {
  test("lists exactly the declared events", () => {
    expect(rows.map(([event]) => unquoted(event!)).sort()).toEqual(events);
  });

  test("names each event after the plugin that announces it", () => {
    for (const path of eventFiles) {
      const plugin = path.split("/")[1];
      expect(
        declared(path).filter((name) => !name.startsWith(`${plugin}:`)),
        path,
      ).toEqual([]);
    }
  });

  test("names every field of each payload", () => {
    const text = ["kernel/plugin.ts", ...eventFiles].map((path) => codeOnly(read(path))).join("\n");
    for (const [event, payload] of rows) {
      const body =
        new RegExp(`${event!.replaceAll("`", '"')}:\\s*([^}]*)\\}`).exec(text)?.[1] ?? "";
      const fields = [...body.matchAll(/(\w+)\??: /g)].map(([, name]) => name!);
      for (const field of fields) expect(payload, event).toContain(`\`${field}\``);
    }
  });
});
