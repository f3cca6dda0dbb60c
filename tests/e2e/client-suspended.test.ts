// Tests the client after a suspension by the shell.
import { fileURLToPath } from "node:url";
import { describe, expect, test } from "vitest";
import { token } from "../support/pico-client-harness.ts";
import { awayFrom } from "./client.ts";
import { atTerminal, python } from "./terminal.ts";

const program = fileURLToPath(new URL("../../dist/bin/doorward.js", import.meta.url));
const shell = ["/bin/bash", "--norc", "--noprofile", "--noediting", "-i"];
const place = awayFrom();

describe("doorward client", () => {
  test.skipIf(!python)("continues the conversation when fg resumes it", async () => {
    const env = {
      PATH: process.env["PATH"] ?? "",
      HOME: place.folder,
      SERVICE_HOME: place.folder,
      TERM: "xterm",
      LC_ALL: "C",
      PS1: "ready$ ",
      SERVICE_CHANNELS_PICO_CLIENT_URL: place.url,
      SERVICE_CHANNELS_PICO_CLIENT_TOKEN: token,
    };
    const { code, screen } = await atTerminal(
      [
        ["ready$ ", `"${process.execPath}" "${program}" client\r`],
        ["connected", "\u001a"],
        ["Stopped", "fg\r"],
        ["> ", "hello\r"],
        ["you said hello", "\u0004"],
        ["ready$ ", "exit $?\r"],
      ],
      shell,
      env,
    );
    expect([code, screen]).toEqual([0, expect.stringContaining("you said hello")]);
  });
});
