import { describe, expect, test } from "vitest";
import { toDataUrl, toMarkdown } from "../../../plugins/protocols/media.ts";

const id = `m_${"0".repeat(48)}`;

describe("toDataUrl", () => {
  test("names the path of a stored file", () => {
    expect(toDataUrl({ type: "text/csv", id })).toBe(`/pico/media/${id}`);
    expect(toDataUrl({ type: "text/csv", id, url: "/base/pico/media/1" })).toBe(
      "/base/pico/media/1",
    );
    expect(toDataUrl({ type: "text/csv", bytes: Buffer.from("a") })).toBe(
      "data:text/csv;base64,YQ==",
    );
  });
});

describe("toMarkdown", () => {
  test("links a stored file", () => {
    const media = { type: "text/csv", id, filename: "a.csv" };
    expect(toMarkdown(media)).toBe(`[a.csv](/pico/media/${id})`);
  });
});
