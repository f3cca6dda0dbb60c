import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, test } from "vitest";
import { WebSocket } from "ws";
import { createFaultProxy } from "../../testkit/index.ts";
import { startLauncher } from "../e2e/launcher.ts";

const token = "0123456789abcdef".repeat(4);
const count = 2_000;
const cuts = 20;
const mostInFlight = 64;

interface Frame {
  readonly type: string;
  readonly seq?: number;
  readonly epoch?: string;
  readonly payload?: Readonly<Record<string, unknown>>;
}

test("delivers 2,000 messages each way once across 20 disconnects", async () => {
  const home = await mkdtemp(join(tmpdir(), "doorward-cuts-"));
  try {
    const pico = { enabled: true, message_rate: 0 };
    await writeFile(join(home, "config.json"), JSON.stringify({ channels: { pico } }), {
      mode: 0o600,
    });
    await using launcher = await startLauncher({
      args: ["-console", "-no-browser", "-port", "0"],
      env: {
        SERVICE_HOME: home,
        SERVICE_CHANNELS_PICO_TOKEN: token,
        SERVICE_LAUNCHER_TOKEN: "a-token-of-the-owner",
      },
    });
    await using network = await createFaultProxy({ port: Number(launcher.base.port) });
    const heard: string[] = [];
    const acknowledged = new Set<string>();
    const gaps: Frame[] = [];
    let resumed = 0;
    let cutsMade = 0;
    let made = 0;
    let cursor: { epoch: string; seq: number } | undefined;
    let conn = "";

    const open = () =>
      new Promise<void>((done) => {
        const place = cursor ? `&resume=${cursor.epoch}:${cursor.seq}&conn=${conn}` : "";
        const socket = new WebSocket(
          `ws://127.0.0.1:${network.port}/pico?session_id=cuts&pico_ext=1${place}`,
          {
            headers: { authorization: `Bearer ${token}` },
          },
        );
        const say = (id: number) =>
          socket.send(
            JSON.stringify({ type: "message.send", id: `${id}`, payload: { content: `${id}` } }),
          );
        const sayMore = () => {
          while (
            made < count &&
            made - heard.length < mostInFlight &&
            made - acknowledged.size < mostInFlight
          )
            say(made++);
        };
        const greet = ({ payload }: Frame) => {
          conn = payload!.conn_id as string;
          if (payload!.resumed) resumed += 1;
          cursor ??= { epoch: payload!.epoch as string, seq: 0 };
          for (let id = 0; id < made; id++) if (!acknowledged.has(`${id}`)) say(id);
        };
        socket.on("message", (data: Buffer) => {
          const frame = JSON.parse(data.toString()) as Frame;
          if (frame.type === "hello") greet(frame);
          if (frame.type === "gap") gaps.push(frame);
          if (frame.type === "message.ack") acknowledged.add(frame.payload!.request_id as string);
          // A deletion has the number of the client's own message.
          if (frame.type === "message.create" || frame.type === "message.delete") {
            expect(frame).toMatchObject({ epoch: cursor!.epoch, seq: cursor!.seq + 1 });
            cursor = { epoch: frame.epoch!, seq: frame.seq! };
            if (cursor.seq % 32 === 0)
              socket.send(JSON.stringify({ type: "ack", payload: { seq: cursor.seq } }));
          }
          if (frame.type === "message.create") {
            heard.push(frame.payload!.content as string);
            if (cutsMade < cuts && heard.length > (count / (cuts + 1)) * (cutsMade + 1)) {
              cutsMade += 1;
              network.cut();
            }
          }
          sayMore();
          if (heard.length === count && acknowledged.size === count) socket.close();
        });
        socket.on("error", () => undefined).on("close", () => done());
      });

    while (heard.length < count || acknowledged.size < count) await open();

    expect(cutsMade).toBe(cuts);
    expect(gaps).toEqual([]);
    expect(heard).toEqual(Array.from({ length: count }, (_, n) => `${n}`));
    expect(resumed).toBeGreaterThan(0);
  } finally {
    await rm(home, { recursive: true, force: true });
  }
});
