// Checks the service unit and the container image in docs/deploy.
import { spawnSync } from "node:child_process";
import { existsSync } from "node:fs";
import { describe, expect, test } from "vitest";
import { read } from "./source.ts";

describe("docs/deploy/doorward.service", () => {
  test("turns core dumps off", () => {
    const [, service = ""] = read("docs/deploy/doorward.service").split("[Service]");
    expect(service.split("[Install]")[0]).toMatch(/^LimitCORE=0$/m);
  });
});

describe("docs/deploy/Dockerfile", () => {
  const [, json = "[]"] = /^ENTRYPOINT (.*)$/m.exec(read("docs/deploy/Dockerfile")) ?? [];
  const [command = "", ...words] = JSON.parse(json) as string[];

  test("runs the program without core dumps, with the arguments of the container", () => {
    const script = words[1] ?? "";
    expect([command, words[0], script]).toEqual([
      "/bin/sh",
      "-c",
      expect.stringContaining("exec node dist/bin/doorward.js -no-browser"),
    ]);
    if (!existsSync(command)) return;
    // The same script, with a program that prints the core limit and its arguments.
    const shown = script.replace(/exec .*doorward\.js/, "ulimit -c; exec echo");
    const { stdout } = spawnSync(command, ["-c", shown, ...words.slice(2), "-debug", "a b"]);
    expect(String(stdout)).toBe("0\n-no-browser -debug a b\n");
  });
});
