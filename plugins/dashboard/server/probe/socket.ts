/** WebSocket of the probe: repeats what it receives, or is silent for a while. @module */
import type { IncomingMessage } from "node:http";
import type { Duplex } from "node:stream";
import { WebSocketServer } from "ws";
import type { Clock } from "../../../../kernel/index.ts";
import { probeHeader, type ProbeRequest } from "./grants.ts";

interface ProbeSocket {
  readonly probe: ProbeRequest;
  readonly clock: Clock;
  readonly silenceOf: (seconds: unknown) => number;
}

const maxPayload = 1_024;

/** `silence:SECONDS` is answered with `done` after that time, everything else with itself. */
export function acceptProbeSocket(
  { probe, clock, silenceOf }: ProbeSocket,
  request: IncomingMessage,
  socket: Duplex,
  head: Buffer,
): void {
  const server = new WebSocketServer({ noServer: true, perMessageDeflate: false, maxPayload });
  server.on("headers", (headers) => headers.push(`${probeHeader}: ${probe.proof}`));
  server.handleUpgrade(request, socket, head, (webSocket) => {
    let timer: unknown;
    const end = (): void => webSocket.terminate();
    probe.ended.addEventListener("abort", end, { once: true });
    webSocket.on("error", end);
    webSocket.on("message", (data) => {
      const text = String(data);
      const [, seconds] = /^silence:(\d+(?:\.\d+)?)$/.exec(text) ?? [];
      if (seconds === undefined) return webSocket.send(text);
      clock.clearTimeout(timer);
      timer = clock.setTimeout(() => webSocket.send("done"), silenceOf(seconds));
    });
    webSocket.on("close", () => {
      clock.clearTimeout(timer);
      probe.ended.removeEventListener("abort", end);
    });
  });
}
