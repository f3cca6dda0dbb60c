// The control socket, which the commands use.
import { describe, test } from "vitest";
import { expectGolden } from "./golden.ts";
import { open, recordOf, send } from "./pico.ts";
import { startService, tokens } from "./service.ts";

describe("the control socket", () => {
  test("sends the responses of the golden file", async () => {
    await using service = await startService();
    const record = recordOf(service, { path: service.socket });
    const get = (path: string) => record.ask(`GET /local/${path}`);
    const post = (path: string, body: object = {}) => record.ask(`POST /local/${path}`, { body });
    const remove = (path: string) => record.ask(`DELETE /local/${path}`);
    const peer = await open(recordOf(service), "A", "/pico?session_id=s&pico_ext=1");
    peer.send(send("1", "Good morning"));
    await peer.until("message.ack");

    record.title("status and tokens");
    await get("status");
    await get("tokens");
    await post("token/show", { name: "pico" });
    await post("token/show", { name: "unknown" });
    await post("token/show");
    await post("token/replace", {
      name: "openai",
      token: "openai-token-2-0123456789-0123456789-0123456",
    });
    await post("token/replace", { name: "openai", token: "short" });

    record.title("answers");
    await post("stop");
    const taken = service.take();
    peer.send(send("2", "long"));
    const message = await taken;
    await post("stop");
    message.finish();
    await peer.until('"2"');
    await post("stop", { session: "s" });
    await post("stop", { session: "" });

    record.title("conversations");
    const list = (await get("conversations?limit=5")).at(-1)!;
    const [{ id }] = (JSON.parse(list) as { conversations: [{ id: string }] }).conversations;
    await get("search?q=morning");
    await get(`conversations/${id}?limit=1`);
    await get(`conversations/${id}/export`);
    await get(`conversations/${id}/export?format=markdown`);
    await get("conversations/unknown");
    await get("conversations?limit=x");
    await peer.cut();
    await service.untilIdle();
    await remove(`conversations/${id}`);

    record.title("sign-ins and the doctor");
    await post("links");
    await service.api("POST", "/login", { token: tokens.launcher });
    const sessions = (await get("sessions")).at(-1)!;
    const [session] = (JSON.parse(sessions) as { sessions: { id: string }[] }).sessions;
    await remove(`sessions/${session!.id}`);
    await remove(`sessions/${session!.id}`);
    await post("unblock");
    await post("unblock", { address: "127.0.0.1" });

    await post("doctor");

    record.title("rejected requests");
    await get("unknown");
    await record.ask("POST /local/unblock", { body: "{" });
    await record.ask("GET /api/status");
    await expectGolden("control-socket.txt", record.text);
  });
});
