// Tests how the built client exits.
import { execFileSync } from "node:child_process";
import { once } from "node:events";
import { constants } from "node:fs";
import { open, writeFile, type FileHandle } from "node:fs/promises";
import type { AddressInfo } from "node:net";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { describe, expect, test } from "vitest";
import { WebSocketServer } from "ws";
import { token } from "../support/pico-client-harness.ts";
import { awayFrom, startClient } from "./client.ts";
import { atTerminal, python } from "./terminal.ts";

const program = fileURLToPath(new URL("../../dist/bin/doorward.js", import.meta.url));
const place = awayFrom();
let pipes = 0;

function makePipe(): string {
  const path = join(place.folder, `pipe-${(pipes += 1)}`);
  execFileSync("mkfifo", [path]);
  return path;
}

/** Resolves when a process waits for data in the pipe. */
async function reader(pipe: string): Promise<FileHandle> {
  for (;;) {
    const found = await open(pipe, constants.O_WRONLY | constants.O_NONBLOCK).catch(
      () => undefined,
    );
    if (found) return found;
    await new Promise((done) => setTimeout(done, 20));
  }
}

describe("doorward client", () => {
  test("exits without waiting for replies after the server closes", async () => {
    const server = new WebSocketServer({ port: 0, host: "127.0.0.1" });
    await once(server, "listening");
    server.on("connection", (socket) =>
      socket.on("message", (data: Buffer) => {
        const { id, type } = JSON.parse(data.toString()) as { id: string; type: string };
        if (type !== "message.send") return;
        const taken = { type: "message.ack", payload: { request_id: id, status: "accepted" } };
        socket.send(JSON.stringify(taken), () => socket.close(1000, "normal"));
      }),
    );
    const url = `ws://127.0.0.1:${(server.address() as AddressInfo).port}/pico`;
    await using client = await startClient({ ...place, url }, ["client", "-timeout", "99999"]);
    client.child.stdin.end("hello\n");
    expect((await client.ended).code).toBe(0);
    server.close();
  });

  test("reads the token from a pipe and exits after the reply", async () => {
    const pipe = makePipe();
    const [client] = await Promise.all([
      startClient(place, ["send", "-token-file", pipe, "hello"]),
      writeFile(pipe, token),
    ]);
    client.child.stdin.end();
    expect(await client.ended).toMatchObject({ code: 0, out: "you said hello\n" });
  });

  test("can be interrupted while it waits for its token", async () => {
    const pipe = makePipe();
    await using client = await startClient(place, ["send", "-token-file", pipe, "hello"]);
    const writer = await reader(pipe);
    client.child.kill("SIGINT");
    await client.ended;
    await writer.close();
    expect(client.child.signalCode).toBe("SIGINT");
  });

  test.skipIf(!python)("can be interrupted at a terminal", async () => {
    const env = {
      PATH: process.env["PATH"] ?? "",
      HOME: place.folder,
      SERVICE_HOME: place.folder,
      TERM: "xterm",
      SERVICE_CHANNELS_PICO_CLIENT_URL: place.url,
    };
    const pipe = makePipe();
    const command = [process.execPath, program, "client", "-token-file", pipe];
    const writer = await open(pipe, constants.O_RDWR); // says nothing, and is there whenever the client looks
    const { code, restored } = await atTerminal([["connecting", "\u0003"]], command, env);
    await writer.close();
    expect([code, restored]).toEqual([-2, true]);
  });
});
