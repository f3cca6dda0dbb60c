import { once } from "node:events";
import type { Server } from "node:http";
import type { AddressInfo } from "node:net";
import { createKernel, type Log } from "../../kernel/index.ts";
import { createCapturedLog } from "../../kernel/testing.ts";
import { application, channels } from "../../plugins/channels/index.ts";
import { http, type HttpOptions } from "../../plugins/http/index.ts";
import { picoServer } from "../../plugins/pico-server/index.ts";
import { memory, tokenStore, type TokenBackend } from "../../plugins/token-store/index.ts";

export const token = "correct-horse-battery-staple";
export const config = { "channels.pico": { enabled: true } };

/** The channel and an application that replies, as most hosts use them. */
export function embedded(
  own: HttpOptions,
  form: TokenBackend = memory({ pico: token }),
  log: Log = createCapturedLog().log,
) {
  return createKernel(
    [
      tokenStore(form),
      channels(),
      http(own),
      picoServer(),
      application(
        async ({ content, reply }) => void (await reply({ content: `you said ${content}` })),
      ),
    ],
    { config, log },
  );
}

export async function listening(server: Server): Promise<number> {
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  return (server.address() as AddressInfo).port;
}
