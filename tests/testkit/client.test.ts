import { createServer } from "node:http";
import { once } from "node:events";
import type { AddressInfo } from "node:net";
import { describe, expect, test } from "vitest";
import { application, channels } from "../../plugins/channels/index.ts";
import { http } from "../../plugins/http/index.ts";
import { picoServer } from "../../plugins/pico-server/index.ts";
import {
  connectTestClient,
  createQueue,
  memoryTokens,
  createStoppedClock,
  testTokens,
  withKernel,
} from "../../testkit/index.ts";
import { codeFrom, rejection } from "../support/sample-plugins.ts";

const config = { "channels.pico": { enabled: true } };
const plugins = () =>
  [
    memoryTokens(),
    channels(),
    http({ port: 0 }),
    picoServer(),
    application(
      async ({ content, reply }) => void (await reply({ content: `you said ${content}` })),
    ),
  ] as const;
const channel = ({ addresses }: { addresses(): URL[] }): URL => new URL("pico", addresses()[0]);

describe("connectTestClient", () => {
  test("waits for the reply of a kernel with a stopped clock", async () => {
    await withKernel(
      plugins(),
      async ({ kernel, clock }) => {
        clock.set(1_700_000_000_000);
        await using client = await connectTestClient(channel(kernel.services.http), {
          token: testTokens.pico,
          session: "s",
        });
        client.say("hello");
        const { payload, timestamp, session_id } = await client.next("message.create");
        expect([payload!["content"], timestamp, session_id]).toEqual([
          "you said hello",
          1_700_000_000_000,
          "s",
        ]);
      },
      { config },
    );
  });

  test("reports the status of a rejected handshake", async () => {
    await withKernel(
      plugins(),
      async ({ kernel }) => {
        const error = await rejection(
          connectTestClient(channel(kernel.services.http), { token: "another-token" }),
        );
        expect([error.code, error.details["status"]]).toEqual(["TEST_REFUSED", 401]);
      },
      { config },
    );
  });

  test("ends a wait when the server closes", async () => {
    await withKernel(
      plugins(),
      async ({ kernel }) => {
        const client = await connectTestClient(channel(kernel.services.http), {
          token: testTokens.pico,
        });
        const wait = codeFrom(client.next("message.create"));
        await kernel.stop();
        expect([await wait, (await client.closed).code]).toEqual(["TEST_CLOSED", 1001]);
      },
      { config },
    );
  });

  test("times out if the server never responds", async () => {
    const mute = createServer()
      .on("upgrade", () => undefined)
      .listen(0, "127.0.0.1");
    await once(mute, "listening");
    const { port } = mute.address() as AddressInfo;
    expect(
      await codeFrom(connectTestClient(`ws://127.0.0.1:${port}/pico`, { timeoutMs: 20 })),
    ).toBe("TEST_WAITED");
    mute.closeAllConnections();
    mute.close();
  });
});

describe("createQueue", () => {
  test("returns each item once, the oldest match first", async () => {
    const queue = createQueue<number>(20);
    const odd = queue.next("an odd number", (item) => item % 2 === 1);
    [2, 4, 3].forEach(queue.push);
    expect([await odd, await queue.next("one"), await queue.next("one"), queue.waiting]).toEqual([
      3,
      2,
      4,
      [],
    ]);
    expect((await rejection(queue.next("the fourth"))).message).toBe(
      "Waited 20 ms for the fourth.",
    );
    queue.push(5);
    expect(await queue.next("one")).toBe(5);
  });
});

describe("createStoppedClock", () => {
  test("stands still until a test advances it", () => {
    const clock = createStoppedClock();
    const ran: number[] = [];
    clock.setTimeout(() => ran.push(clock.now()), 50);
    clock.increment(49);
    expect(ran).toEqual([]);
    clock.increment(1);
    expect(ran).toEqual([50]);
  });
});
