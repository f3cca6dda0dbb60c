import { describe, expect, test } from "vitest";
import * as z from "zod";
import { withKernel } from "../../../kernel/testing.ts";
import { application, channels, defineChannel } from "../../../plugins/channels/index.ts";
import { memory, tokenStore } from "../../../plugins/token-store/index.ts";

const radio = () =>
  defineChannel({
    name: "short_wave",
    schema: z.strictObject({ band: z.int().default(40) }),
    token: true,
    start({ attach, config, token }) {
      const heard: string[] = [];
      token.onReplaced(() => void heard.push("replaced"));
      const channel = attach({
        send: (session, _, { content }) => void heard.push(`${session} ${content}`),
      });
      return {
        heard,
        band: () => config().band,
        isRight: (candidate: string) => token.verify(candidate),
        token: () => token.reveal(),
        hear: (id: string, content: string) => channel.deliver({ session: "air", id, content }),
      };
    },
  });

const echo = application(async ({ channel, content, at, media, hops, reply }) => {
  await reply({ content: JSON.stringify([channel, content, at, media, hops]) });
});

describe("defineChannel", () => {
  test("names plugin, section, token, service and adapter once", async () => {
    const before = [tokenStore(memory({ short_wave: "correct-horse" })), channels()] as const;
    await withKernel([...before, radio(), echo], async ({ kernel, clock }) => {
      const { short_wave: service } = kernel.services;
      clock.increment(7);
      expect(await service.hear("m1", "cq")).toBe("accepted");
      const at = clock.now();
      expect(service.heard).toEqual([`air ${JSON.stringify(["short_wave", "cq", at, [], 0])}`]);
      expect(service.band()).toBe(40);
      expect(await service.isRight("wrong")).toBe(false);
      expect(await service.isRight("correct-horse")).not.toBe(false);
      expect(service.token()).toBe("correct-horse");
      expect(kernel.services.channels.list()).toMatchObject([{ name: "short_wave", received: 1 }]);
    });
    expect(radio()).toMatchObject({
      name: "short-wave",
      needs: { channels: true, tokens: true, tokenSecrets: true },
      config: { section: "channels.short_wave" },
    });
  });

  test("reports a new token, after the grace period of the old one", async () => {
    const tokens = { short_wave: "correct-horse", other: "battery-staple" };
    const before = [tokenStore(memory(tokens)), channels()] as const;
    await withKernel([...before, radio(), echo], async ({ kernel, clock }) => {
      const { short_wave: service, tokenSecrets, tokens: store } = kernel.services;
      await store.claim("other");
      await tokenSecrets.replace("other", { expect: 1 });
      expect(service.heard).toEqual([]);
      await tokenSecrets.replace("short_wave", { expect: 1 });
      expect(service.heard).toEqual(["replaced"]);
      await tokenSecrets.replace("short_wave", { expect: 2, graceS: 10 });
      clock.increment(9_999);
      expect(service.heard).toEqual(["replaced"]);
      clock.increment(1);
      expect(service.heard).toEqual(["replaced", "replaced"]);
    });
  });

  test("detaches the channel at a stop, and attaches it again", async () => {
    const plain = defineChannel({
      name: "plain",
      start: ({ attach }) => void attach({ send: () => {} }),
    });
    await withKernel([channels(), plain, echo], async ({ kernel }) => {
      await kernel.stop();
      await kernel.start();
      expect(kernel.services.channels.list()).toHaveLength(1);
    });
  });

  test.each(["Radio", "a b", "", "a__b", "channels.x"])("rejects the name %j", (name) => {
    expect(() => defineChannel({ name, start: () => undefined })).toThrow("lower-case words");
  });
});
