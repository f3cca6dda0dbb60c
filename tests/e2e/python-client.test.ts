// Tests the channel with the Python websockets library.
import { spawn } from "node:child_process";
import { describe, expect, it } from "vitest";
import { findTool } from "../support/tools.ts";
import { enablePico, finishSetup, startLauncher } from "./launcher.ts";

const python = findTool("python-websockets");

/** Sends one message by each method and prints the replies. */
const program = `
import asyncio, json, sys, websockets
url, token = sys.argv[1], sys.stdin.readline().strip()

async def ask(content, **how):
    async with websockets.connect(url + "?session_id=" + content, **how) as pico:
        await pico.send(json.dumps({"type": "message.send", "payload": {"content": content}}))
        while True:
            frame = json.loads(await asyncio.wait_for(pico.recv(), 10))
            if frame["type"] == "message.create":
                return frame["payload"]["content"]

async def main():
    header = {"Authorization": "Bearer " + token}
    try:
        print(await ask("by-header", extra_headers=header))
    except TypeError:
        print(await ask("by-header", additional_headers=header))
    print(await ask("by-subprotocol", subprotocols=["token." + token]))
    try:
        await ask("refused", subprotocols=["token.wrong"])
    except Exception as error:
        print(getattr(error, "status_code", None) or error.response.status_code)

asyncio.run(main())
`;

describe("Python websockets client", () => {
  it.skipIf(!python)("connects by header and subprotocol and receives 401 otherwise", async () => {
    await using launcher = await startLauncher();
    const token = await enablePico(launcher, await finishSetup(launcher));
    const child = spawn(python!, ["-c", program, `ws://${launcher.base.host}/pico`], {
      stdio: ["pipe", "pipe", "inherit"],
    });
    child.stdin.end(`${token}\n`);
    let printed = "";
    child.stdout.setEncoding("utf8").on("data", (text: string) => {
      printed += text;
    });
    await new Promise((done) => child.once("close", done));
    expect(printed.trim().split("\n")).toEqual(["by-header", "by-subprotocol", "401"]);
  });
});
