// Deletes the conversation of a program that goes on writing about its messages.
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import type { AnyPlugin } from "../../../kernel/index.ts";
import { program, type Program } from "../../../plugins/program/index.ts";
import { send } from "../../support/extension-clients.ts";
import { waitFor } from "../../support/pico-server-harness.ts";
import { createFolder } from "../../support/sqlite-store.ts";
import { durableForms, framesOf, startStore } from "../../support/store-servers.ts";

/** Answers, begins an answer that grows, keeps a message, and writes about all of them later. */
const script = `
  const say = (type, payload) => process.stdout.write(JSON.stringify({ type, payload }) + "\\n");
  const ids = {};
  require("node:readline").createInterface({ input: process.stdin }).on("line", (line) => {
    const { type, id, payload } = JSON.parse(line);
    console.error(type);
    if (type !== "message.send") return;
    const kind = payload.content.split(" ")[1];
    ids[kind] = id;
    if (kind === "done") say("message.create", { request_id: id, message_id: "d", content: "s3cret" });
    if (kind === "grow")
      say("message.create", { request_id: id, message_id: "g", content: "s3cret", final: false });
    if (kind === "grow") say("message.ack", { request_id: id });
    if (kind !== "late") return;
    say("message.update", { message_id: "d", content: "s3cret edit" });
    say("message.append", { message_id: "g", content: " s3cret more" });
    say("message.append", { message_id: "g", content: " s3cret end", final: true });
    for (const other of ["done", "grow", "kept"])
      for (const message_id of [undefined, "late-" + other]) {
        say("message.create", { request_id: ids[other], message_id, content: "s3cret late" });
        say("message.ack", { request_id: ids[other], final: true });
      }
    say("message.create", { request_id: id, content: "over" });
  });`;

describe.each(durableForms)("the deletion of a conversation with a program (%s)", (form) => {
  test("drops everything that the program writes about its messages", async () => {
    const file = join(createFolder(), "agent.cjs");
    writeFileSync(file, script);
    const env = { PATH: process.env["PATH"] ?? "" };
    const command = [process.execPath, file] as const;
    const servers = await startStore(form, () => program({ command, env }) as unknown as AnyPlugin);
    const { home, away } = servers;
    const { program: own } = home.services as unknown as { program: Program };
    const client = await home.join();
    client.send(send("m1", "s3cret done"));
    client.send(send("m2", "s3cret grow"));
    client.send(send("m3", "s3cret kept"));
    client.send(send("m4", "s3cret waits"));
    await framesOf(client, "message.create", 2);
    await waitFor(() => own.status().stderr.length === 3 && own.status().queued === 1);
    const { conversations } = away.services;
    const list = async () => (await conversations.list()).items;
    await expect.poll(list).toHaveLength(1);
    await conversations.forget((await list())[0]!.id);
    await expect
      .poll(() => own.status())
      .toMatchObject({ queued: 0, stopped: 1, knowsStop: false });
    const other = await home.join("other");
    other.send(send("m5", "now late"));
    await framesOf(other, "answer.end");
    expect((await list()).map(({ session }) => session)).toEqual(["other"]);
    expect(own.status().stderr).toHaveLength(4);
    const left = await servers.stop();
    expect(left).toContain("now late");
    expect(left).not.toContain("s3cret");
  });
});
