import { expect, test } from "vitest";
import { descriptorsMissing, readLimit, spare } from "../../../plugins/pico-server/descriptors.ts";
import { stand } from "./stand.ts";

const limits = (soft: string): string =>
  ["Limit                     Soft Limit           Hard Limit           Units     ",
    "Max processes             127                  127                  processes ",
    `Max open files            ${soft.padEnd(20)} 1048576              files     `, ""].join("\n");

test.each([["1024", 1_024], ["unlimited", undefined]])("the limit of open files is read (%s)", (soft, limit) => {
  expect(readLimit(limits(soft))).toBe(limit);
});

test("nothing is known where the machine does not say", () => {
  expect(readLimit("")).toBeUndefined();
});

test("more connections than files can be opened are refused at the start, with the number that is needed", async () => {
  const most = await descriptorsMissing(1_000_000);
  if (!most) return; // this machine allows them
  expect(most.needs).toBe(1_000_000 + spare);
  await expect(stand({ config: { max_connections: 1_000_000 } })).rejects.toMatchObject({ code: "PICO_DESCRIPTORS" });
  expect(await descriptorsMissing(most.has - spare)).toBeUndefined();
  expect(await descriptorsMissing(most.has - spare + 1)).toMatchObject({ needs: most.has + 1 });
  await using door = await stand();
  await expect(door.configure({ max_connections: 1_000_000 })).rejects.toMatchObject({ code: "PICO_DESCRIPTORS" });
});
