// Tests how the chat recognises files of the server and the kinds of files.
import { afterEach, describe, expect, test, vi } from "vitest";
import {
  languageOf,
  mayBeShown,
} from "../../../../../plugins/dashboard/pages/chat/files/file-kind.ts";
import { fileOf } from "../../../../../plugins/dashboard/pages/chat/files/stored-file.ts";

const id = `m_${"0f".repeat(24)}`;

afterEach(() => vi.unstubAllGlobals());

function stubPage(base: string): void {
  vi.stubGlobal("location", { origin: "http://door.local" });
  vi.stubGlobal("document", { querySelector: () => ({ content: base }) });
}

describe("fileOf", () => {
  test.each([`/pico/media/${id}`, `http://door.local/door/pico/media/${id}`])(
    "gives %s the address for pages",
    (url) => {
      stubPage("/door");
      const file = { url, filename: "a.pdf", content_type: "application/pdf", size: 3 };
      const shown = { name: "a.pdf", type: "application/pdf", size: 3, id };
      expect(fileOf(file)).toEqual({ ...shown, url: `/door/api/media/${id}` });
    },
  );

  test.each([
    `https://other.example/pico/media/${id}`,
    "data:image/png;base64,AA==",
    "/pico/media/7",
  ])("leaves the address %s unchanged", (url) => {
    stubPage("");
    expect(fileOf({ url })).toEqual({ name: "", url });
  });
});

describe("languageOf", () => {
  test.each([
    ["a.PY", "", "python"],
    ["notes", "text/markdown", ""],
    ["page.html", "text/html", "xml"],
    ["a.pdf", "application/pdf", undefined],
    ["constructor.constructor", "", undefined],
  ])("finds %s of type %j: %s", (name, type, language) => {
    expect(languageOf({ name, type })).toBe(language);
  });
});

describe("mayBeShown", () => {
  test.each([
    ["image/png", true],
    ["video/mp4", true],
    ["image/svg+xml", false],
    ["application/pdf", false],
  ])("decides %s: %s", (type, expected) => {
    expect(mayBeShown({ name: "", type })).toBe(expected);
  });
});
