// Stops a session with waiting messages, in every way and over every form of the store.
import { join } from "node:path";
import { writeFileSync } from "node:fs";
import { describe, expect, test } from "vitest";
import type { AnyPlugin } from "../../../kernel/index.ts";
import { program, type Program } from "../../../plugins/program/index.ts";
import { send } from "../../support/extension-clients.ts";
import { waitFor } from "../../support/pico-server-harness.ts";
import { createFolder } from "../../support/sqlite-store.ts";
import { framesOf, startStore, storeForms, type StoreNode } from "../../support/store-servers.ts";

/** Reports each line on stderr, and never answers. */
const script = (ready: string): string => `${ready}
  require("node:readline").createInterface({ input: process.stdin }).on("line", (line) => {
    const { type, payload } = JSON.parse(line);
    console.error(type + " " + (payload.content ?? ""));
  });`;
const knowsStop = `console.log('{"type":"ready","payload":{"can":["stop"]}}');`;

type Results = readonly (readonly [id: string, status: string])[];

/** Stops all messages of the session, as one kind of person does. */
const ways: Readonly<Record<string, (node: StoreNode) => Promise<Results>>> = {
  async WebSocket(node) {
    const client = await node.join();
    client.send({ type: "message.stop", payload: {} });
    const [ack] = await framesOf(client, "stop.ack");
    const stopped = ack!.payload!["stopped"] as { request_id: string; status: string }[];
    client.ws.close();
    return stopped.map(({ request_id, status }) => [request_id, status]);
  },
  async HTTP(node) {
    const { stopped } = await node.post("/pico/stop", { session_id: "s" });
    return (stopped as { request_id: string; status: string }[]).map(({ request_id, status }) => [
      request_id,
      status,
    ]);
  },
  async host({ services }) {
    const stopped = await services.channels.stop({ channel: "pico", session: "s" });
    return stopped.map(({ id, status }) => [id, status]);
  },
};

async function start(form: Parameters<typeof startStore>[0], ready: string) {
  const file = join(createFolder(), "agent.cjs");
  writeFileSync(file, script(ready));
  const env = { PATH: process.env["PATH"] ?? "" };
  const servers = await startStore(
    form,
    () =>
      program({ command: [process.execPath, file], env, stopGraceS: 1 }) as unknown as AnyPlugin,
  );
  const { program: own } = servers.home.services as unknown as { program: Program };
  const received = (): readonly string[] => own.status().stderr.map(({ text }) => text);
  const client = await servers.home.join();
  return { ...servers, own, received, client };
}

describe.each(storeForms)("a stop of all messages of a session (%s)", (form) => {
  test.each(Object.keys(ways))("hands no waiting message to the program (%s)", async (way) => {
    const ready = way === "host" ? knowsStop : "";
    const { away, own, received, client } = await start(form, ready);
    for (const id of ["m1", "m2", "m3"]) client.send(send(id));
    await waitFor(() => received().includes("message.send m1"));
    await expect.poll(() => own.status().queued).toBe(2);
    await expect.poll(() => own.status().knowsStop).toBe(ready !== "");
    const stopped = await ways[way]!(away);
    expect(stopped.toSorted()).toEqual([
      ["m1", "stopping"],
      ["m2", "removed"],
      ["m3", "removed"],
    ]);
    const errors = await framesOf(client, "error", 3);
    expect(errors.map(({ payload }) => payload?.["code"])).toEqual(Array(3).fill("stopped"));
    client.send(send("m4"));
    await waitFor(() => received().includes("message.send m4"));
    const notice = ready === "" ? [] : ["message.stop"];
    expect(received()).toEqual(["message.send m1", ...notice, "message.send m4"]);
  });

  test("hands over no message that was sent immediately before it", async () => {
    const { home, received, client } = await start(form, "");
    client.send(send("m1"));
    client.send(send("m2"));
    client.send({ type: "message.stop", payload: {} });
    const [ack] = await framesOf(client, "stop.ack");
    const stopped = ack!.payload!["stopped"] as { request_id: string; status: string }[];
    expect(stopped.map(({ request_id }) => request_id).toSorted()).toEqual(["m1", "m2"]);
    expect(stopped.find(({ request_id }) => request_id === "m2")!.status).toBe("removed");
    await framesOf(client, "error", 2);
    const other = await home.join("other");
    other.send(send("m3"));
    await waitFor(() => received().includes("message.send m3"));
    expect(received()).not.toContain("message.send m2");
  });
});
