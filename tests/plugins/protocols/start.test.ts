// Starts the protocols without their tokens.
import { describe, expect, test } from "vitest";
import { createKernel } from "../../../kernel/index.ts";
import { agUi } from "../../../plugins/protocols/ag-ui/index.ts";
import { aiSdk } from "../../../plugins/protocols/ai-sdk/index.ts";
import { channels } from "../../../plugins/channels/index.ts";
import { http } from "../../../plugins/http/index.ts";
import { openai } from "../../../plugins/protocols/openai/index.ts";
import { picoServer } from "../../../plugins/pico-server/index.ts";
import { memory, tokenStore } from "../../../plugins/token-store/index.ts";

const plugins = { openai, ai_sdk: aiSdk, ag_ui: agUi };

describe.each(Object.entries(plugins))("%s", (name, create) => {
  const start = async (enabled: boolean): Promise<void> => {
    const own = [tokenStore(memory({})), channels(), http({ port: 0 }), picoServer()] as const;
    const config = { "channels.pico": { enabled: false }, [`channels.${name}`]: { enabled } };
    const kernel = createKernel([...own, create()], { config });
    await kernel.start();
    await kernel.stop();
  };

  test("needs a token only if it is on", async () => {
    const code = `${name.toUpperCase()}_TOKEN_MISSING`;
    const message = expect.stringContaining(`tokenStore(memory({ ${name}: token }))`);
    await expect(start(true)).rejects.toMatchObject({ code, message });
    await start(false);
  });
});
