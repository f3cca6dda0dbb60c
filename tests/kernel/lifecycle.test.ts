import { expect, test } from "vitest";
import { createStoppedClock } from "../../kernel/testing.ts";
import type { LauncherCommand, LauncherState } from "../../kernel/index.ts";
import { createLauncher } from "../support/sample-plugins.ts";

const commands: readonly LauncherCommand[] = [
  "accept-credentials",
  "begin-setup",
  "finish-setup",
  "begin-rotation",
  "finish-rotation",
  "abandon-rotation",
];
const paths: Readonly<Record<LauncherState, readonly LauncherCommand[]>> = {
  unconfigured: [],
  setup: ["begin-setup"],
  running: ["accept-credentials"],
  rotating: ["accept-credentials", "begin-rotation"],
};
const accepted: Readonly<Record<LauncherState, Partial<Record<LauncherCommand, LauncherState>>>> = {
  unconfigured: { "accept-credentials": "running", "begin-setup": "setup" },
  setup: { "finish-setup": "running" },
  running: { "begin-rotation": "rotating" },
  rotating: { "finish-rotation": "running", "abandon-rotation": "running" },
};

for (const state of Object.keys(paths) as LauncherState[]) {
  for (const command of commands) {
    const target = accepted[state][command];
    test(`${target ? `enters ${target}` : "ignores the command"}: ${command} in ${state}`, () => {
      const launcher = createLauncher(createStoppedClock());
      for (const step of paths[state]) launcher.send(step);
      expect(launcher.state()).toBe(state);
      expect(launcher.send(command)).toBe(target !== undefined);
      expect(launcher.state()).toBe(target ?? state);
    });
  }
}

test("reports every transition once, and no ignored command", () => {
  const launcher = createLauncher(createStoppedClock());
  const changes: string[] = [];
  launcher.onChange((from, to) => void changes.push(`${from}>${to}`));
  launcher.send("finish-rotation");
  launcher.send("begin-setup");
  launcher.send("begin-setup");
  launcher.send("finish-setup");
  expect(changes).toEqual(["unconfigured>setup", "setup>running"]);
});

test("keeps a rotation until its driver ends it", () => {
  const clock = createStoppedClock();
  const launcher = createLauncher(clock);
  launcher.send("accept-credentials");
  launcher.send("begin-rotation");
  clock.increment(24 * 3_600_000);
  expect(launcher.state()).toBe("rotating");
});
