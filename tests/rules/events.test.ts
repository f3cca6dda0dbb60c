import { describe, expect, test } from "vitest";
import { codeOnly, entryFolder, filesUnder, read, tableRows, unquoted } from "./source.ts";

/** The names of the events that a file declares: `"http:listening": { … }`. */
const declared = (path: string): string[] =>
  [...codeOnly(read(path)).matchAll(/^\s*"([a-z-]+:[a-z-]+)":/gm)].map(([, name]) => name!);

const eventFiles = filesUnder(["plugins"], /^(events|service|contract)\.ts$/);
const events = [...declared("kernel/plugin.ts"), ...eventFiles.flatMap(declared)].sort();
const rows = tableRows(read("docs/plugins.md"), "event");

describe("docs/plugins.md", () => {
  test("lists exactly the declared events", () => {
    expect(rows.map(([event]) => unquoted(event!)).sort()).toEqual(events);
  });

  test("names each event after the plugin that announces it", () => {
    for (const path of eventFiles) {
      const plugin = entryFolder(path).split("/")[1];
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

/** The services in the types of the plugins: `offers: { http: Http }`. */
const offered = filesUnder(["plugins"], /^(index|service|contract)\.ts$/).flatMap((path) =>
  [...codeOnly(read(path)).matchAll(/\boffers: \{([^}]*)\}/g)].flatMap(([, body]) =>
    [...body!.matchAll(/(\w+): (\w+)/g)].map(([, name, type]) => ({
      name: name!,
      type: type!,
      plugin: entryFolder(path).split("/")[1]!,
    })),
  ),
);

/** The file of an entry point of the package. */
const entryOf = (plugin: string): string =>
  filesUnder(["plugins"], /^index\.ts$/).find(
    (path) => entryFolder(path) === `plugins/${plugin}/index.ts`,
  )!;

describe("docs/plugins.md, services", () => {
  const services = tableRows(read("docs/plugins.md"), "service").map((cells) =>
    cells.slice(0, 3).map((cell) => unquoted(cell)),
  );

  test("names the type and the plugin of every service", () => {
    // The name of the application is a text, which only the kernel compares.
    const expected = offered.filter(({ name }) => name !== "application");
    const lines = expected.map(({ name, type, plugin }) => `${name} ${type} ${plugin}`);
    expect(services.map((cells) => cells.join(" ")).sort()).toEqual([...new Set(lines)].sort());
  });

  test("names types that the entry point of the plugin exports", () => {
    for (const [, type, plugin] of services) {
      const entry = read(entryOf(plugin!));
      const contract = entry.includes('export type * from "./contract.ts"')
        ? read(`plugins/${plugin}/contract.ts`)
        : "";
      expect(entry + contract).toMatch(new RegExp(`export [^;]*\\b${type}\\b`));
    }
  });
});
