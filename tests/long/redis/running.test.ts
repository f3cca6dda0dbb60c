// Kills the node that runs an answer while a client watches it at another node.
import { randomUUID } from "node:crypto";
import { describe, expect, onTestFinished, test, vi } from "vitest";
import { both, send } from "../../support/extension-clients.ts";
import { connectClient, token, type Client } from "../../support/pico-server-harness.ts";
import { hasRedis, startRedis } from "../../support/redis-server.ts";
import { startNode, type NodeProcess } from "./processes.ts";

const { waitFor } = vi;
const join = ({ port }: NodeProcess, more = both): Promise<Client> =>
  connectClient(port, `/pico?session_id=s&pico_ext=1${more}`, { token });

const helloOf = (client: Client) =>
  waitFor(() => {
    const hello = client.frames.find(({ type }) => type === "hello");
    expect(hello).toBeDefined();
    return hello!.payload!;
  });

describe.skipIf(!hasRedis)("an answer of a node that is killed", () => {
  test("ends for the clients of other nodes", async () => {
    await using server = await startRedis();
    const prefix = randomUUID();
    const [owner, other] = [
      await startNode(server.url, prefix, 60_000),
      await startNode(server.url, prefix, 60_000),
    ];
    onTestFinished(() => owner.stop());
    onTestFinished(() => other.stop());
    const writer = await join(owner);
    writer.send(send("m1"));
    await waitFor(() => expect(owner.received).toEqual(["m1"]), 10_000);
    const plain = await join(other, "");
    const reader = await join(other);
    const { running, epoch, seq } = await helloOf(reader);
    expect(running).toMatchObject([{ request_id: "m1" }]);
    owner.child.kill("SIGKILL");
    expect(await reader.closed).toMatchObject({ code: 1012 });
    const resume = `&resume=${String(epoch)}:${String(seq)}`;
    const again = await join(other, `${both}${resume}`);
    expect(await helloOf(again)).toMatchObject({ resumed: true, running: [] });
    plain.send(send("m2"));
    await waitFor(() => expect(other.received).toEqual(["m2"]), 10_000);
  }, 60_000);
});
