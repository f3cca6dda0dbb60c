// Tests the echo plugin.
import { describe, expect, test } from "vitest";
import { withKernel } from "../../../kernel/testing.ts";
import { channels } from "../../../plugins/channels/index.ts";
import { echo } from "../../../plugins/echo/index.ts";
import { toy } from "../../support/sample-channel.ts";

describe("echo", () => {
  test("replies with the received content and attachments", async () => {
    const { plugin, inlet, message, sent } = toy();
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

  test("can start again after it has stopped", async () => {
    const { plugin, inlet, message } = toy();
    for (let start = 0; start < 2; start += 1) {
      await withKernel([channels(), plugin, echo()], async () => {
        expect(await inlet().deliver(message())).toBe("accepted");
      });
    }
  });
});
