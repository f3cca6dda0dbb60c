// Tests the headers of an upload that clients of other libraries cannot send.
import type { IncomingMessage } from "node:http";
import { describe, expect, test } from "vitest";
import { readDetails } from "../../../plugins/media/upload.ts";

const read = (transfer: string) =>
  readDetails({ headers: { "transfer-encoding": transfer } } as unknown as IncomingMessage);

describe("the transfer of an upload", () => {
  test("may be chunked alone, so that no coded bytes are stored", () => {
    expect(read("Chunked")).toEqual({});
    for (const coded of ["gzip, chunked", "deflate", "identity"])
      expect(() => read(coded)).toThrow("Transfer-Encoding");
  });
});
