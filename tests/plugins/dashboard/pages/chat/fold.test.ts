// Tests which conversations the list of the chat shows as one entry.
import { describe, expect, test } from "vitest";
import { foldRows } from "../../../../../plugins/dashboard/pages/chat/list.tsx";

const root = "0123456789abcdef".repeat(2);
const other = "fedcba9876543210".repeat(2);
const row = (session: string, title: string, channel = "pico") => ({
  ...{ session, title, channel },
  ...{ text: "", at: 1, unread: 1, isFailed: false },
});
const shown = (...rows: Parameters<typeof foldRows>[0]) =>
  foldRows(rows).map((entry) => [entry.row.session, entry.row.title, entry.rows.length]);

describe("foldRows", () => {
  test("shows the newest conversation with the first title", () => {
    const newest = `openai/${root}~${"a".repeat(16)}`;
    const rows = [
      row(newest, "third"),
      row("home", "home"),
      row(`openai/${root}~${"b".repeat(16)}`, "second"),
      row(`openai/${root}`, "first"),
      row(`openai/${other}`, "alone"),
    ];
    expect(shown(...rows)).toEqual([
      [newest, "first", 3],
      ["home", "home", 1],
      [`openai/${other}`, "alone", 1],
    ]);
    expect(foldRows(rows)[0]!.row.unread).toBe(3);
  });

  test("leaves names of clients and other channels alone", () => {
    const names = ["a~b", `x/${root}`, `${root}~short`, `openai/${root.slice(1)}`];
    expect(shown(...names.map((name) => row(name, name)))).toHaveLength(names.length);
    expect(shown(row(root, "a", "sms"), row(`${root}~${"a".repeat(16)}`, "b", "sms"))).toHaveLength(
      2,
    );
  });
});
