import { describe, expect, test } from "vitest";
import { decode, decodeRequest, limits } from "../../../lib/pico-wire/index.ts";

const base64 = "iVBORw0KGgo=";
const png = `data:image/png;base64,${base64}`;
const inline = { type: "image/png", base64 };

const read = (payload: object): unknown => {
  const text = JSON.stringify({ type: "message.send", id: "m", payload });
  return (decode(text, "client") as { payload: unknown }).payload;
};
const invalidMedia = expect.objectContaining({ code: "invalid_media" }) as Error;

describe("decode: images in data: URLs", () => {
  test.each([
    ["a charset", `data:image/png;charset=utf-8;base64,${base64}`],
    ["several parameters", `data:image/png;name="a.png";charset=utf-8;base64,${base64}`],
    ["spaces before the data", ` data: image/png ; charset=utf-8 ; base64 , ${base64}`],
    ["line breaks in the data", "data:image/png;base64,iVBO\r\nRw0K\n Ggo=\t\n"],
    ["upper case", `DATA:IMAGE/PNG;BASE64,${base64}`],
  ])("accepts %s", (_, url) => {
    expect(read({ media: url })).toEqual({ content: "", media: [inline], hops: 0 });
  });

  test.each([
    ["broken data", "data:image/png;base64,A*AA"],
    ["no data but whitespace", "data:image/png;base64, \n"],
    ["too much data", `data:image/png;base64,${"A".repeat((limits.medium / 3) * 4 + 8)}`],
    ["too much whitespace", `data:image/png;base64,${"A ".repeat(limits.medium + 8)}`],
  ])("rejects a message with text and %s", (_, media) => {
    expect(() => read({ content: "hi", media })).toThrowError(invalidMedia);
  });

  test("limits the search for the end of the parameters", () => {
    const media = `data:image/png${";a=b".repeat(1_000_000)}`;
    expect(read({ content: "hi", media })).toMatchObject({ media: [], skipped: [{ index: 0 }] });
  });
});

describe("decode: unsupported attachments", () => {
  test.each([
    ["another type", "data:application/pdf;base64,AAAA"],
    ["svg", "data:image/svg+xml;base64,AAAA"],
    ["data without base64", "data:image/png,abc"],
    ["a URL", "https://example.org/a.png?secret=1"],
    ["a path", "/pico/media/1"],
    ["a number", 5],
    ["null", null],
  ])("skips %s and keeps the rest", (_, url) => {
    const payload = { content: "hi", hops: 0, media: [inline], skipped: [{ index: 1 }] };
    expect(read({ content: "hi", media: [png, url] })).toEqual(payload);
    expect(read({ content: "hi", media: png, attachments: [{ url }] })).toEqual(payload);
  });

  test("describes them with shortened names and without their URL", () => {
    const attachments = [
      { type: "file", url: "data:text/plain;base64,AAAA", filename: "a.txt" },
      { url: "https://e.org/?token=1", content_type: "x/y", filename: "é".repeat(300) },
      { url: 5, filename: 7, content_type: "" },
    ];
    expect(read({ content: "hi", attachments })).toEqual({
      content: "hi",
      media: [],
      hops: 0,
      skipped: [
        { index: 0, filename: "a.txt" },
        { index: 1, filename: "é".repeat(256), content_type: "x/y" },
        { index: 2 },
      ],
    });
  });

  test("rejects a message that has nothing else", () => {
    const media = "https://example.org/a.png";
    expect(() => read({ content: " ", media })).toThrowError(invalidMedia);
  });

  test("skips them in posted messages", () => {
    const body = { content: "hi", media: [png, "https://example.org/a.png"] };
    expect(decodeRequest(JSON.stringify(body)).payload).toEqual({
      content: "hi",
      hops: 0,
      media: [inline],
      skipped: [{ index: 1 }],
    });
  });
});

describe("decode: notice frames", () => {
  test("reads the code, the message and the request id", () => {
    const payload = { code: "attachments_skipped", message: "Skipped.", request_id: "m" };
    const text = JSON.stringify({ type: "notice", session_id: "s", payload });
    expect(decode(text, "server")).toEqual({ type: "notice", session_id: "s", payload });
  });
});
