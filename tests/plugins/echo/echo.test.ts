import { expect, test } from "vitest";
import { withKernel } from "../../../kernel/testing.ts";
import { channels } from "../../../plugins/channels/index.ts";
import { echo } from "../../../plugins/echo/index.ts";
import { toy } from "../../support/sample-channel.ts";

test("echo answers with the content it received, attachments too", async () => {
  const { plugin, inlet, message, sent } = toy();
  await withKernel([channels(), plugin, echo()], async () => {
    const media = [{ type: "image/png", bytes: new Uint8Array([1, 2]) }];
    await inlet().deliver(message({ id: "a", content: "hello" }));
    await inlet().deliver(message({ id: "b", content: "look", media }));
    expect(sent.map((one) => one.message)).toEqual([
      { content: "hello", inReplyTo: "a" },
      { content: "look", attachments: media, inReplyTo: "b" },
    ]);
  });
});

test("echo leaves its place when it stops", async () => {
  const { plugin, inlet, message } = toy();
  await withKernel([channels(), plugin, echo()], async () => {
    expect(await inlet().deliver(message())).toBe("accepted");
  });
  await withKernel([channels(), plugin, echo()], async () => {
    expect(await inlet().deliver(message())).toBe("accepted");
  });
});
