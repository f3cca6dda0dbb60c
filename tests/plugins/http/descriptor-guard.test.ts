// Tests the guard against running out of file descriptors.
import { once } from "node:events";
import { connect, createServer, type AddressInfo, type Socket } from "node:net";
import { describe, expect, test } from "vitest";
import { createCapturedLog } from "../../../kernel/testing.ts";
import {
  createDescriptorGuard,
  parseOpenFilesLimit,
  reservedDescriptors,
} from "../../../plugins/http/connection-limits.ts";

const limits = (soft: string): string =>
  [
    "Limit                     Soft Limit           Hard Limit           Units     ",
    "Max processes             127                  127                  processes ",
    `Max open files            ${soft.padEnd(20)} 1048576              files     `,
    "",
  ].join("\n");

describe("descriptor guard", () => {
  test.each([
    ["1024", 1_024],
    ["unlimited", undefined],
  ])("reads the limit on open files (%s)", (soft, limit) => {
    expect(parseOpenFilesLimit(limits(soft))).toBe(limit);
  });

  test("returns undefined if the limit is unknown", () => {
    expect(parseOpenFilesLimit("")).toBeUndefined();
  });

  test("closes connections near the limit and logs once a minute", async () => {
    const { log, lines } = createCapturedLog();
    let minutes = 0;
    let usher = (_: Socket): void => undefined;
    const server = createServer((socket) => usher(socket)).listen(0, "127.0.0.1");
    await once(server, "listening");
    const { port } = server.address() as AddressInfo;
    const visit = async (): Promise<boolean> => {
      const arrival = once(server, "connection") as Promise<[Socket]>;
      const socket = connect(port, "127.0.0.1");
      const [arrived] = await arrival;
      const wasClosed = arrived.destroyed;
      socket.destroy();
      arrived.destroy();
      return wasClosed;
    };
    usher = createDescriptorGuard(1_000_000, () => minutes * 60_000, log);
    expect(await visit()).toBe(false);
    usher = createDescriptorGuard(reservedDescriptors + 1, () => minutes * 60_000, log);
    for (const at of [0, 0, 0.9, 1]) {
      minutes = at;
      expect(await visit()).toBe(true);
    }
    expect(lines.map(({ turnedAway }) => turnedAway)).toEqual([1, 3]);
    expect(lines[0]!.text).toContain("ulimit -n");
    server.close();
  });
});
