// Stops sessions whose application runs several messages, or queues them itself.
import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { withKernel } from "../../../kernel/testing.ts";
import {
  application,
  channels,
  type Application,
  type ApplicationOptions,
  type Message,
} from "../../../plugins/channels/index.ts";
import { createSampleChannel, type SampleChannel } from "../../support/sample-channel.ts";

async function answering(
  handler: Application,
  visit: (fixture: { channel: SampleChannel; ended: string[] }) => Promise<void>,
  options: ApplicationOptions,
): Promise<void> {
  const ended: string[] = [];
  const channel = createSampleChannel({ ended: (_, id) => void ended.push(id) });
  const plugins = [channels(), channel.plugin, application(handler, options)] as const;
  await withKernel(plugins, () => visit({ channel, ended }));
}

const stop = async ({ inlet }: SampleChannel, id?: string) =>
  (await inlet().stop("s", id)).map((result) => [result.id, result.status]);

/**
 * Works on `width` messages in parallel and queues the others itself. It begins with the next one
 * when one is stopped.
 */
function createWorker(width: number) {
  const begun: string[] = [];
  const waiting: { readonly message: Message; begin(): void; leave(): void }[] = [];
  let running = 0;
  const work = (message: Message): Promise<void> => {
    begun.push(message.id);
    running += 1;
    return new Promise((resolve) =>
      message.signal.addEventListener("abort", () => {
        running -= 1;
        waiting.shift()?.begin();
        resolve();
      }),
    );
  };
  const handler: Application = (message) =>
    running < width
      ? work(message)
      : new Promise((leave) => {
          waiting.push({ message, leave, begin: () => void work(message).then(leave) });
        });
  const withdraw = (message: Message): boolean => {
    const at = waiting.findIndex((item) => item.message === message);
    for (const { leave } of at === -1 ? [] : waiting.splice(at, 1)) leave();
    return at !== -1;
  };
  return { handler, withdraw, begun };
}

describe("ApplicationOptions.withdraw", () => {
  test("hands over no waiting message after a stop of the session", () => {
    const counts = fc.record({
      perSession: fc.integer({ min: 1, max: 4 }),
      messages: fc.integer({ min: 1, max: 8 }),
      hasQueue: fc.boolean(),
    });
    return fc.assert(
      fc.asyncProperty(counts, async ({ perSession, messages, hasQueue }) => {
        const { handler, withdraw, begun } = createWorker(hasQueue ? 1 : perSession);
        await answering(
          handler,
          async ({ channel, ended }) => {
            const ids = Array.from({ length: messages }, (_, at) => `m${at}`);
            const outcomes = ids.map((id) =>
              channel
                .inlet()
                .deliver(channel.message({ id }))
                .catch(({ code }: { code: string }) => code),
            );
            const before = [...begun];
            const statuses = ids.map((id) => [id, before.includes(id) ? "stopping" : "removed"]);
            expect((await stop(channel)).toSorted()).toEqual(statuses);
            expect(await Promise.all(outcomes)).toEqual(ids.map(() => "stopped"));
            await expect.poll(() => channel.inlet().isBusy()).toBe(false);
            expect(begun).toEqual(before);
            expect(ended).toEqual(before);
            void channel
              .inlet()
              .deliver(channel.message({ id: "next" }))
              .catch(() => undefined);
            expect(begun).toEqual([...before, "next"]);
            await stop(channel);
          },
          { perSession, withdraw },
        );
      }),
      { numRuns: 60 },
    );
  });

  test("stops a message whose application fails to say whether it has begun", async () => {
    const { handler } = createWorker(1);
    const withdraw = (): boolean => {
      throw new Error("lost");
    };
    await answering(
      handler,
      async ({ channel, ended }) => {
        const rejected = channel
          .inlet()
          .deliver(channel.message({ id: "a" }))
          .catch(({ code }: { code: string }) => code);
        expect(await stop(channel)).toEqual([["a", "stopping"]]);
        expect(await rejected).toBe("stopped");
        await expect.poll(() => ended).toEqual(["a"]);
      },
      { withdraw },
    );
  });

  test("lets the next message follow one that the application returns", async () => {
    const { handler, withdraw, begun } = createWorker(1);
    await answering(
      handler,
      async ({ channel }) => {
        for (const id of ["a", "b", "c", "d"])
          channel
            .inlet()
            .deliver(channel.message({ id }))
            .catch(() => undefined);
        const stops = [stop(channel, "b"), stop(channel, "a")];
        expect(begun).toEqual(["a", "c"]);
        stops.push(stop(channel));
        expect(begun).toEqual(["a", "c"]);
        expect(await Promise.all(stops)).toEqual([
          [["b", "removed"]],
          [["a", "stopping"]],
          [
            ["d", "removed"],
            ["a", "stopping"],
            ["c", "stopping"],
          ],
        ]);
      },
      { perSession: 2, withdraw },
    );
  });
});
