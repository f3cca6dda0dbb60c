// Ends replies that have not begun, because the host ends the session of their person.
import { createServer } from "node:http";
import { once } from "node:events";
import type { AddressInfo } from "node:net";
import { expect, onTestFinished, test } from "vitest";
import { createKernel } from "../../../kernel/index.ts";
import { createCapturedLog } from "../../../kernel/testing.ts";
import { application, channels } from "../../../plugins/channels/index.ts";
import { http } from "../../../plugins/http/index.ts";
import { picoServer } from "../../../plugins/pico-server/index.ts";
import { openai } from "../../../plugins/protocols/openai/index.ts";
import { memory, tokenStore } from "../../../plugins/token-store/index.ts";

test.each([false, true])(
  "ends a reply with the session of its person (stream: %s)",
  async (stream) => {
    const server = createServer();
    let respond = (): void => undefined;
    const responded = new Promise<void>((resolve) => void (respond = resolve));
    let signOut = (_: string): void => undefined;
    const identify = () => ({
      id: "ann",
      onEnd(ended: (reason: string) => void) {
        signOut = ended;
        return () => undefined;
      },
    });
    const kernel = createKernel(
      [
        tokenStore(memory({ pico: "p".repeat(64), openai: "o".repeat(64) })),
        channels(),
        http({ server, identify }),
        picoServer(),
        openai(),
        application(async (message) => {
          signOut("signed out");
          message.accept();
          if (stream) await responded;
          await message.reply({ content: "secret" });
        }),
      ],
      { log: createCapturedLog().log, config: { "channels.pico": { enabled: true } } },
    );
    await kernel.start();
    await once(server.listen(0, "127.0.0.1"), "listening");
    onTestFinished(async () => {
      await kernel.stop();
      server.closeAllConnections();
      server.close();
    });
    const { port } = server.address() as AddressInfo;
    const response = await fetch(`http://127.0.0.1:${port}/v1/chat/completions`, {
      method: "POST",
      headers: { authorization: "Bearer user-ann", "content-type": "application/json" },
      body: JSON.stringify({
        model: "doorward",
        stream,
        messages: [{ role: "user", content: "hello" }],
      }),
    });
    expect([response.status, await response.text()]).toEqual([
      401,
      expect.not.stringContaining("secret"),
    ]);
    respond();
  },
);
