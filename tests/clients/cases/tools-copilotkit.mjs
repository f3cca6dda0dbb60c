// {"client":"CopilotKit","protocol":"ag_ui","application":"tools.py","packages":["@copilotkit/core@1.75.0","@copilotkit/runtime@1.75.0","@hono/node-server@2.1.9","@ag-ui/client@0.0.59","zod@4"]}
import { once } from "node:events";
import { HttpAgent } from "@ag-ui/client";
import { CopilotKitCore } from "@copilotkit/core";
import { CopilotRuntime, createCopilotRuntimeHandler } from "@copilotkit/runtime/v2";
import { createAdaptorServer } from "@hono/node-server";
import { z } from "zod";
import { baseURL as url, done, equal, headers } from "./check.mjs";

// The client connects in browsers only.
globalThis.window = globalThis;
const runtime = new CopilotRuntime({ agents: { default: new HttpAgent({ url, headers }) } });
const basePath = "/api/copilotkit";
const server = createAdaptorServer({ fetch: createCopilotRuntimeHandler({ runtime, basePath }) });
server.listen(0, "127.0.0.1");
await once(server, "listening");
const asked = [];
const core = new CopilotKitCore({
  runtimeUrl: `http://127.0.0.1:${server.address().port}${basePath}`,
  tools: [
    {
      name: "weather",
      description: "Weather of a city",
      parameters: z.object({ city: z.string() }),
      handler: async (input) => {
        asked.push(input);
        return "sunny";
      },
    },
  ],
});
core.subscribe({ onError: ({ error, code }) => console.error(code, error) });
await new Promise((resolve) =>
  core.subscribe({
    onRuntimeConnectionStatusChanged: ({ status }) => status === "connected" && resolve(),
  }),
);
const agent = core.getAgent("default");
agent.threadId = crypto.randomUUID();
agent.addMessage({ id: crypto.randomUUID(), role: "user", content: "Rome" });
await core.runAgent({ agent });
equal("tools", asked, [{ city: "Rome" }]);
equal("tools", agent.messages.at(-1).content, "The client says: sunny");
done();
