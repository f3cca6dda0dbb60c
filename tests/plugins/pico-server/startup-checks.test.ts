import { describe, expect, test } from "vitest";
import { missingDescriptors, reservedDescriptors } from "../../../plugins/pico-server/channel.ts";
import { startPicoServer } from "../../support/pico-server-harness.ts";

describe("missingDescriptors", () => {
  test("requires one descriptor per connection and a reserve", () => {
    expect(missingDescriptors(1_000, 1_000 + reservedDescriptors)).toBeUndefined();
    expect(missingDescriptors(1_001, 1_000 + reservedDescriptors)).toEqual({
      has: 1_000 + reservedDescriptors,
      needs: 1_001 + reservedDescriptors,
    });
    expect(missingDescriptors(1_000_000, undefined)).toBeUndefined();
  });

  test("rejects max_connections above the descriptor limit", async () => {
    await using testServer = await startPicoServer();
    const has = await testServer.services.http.openFiles();
    if (!missingDescriptors(1_000_000, has)) return; // this machine allows a million descriptors
    await expect(startPicoServer({ config: { max_connections: 1_000_000 } })).rejects.toMatchObject(
      {
        code: "PICO_DESCRIPTORS",
      },
    );
    await expect(testServer.configure({ max_connections: 1_000_000 })).rejects.toMatchObject({
      code: "PICO_DESCRIPTORS",
    });
  });
});
