// Tests the echo plugin.
import { describe, expect, test } from "vitest";
import { withKernel } from "../../../kernel/testing.ts";
import { channels } from "../../../plugins/channels/index.ts";
import { echo } from "../../../plugins/echo/index.ts";
import { picoErrors } from "../../../plugins/pico-server/index.ts";
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

  test("leaves out attachments and text that the channel cannot send", async () => {
    const maxLength = 1_000;
    const contents: string[] = [];
    const { plugin, inlet, message } = createSampleChannel({
      send: async (_, id, { content, attachments = [] }) => {
        const bytes = attachments.reduce((sum, media) => sum + media.bytes!.length, 0);
        if (content.length + bytes > maxLength)
          throw picoErrors.too_large(content.length + bytes, maxLength);
        contents.push(`${content} +${attachments.length}`);
        return { id, status: "written" };
      },
    });
    const image = (size: number) => ({ type: "image/png", bytes: new Uint8Array(size) });
    await withKernel([channels(), plugin, echo()], async () => {
      await inlet().deliver(message({ id: "a", content: "", media: [image(2_000)] }));
      const media = [image(100), image(1_500), image(200)];
      await inlet().deliver(message({ id: "b", content: "look", media }));
      await inlet().deliver(message({ id: "c", content: "long ".repeat(500) }));
    });
    const left = (count: number, of: number) =>
      `(Left out, too large to send: ${count} of ${of} attachments)`;
    expect(contents.slice(0, 2)).toEqual([`${left(1, 1)} +0`, `look\n\n${left(1, 3)} +2`]);
    expect(contents[2]).toMatch(/^(long ){100,200}\n\n\(Left out, too large to send: the rest of/);
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
