import { describe, expect, test } from "vitest";
import { decodeBase64, toDataUrl, toMarkdown } from "../../../plugins/protocols/media.ts";

const id = `m_${"0".repeat(48)}`;
const fileUrl = (file: string): string => `/files/${file}`;

describe("toDataUrl", () => {
  test("names the path of a stored file", () => {
    const addressOf = (media: object): string => toDataUrl({ type: "text/csv", ...media }, fileUrl);
    const url = `/base/pico/media/${id}`;
    for (const media of [{ id }, { id, url }, { url }])
      expect(addressOf(media)).toBe(`/files/${id}`);
    const other = `https://example.com/pico/media/${id}`;
    expect(addressOf({ url: other })).toBe(other);
    expect(addressOf({ bytes: Buffer.from("a") })).toBe("data:text/csv;base64,YQ==");
  });
});

describe("toMarkdown", () => {
  test("links a stored file", () => {
    const media = { type: "text/csv", id, filename: "a.csv" };
    expect(toMarkdown(media, fileUrl)).toBe(`[a.csv](/files/${id})`);
  });
});

describe("decodeBase64", () => {
  test.each(["", "a", "YQ", "YQ=", "Y=Q=", "YQ==YQ==", "a b=", "YW\nJj", "!!!!", "====", "é==="])(
    "rejects %j",
    (text) => expect(decodeBase64(text)).toBeUndefined(),
  );

  test("decodes texts of every length", () => {
    for (let length = 1; length < 64; length++) {
      const bytes = Buffer.alloc(length, length);
      expect(decodeBase64(bytes.toString("base64"))).toEqual(bytes);
    }
  });
});
