// Tests the table of ids against a map, and its use of memory.
import { describe, expect, test } from "vitest";
import { IdTable } from "../../../plugins/channels/id-table.ts";

const read = (table: IdTable, id: string) => {
  const row = table.find(id);
  return row === -1 ? undefined : [table.text(row), table.value(row), table.state(row)];
};

describe("IdTable", () => {
  test.each([3, 16, 17, 3_000])("finds each of %s rows by its id", (count) => {
    const table = new IdTable();
    const expected = new Map<string, unknown[]>();
    for (let n = 0; n < count; n++) {
      const row = [`text ${n}`, n / 2 - 7, n % 2] as const;
      table.set(`id ${n}`, ...row);
      expected.set(`id ${n}`, [...row]);
    }
    for (let n = 0; n < count; n += 3) {
      table.set(`id ${n}`, "a longer text than before", n, 1);
      expected.set(`id ${n}`, ["a longer text than before", n, 1]);
    }
    for (let n = 1; n < count; n += 3) {
      table.remove(table.find(`id ${n}`));
      expected.delete(`id ${n}`);
    }
    for (let n = 0; n <= count; n++)
      expect(read(table, `id ${n}`)).toEqual(expected.get(`id ${n}`));
    expect([table.size, table.added]).toEqual([expected.size, count]);
  });

  test("distinguishes ids of equal length and any characters", () => {
    const ids = ["", "a", "\u0161", "\ud800", "\udc00", "\u00e9", "\ufffd", "x".repeat(256)];
    const table = new IdTable();
    ids.forEach((id, n) => table.set(id, `${id}!`, n, 0));
    expect(ids.map((id) => read(table, id))).toEqual(ids.map((id, n) => [`${id}!`, n, 0]));
    expect(read(table, "b")).toBeUndefined();
  });

  test("distinguishes ids with equal hashes", () => {
    // FNV-1a gives both the same 32 bits.
    const table = new IdTable();
    for (const id of ["costarring", "liquid"]) table.set(id, id, 0, 0);
    for (let n = 0; n < 100; n++) table.set(`${n}`, "", 0, 0);
    expect([read(table, "costarring"), read(table, "liquid")]).toEqual([
      ["costarring", 0, 0],
      ["liquid", 0, 0],
    ]);
  });

  test("forgets everything when it is cleared", () => {
    const table = new IdTable();
    for (let n = 0; n < 100; n++) table.set(`${n}`, "old", 0, 0);
    table.clear().set("1", "new", 0, 0);
    expect([read(table, "1"), read(table, "2"), table.size]).toEqual([["new", 0, 0], undefined, 1]);
  });

  test("keeps no characters for each change of a row", () => {
    const table = new IdTable();
    const text = "x".repeat(1_000);
    const before = process.memoryUsage().arrayBuffers;
    for (let n = 0; n < 50_000; n++) table.set("a", text, n, 0);
    expect(process.memoryUsage().arrayBuffers - before).toBeLessThan(10_000_000);
  });
});
