import { get, type IncomingMessage } from "node:http";
import { token, waitFor, type Frame, type PicoTestServer } from "./pico-server-harness.ts";

interface Event {
  readonly id?: string;
  readonly data: Frame;
}

/** Opens `GET /pico/events` and parses its events, as far as this server uses the format. */
export async function openEventStream(
  testServer: Pick<PicoTestServer, "port">,
  session: string,
  headers: Record<string, string> = {},
) {
  const all = { authorization: `Bearer ${token}`, ...headers };
  const r = await new Promise<IncomingMessage>((resolve, reject) => {
    get(
      {
        port: testServer.port,
        host: "127.0.0.1",
        path: `/pico/events?session_id=${session}`,
        headers: all,
      },
      resolve,
    ).on("error", reject);
  });
  const events: Event[] = [];
  let last = "";
  let comments = 0;
  let text = "";
  r.setEncoding("utf8").on("data", (chunk: string) => {
    const blocks = (text += chunk).split("\n\n");
    text = blocks.pop()!;
    for (const block of blocks) {
      const fields = Object.fromEntries(
        block.split("\n").map((line) => line.split(/: ?(.*)/s).slice(0, 2)),
      );
      if (fields["id"] !== undefined) last = fields["id"] as string;
      if (block === ":") comments += 1;
      if (fields["data"] !== undefined) {
        const id = fields["id"] as string | undefined;
        events.push({
          ...(id !== undefined && { id }),
          data: JSON.parse(fields["data"] as string) as Frame,
        });
      }
    }
  });
  const ended = new Promise<void>((resolve) => void r.on("close", resolve));
  r.on("error", () => undefined);
  return {
    r,
    events,
    ended,
    last: () => last,
    comments: () => comments,
    next: () => waitFor(() => events.shift()),
  };
}
