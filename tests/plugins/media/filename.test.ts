import { describe, expect, test } from "vitest";
import {
  cleanFilename,
  formatDisposition,
  parseDisposition,
} from "../../../plugins/media/filename.ts";

describe("cleanFilename", () => {
  test.each([
    ["../../etc/passwd", "passwd"],
    ["C:\\Users\\ann\\a.txt", "a.txt"],
    ["a\r\nSet-Cookie: x.txt", "aSet-Cookie: x.txt"],
    ["in\u202Efdp.exe", "infdp.exe"],
    ["\0\u0007", "file"],
    ["..", "file"],
    ["  ", "file"],
    [undefined, "file"],
    ["a/", "file"],
    ["\uD800.txt", "\uFFFD.txt"],
  ])("turns %j into %j", (given, clean) => {
    expect(cleanFilename(given)).toBe(clean);
  });

  test("cuts a long name at a character and keeps its extension", () => {
    const clean = cleanFilename(`${"ü".repeat(300)}.pdf`);
    expect(clean).toMatch(/^ü+\.pdf$/);
    expect(Buffer.byteLength(clean)).toBeLessThanOrEqual(255);
    expect(Buffer.byteLength(cleanFilename(`a.${"b".repeat(400)}`))).toBe(255);
  });
});

describe("parseDisposition", () => {
  test.each([
    ["attachment; filename=\"a b.txt\"; filename*=UTF-8''%C3%BC.txt", "ü.txt"],
    ['attachment; filename="a \\"b\\".txt"', 'a "b".txt'],
    ["attachment; filename=a.txt", "a.txt"],
    ["attachment; filename*=UTF-8''%ZZ; filename=b.txt", "b.txt"],
    ["attachment", undefined],
    [undefined, undefined],
  ])("reads %j", (header, name) => {
    expect(parseDisposition(header)).toBe(name);
  });

  test("reads names of headers that carry UTF-8", () => {
    const header = Buffer.from('attachment; filename="ü.txt"').toString("latin1");
    expect(parseDisposition(header)).toBe("ü.txt");
  });
});

describe("formatDisposition", () => {
  test("adds a name in ASCII for old clients", () => {
    expect(formatDisposition("inline", "a.png")).toBe('inline; filename="a.png"');
    expect(formatDisposition("attachment", "ü \"'(1).txt")).toBe(
      "attachment; filename=\"_ _'(1).txt\"; filename*=UTF-8''%C3%BC%20%22%27%281%29.txt",
    );
  });
});
