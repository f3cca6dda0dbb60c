import { expect, test } from "vitest";
import { descriptorsMissing, spare } from "../../../plugins/pico-server/descriptors.ts";
import { stand } from "../../support/pico-server-harness.ts";

test("so many files are needed as there are connections, and some", () => {
  expect(descriptorsMissing(1_000, 1_000 + spare)).toBeUndefined();
  expect(descriptorsMissing(1_001, 1_000 + spare)).toEqual({
    has: 1_000 + spare,
    needs: 1_001 + spare,
  });
  expect(descriptorsMissing(1_000_000, undefined)).toBeUndefined();
});

test("more connections than files can be opened are refused at the start, and while it runs", async () => {
  await using door = await stand();
  const has = await door.services.http.openFiles();
  if (!descriptorsMissing(1_000_000, has)) return; // this machine allows them
  await expect(stand({ config: { max_connections: 1_000_000 } })).rejects.toMatchObject({
    code: "PICO_DESCRIPTORS",
  });
  await expect(door.configure({ max_connections: 1_000_000 })).rejects.toMatchObject({
    code: "PICO_DESCRIPTORS",
  });
});
