// Starts the service that the cases talk to, with a program whose replies they expect.
import { createServer } from "node:http";
import { once } from "node:events";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { createKernel } from "../../dist/kernel/index.js";
import { application, channels } from "../../dist/plugins/channels/index.js";
import { http } from "../../dist/plugins/http/index.js";
import { picoServer } from "../../dist/plugins/pico-server/index.js";
import { agUi } from "../../dist/plugins/protocols/ag-ui/index.js";
import { aiSdk } from "../../dist/plugins/protocols/ai-sdk/index.js";
import { openai } from "../../dist/plugins/protocols/openai/index.js";
import { program } from "../../dist/plugins/program/index.js";
import { programErrors } from "../../dist/plugins/program/errors.js";
import { memory, tokenStore } from "../../dist/plugins/token-store/index.js";

const examples = fileURLToPath(new URL("../../examples", import.meta.url));

const tokens = Object.fromEntries(
  ["pico", "openai", "ai_sdk", "ag_ui"].map((name) => [name, `${name}-`.repeat(12)]),
);
const paths = { openai: "/v1", ai_sdk: "/ai/chat", ag_ui: "/ag-ui" };

/** Replies to what the cases ask. Each reply is one sentence about the request. */
async function reply(message, state) {
  const { content, previous = [], signal } = message;
  if (content.includes("fail")) throw programErrors.application_refused("The kettle is broken.");
  if (content.includes("slow")) {
    state.stopped = "running";
    signal.addEventListener("abort", () => void (state.stopped = "stopped"), { once: true });
    const stream = message.stream();
    stream.write("begun");
    await stream.drained();
    await new Promise((resolve) => signal.addEventListener("abort", resolve, { once: true }));
    return;
  }
  if (content.includes("history")) {
    const said = previous.filter(({ role }) => role !== "system").map((turn) => turn.content);
    await message.reply({ content: `before: ${said.join(", ")}` });
    return;
  }
  const stream = message.stream();
  for (const part of ["you said ", content]) {
    stream.write(part);
    await stream.drained();
  }
  await stream.end();
}

/**
 * @param example - A program of `examples`, instead of the replies above.
 * @returns The addresses and tokens of each protocol, and a function that stops the service.
 */
export async function startService(example) {
  const state = { stopped: "none" };
  const enabled = { enabled: true, message_rate: 0 };
  const kernel = createKernel(
    [
      tokenStore(memory(tokens)),
      channels(),
      http({ port: 0 }),
      picoServer(),
      openai(),
      aiSdk(),
      agUi(),
      example === undefined
        ? application((message) => reply(message, state))
        : program({
            command: ["python3", join(examples, example)],
            cwd: examples,
            env: process.env,
          }),
    ],
    {
      config: {
        "channels.pico": { ...enabled, drain_timeout: 0 },
        "channels.openai": enabled,
        "channels.ai_sdk": enabled,
        "channels.ag_ui": enabled,
      },
    },
  );
  await kernel.start();
  const { origin } = kernel.services.http.addresses()[0];
  const control = createServer(
    (_, response) => void setTimeout(() => response.end(state.stopped), 20),
  );
  await once(control.listen(0, "127.0.0.1"), "listening");
  return {
    environmentOf: (protocol) => ({
      BASE_URL: origin + paths[protocol],
      TOKEN: tokens[protocol],
      CONTROL_URL: `http://127.0.0.1:${control.address().port}`,
    }),
    async stop() {
      control.close();
      await kernel.stop();
    },
  };
}
