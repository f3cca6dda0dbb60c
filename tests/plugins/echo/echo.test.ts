// Tests the echo plugin.
import { describe, expect, test } from "vitest";
import { withKernel } from "../../../kernel/testing.ts";
import { channels } from "../../../plugins/channels/index.ts";
import { echo } from "../../../plugins/echo/index.ts";
import { gate, createSampleChannel } from "../../support/sample-channel.ts";

describe("echo", () => {
  test("replies with the received content and attachments", async () => {
    const { plugin, inlet, message, sent } = createSampleChannel();
    await withKernel([channels(), plugin, echo()], async () => {
      const media = [{ type: "image/png", bytes: new Uint8Array([1, 2]) }];
      await inlet().deliver(message({ id: "a", content: "hello" }));
      await inlet().deliver(message({ id: "b", content: "look", media }));
      expect(sent.map(({ message: reply }) => reply)).toEqual([
        { content: "hello", inReplyTo: "a" },
        { content: "look", attachments: media, inReplyTo: "b" },
      ]);
    });
  });

  test("sends the replies of a session together and in order", async () => {
    const { opened, open } = gate();
    const contents: string[] = [];
    const { plugin, inlet, message } = createSampleChannel({
      send: async (_, id, { content }) => {
        contents.push(content);
        if (contents.length === 3) open();
        await opened;
        return { id, status: "written" };
      },
    });
    await withKernel([channels(), plugin, echo()], async () => {
      const deliveries = ["a", "b", "c"].map((content) =>
        inlet().deliver(message({ id: content, content })),
      );
      await Promise.all(deliveries);
      expect(contents).toEqual(["a", "b", "c"]);
    });
  });

  test("can start again after it has stopped", async () => {
    const { plugin, inlet, message } = createSampleChannel();
    for (let start = 0; start < 2; start += 1) {
      await withKernel([channels(), plugin, echo()], async () => {
        expect(await inlet().deliver(message())).toBe("accepted");
      });
    }
  });
});
