import { describe, expect, test } from "vitest";
import { WebSocket } from "ws";
import { connect } from "../../../lib/pico-link/client.ts";
import { startPicoServer } from "../../support/pico-server-harness.ts";
import { startPicoClient } from "../../support/pico-client-harness.ts";

const own = "schlüssel-für-die-tür-🔑-lang-genug";

describe("createDial", () => {
  test("signs in with a token of any characters", async () => {
    await using testServer = await startPicoServer({ token: own });
    await using here = await startPicoClient(`ws://127.0.0.1:${testServer.port}/pico`, {
      token: own,
    });
    expect(await here.until(here.changes, ({ from }) => from === "connecting")).toMatchObject({
      to: "open",
    });
  });

  test.each([
    ["in a header", true],
    ["as a page has to send it, in a subprotocol", false],
  ])("and for programs that use the library, %s", async (_, headers) => {
    await using testServer = await startPicoServer({ token: own });
    const moved = new Promise<string>((told) => {
      const client = connect({
        url: `ws://127.0.0.1:${testServer.port}/pico`,
        token: own,
        WebSocket,
        headers,
        onState: ({ from, to }) => {
          if (from !== "connecting") return;
          told(to);
          queueMicrotask(() => client.close());
        },
      });
    });
    expect(await moved).toBe("open");
  });
});
