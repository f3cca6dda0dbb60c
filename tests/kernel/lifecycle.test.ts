import { expect, test } from "vitest";
import { SimulatedClock } from "xstate";
import { createLifecycle } from "../../kernel/lifecycle.ts";
import type { LauncherCommand, LauncherState } from "../../kernel/index.ts";

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
    test(`in ${state}, ${command} ${target ? `leads to ${target}` : "is ignored"}`, () => {
      const lifecycle = createLifecycle(new SimulatedClock());
      for (const step of paths[state]) lifecycle.send(step);
      expect(lifecycle.state()).toBe(state);
      expect(lifecycle.send(command)).toBe(target !== undefined);
      expect(lifecycle.state()).toBe(target ?? state);
    });
  }
}

test("every transition is reported once with where it came from, and ignored commands are not", () => {
  const lifecycle = createLifecycle(new SimulatedClock());
  const changes: string[] = [];
  lifecycle.onChange((from, to) => void changes.push(`${from}>${to}`));
  lifecycle.send("finish-rotation");
  lifecycle.send("begin-setup");
  lifecycle.send("begin-setup");
  lifecycle.send("finish-setup");
  lifecycle.stop();
  lifecycle.send("begin-rotation");
  expect(changes).toEqual(["unconfigured>setup", "setup>running"]);
});

test("no time ends a rotation: only its driver does", () => {
  const clock = new SimulatedClock();
  const lifecycle = createLifecycle(clock);
  lifecycle.send("accept-credentials");
  lifecycle.send("begin-rotation");
  clock.increment(24 * 3_600_000);
  expect(lifecycle.state()).toBe("rotating");
});
