// Checks docs/errors.md against the error codes of the sources.
import { pathToFileURL } from "node:url";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { errorResponses as httpResponses } from "../../plugins/http/responses.ts";
import { closeCodes, messageErrors, rejections } from "../../lib/pico-wire/index.ts";
import { entryFolder, filesUnder, read, root, sources, tableRows, unquoted } from "./source.ts";

type Statuses = ReadonlyMap<string, number | undefined>;

/** Reads the tables in one errors.ts, made by `errorTable` or as `code: [status, …]`. */
async function codesOf(path: string): Promise<Statuses> {
  const exported = (await import(pathToFileURL(join(root, path)).href)) as Record<string, unknown>;
  const found = new Map<string, number | undefined>();
  for (const [name, table] of Object.entries(exported)) {
    if (name !== "refusals" && !name.endsWith("Errors")) continue;
    for (const [code, row] of Object.entries(table as Record<string, unknown>)) {
      found.set(code, Array.isArray(row) ? (row[0] as number) : found.get(code));
    }
  }
  return found;
}

const statuses = (table: Readonly<Record<string, { readonly status: number }>>): Statuses =>
  new Map(Object.entries(table).map(([code, { status }]) => [code, status]));

/** Heading in docs/errors.md -> its codes, with the HTTP status where there is one. */
async function tables(): Promise<Map<string, Statuses>> {
  const own = filesUnder(["kernel", "lib", "plugins", "config", "testkit"], /^errors\.ts$/).filter(
    (path) => !/pico-wire/.test(path),
  );
  const reading = own.map(
    async (path) => [entryFolder(path.replace("/errors.ts", "")), await codesOf(path)] as const,
  );
  const all = new Map(await Promise.all(reading));
  const answered = Object.values(httpResponses).map(([status, code]) => [code, status] as const);
  const http = new Map([...all.get("plugins/http")!, ...answered]);
  return new Map([
    ...all,
    ["plugins/http", http],
    ["lib/pico-wire: requests", statuses(rejections)],
    ["lib/pico-wire: messages", statuses(messageErrors)],
    [
      "lib/pico-wire: closes",
      new Map(Object.entries(closeCodes).map(([name, { code }]) => [name, code])),
    ],
  ]);
}

const sections = new Map(
  read("docs/errors.md")
    .split(/^## /m)
    .slice(1)
    .map((part) => {
      const [heading = ""] = part.split("\n", 1);
      return [unquoted(heading).trim(), tableRows(part, "code")] as const;
    }),
);

describe("error codes", () => {
  test("match the rows of docs/errors.md", async () => {
    const known = [...(await tables())].map(
      ([folder, codes]) => [folder, [...codes.keys()].sort()] as const,
    );
    const codesIn = (rows: readonly string[][]): string[] =>
      rows.map(([code]) => unquoted(code!)).sort();
    const written = [...sections].map(([heading, rows]) => [heading, codesIn(rows)] as const);
    expect(Object.fromEntries(written.filter(([, codes]) => codes.length > 0))).toEqual(
      Object.fromEntries(known),
    );
  });

  test("have a row with the status, a meaning and a remedy", async () => {
    for (const [folder, codes] of await tables()) {
      for (const [code = "", where = "", meaning = "", remedy = ""] of sections.get(folder) ?? []) {
        const status = codes.get(unquoted(code));
        if (status !== undefined) expect(where, `${folder} ${code}`).toContain(String(status));
        expect(
          [where, meaning, remedy].every((cell) => cell.length > 1),
          `${folder} ${code}`,
        ).toBe(true);
      }
    }
  });

  test("come from error tables only", () => {
    const makers = sources().filter(({ code }) => /new DoorwardError\b/.test(code));
    // Rejected requests: the tables of each plugin have their statuses.
    const rejected = "plugins/http/request-error.ts";
    expect(makers.map(({ path }) => path)).toEqual(["kernel/errors.ts", rejected]);
  });

  test("have messages that are sentences", () => {
    for (const table of [messageErrors, rejections]) {
      for (const { message } of Object.values(table)) expect(message).toMatch(/^[A-Z].*\.$/s);
    }
  });
});
