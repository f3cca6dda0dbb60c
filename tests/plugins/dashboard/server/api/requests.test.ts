import { describe, expect, test } from "vitest";
import type { AnyPlugin, Plugin } from "../../../../../kernel/index.ts";
import { application, channels, type Channels } from "../../../../../plugins/channels/index.ts";
import type { RequestsView } from "../../../../../plugins/dashboard/shared/conversation-views.ts";
import { createSampleChannel } from "../../../../support/sample-channel.ts";
import { signIn, startDashboard } from "../../../../support/dashboard-server.ts";

describe("GET /api/requests", () => {
  test("lists the newest requests first, and selects by session and id", async () => {
    const sample = createSampleChannel();
    const before = [
      channels(),
      sample.plugin as Plugin<{ needs: { channels: Channels } }>,
      application(({ reply }) => reply({ content: "secret" }).then(() => undefined)),
    ] as unknown as AnyPlugin[];
    await using server = await startDashboard({ before });
    const session = await signIn(server);
    const send = (id: string, name: string) =>
      sample.inlet().deliver(sample.message({ id, session: name }));
    await send("1", "ann");
    await send("1", "bob");
    await send("2", "ann");
    const load = async (query: string) =>
      (await (await server.get(`/api/requests${query}`, session)).json()) as RequestsView;
    const read = async (query: string) =>
      (await load(query)).requests.map(({ session: name, id }) => `${name} ${id}`);
    expect(await read("")).toEqual(["ann 2", "bob 1", "ann 1"]);
    expect(await read("?session=ann")).toEqual(["ann 2", "ann 1"]);
    expect(await read("?session=ann&id=1")).toEqual(["ann 1"]);
    expect(JSON.stringify(await load(""))).not.toContain("secret");
    expect((await server.get("/api/requests?id=", session)).status).toBe(400);
    expect((await server.get("/api/requests")).status).toBe(401);
  });
});
