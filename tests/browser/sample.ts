// Sample status responses.
import type { FiguresView } from "../../plugins/dashboard/shared/figure-views.ts";
import type { StatusView } from "../../plugins/dashboard/shared/views.ts";

const now = Date.UTC(2026, 3, 14, 9, 30);
const minute = 60_000;

/** Status of a running launcher. */
export const running: StatusView = {
  state: "running",
  version: "0.1.0",
  startedAt: now - 3 * 24 * 60 * minute - 255 * minute,
  now,
  addresses: ["http://127.0.0.1:18800", "http://192.168.178.24:18800"],
  tokens: [
    { name: "launcher", source: "config", managedByEnv: false },
    { name: "pico", source: "env", managedByEnv: true },
  ],
  channel: {
    enabled: true,
    url: "ws://127.0.0.1:18800/pico",
    connections: 3,
    maxConnections: 100,
    messagesIn: 1284,
    messagesOut: 5731,
    perMinute: [4, 9, 7, 0, 12, 31, 22, 18, 26, 11],
    refusals: [
      {
        at: now - 4000,
        times: 12,
        address: "192.168.178.40",
        via: "header",
        code: "token_mismatch",
      },
      {
        at: now - 9000,
        times: 1,
        address: "2001:db8:85a3::8a2e:370:7335",
        via: "query",
        code: "rate_limited",
        until: now + 40_000,
      },
      {
        at: now - 20 * minute,
        times: 3,
        address: "127.0.0.1",
        via: "none",
        code: "origin_not_allowed",
        origin: "https://a-rather-long-name-of-an-app.example.org:8443",
      },
    ],
    etag: '"a1"',
  },
  signIns: [
    { at: now - 2000, address: "127.0.0.1", via: "form" },
    { at: now - 40 * minute, address: "192.168.178.31", via: "link" },
    { at: now - 26 * 60 * minute, address: "2001:db8:85a3::8a2e:370:7334", via: "query" },
  ],
  refusals: [
    {
      at: now - 7 * minute,
      times: 4,
      address: "203.0.113.9",
      via: "bearer",
      code: "invalid_token",
    },
  ],
  warnings: [],
};

/** Status with warnings, with the channel off. */
export const fresh: StatusView = {
  ...running,
  startedAt: now - 42_000,
  channel: {
    ...running.channel!,
    enabled: false,
    connections: 0,
    messagesIn: 0,
    messagesOut: 0,
    perMinute: Array<number>(10).fill(0),
    refusals: [],
  },
  tokens: [
    { name: "launcher", source: "random", managedByEnv: false },
    { name: "pico", source: "none", managedByEnv: false },
  ],
  refusals: [],
  signIns: [{ at: now - 2000, address: "127.0.0.1", via: "setup" }],
  warnings: [
    {
      id: "public_without_tls",
      text: "The dashboard can be reached from the network, but its connection is not encrypted.",
      fix: '"public": false in launcher-config.json, or "tls": { "cert": "…", "key": "…" }',
    },
  ],
};

/** Status of a launcher that was just installed. */
export const firstVisit: StatusView = {
  ...fresh,
  warnings: [],
  echo: true,
  firstSteps: { run: "npx doorward run -port 8080 --", greeted: false, device: false },
};

/** State of a program that has crashed a few times. */
export const program: NonNullable<StatusView["program"]> = {
  state: "running",
  command: "/usr/bin/python3 agent.py --model a-rather-long-name-of-a-model-2026-11",
  pid: 48_213,
  since: now - 4 * minute,
  restarts: 3,
  restartsByOwner: 0,
  invalidLines: 0,
  lastEnd: "exit code 1",
  inWork: 2,
  queued: 1,
  answered: 1280,
  failed: 4,
  stopped: 0,
  dropped: 0,
  knowsStop: true,
  stopTimeouts: 0,
  stderr: [
    { at: now - 5 * minute, text: "loading the model" },
    ...Array.from({ length: 8 }, (_, at) => ({
      at: now - 4 * minute,
      text: `  File "agent.py", line ${at * 7}, in answer`,
    })),
    { at: now - 4 * minute, text: `KeyError: ${"a-word-without-any-space-".repeat(6)}` },
  ],
};

/** A PNG of one pixel. */
export const dotBytes =
  "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==";

/** The same PNG as a file that a page receives. */
export const dotFile = {
  name: "dot.png",
  mimeType: "image/png",
  buffer: Buffer.from(dotBytes, "base64"),
};

/** Values that rise and fall, the same in each run. */
const wave = (count: number, base: number, height: number): number[] =>
  Array.from({ length: count }, (_, at) =>
    Math.round(base + height * (Math.sin(at / 4) + Math.sin(at / 1.7) / 2)),
  );

/** Figures of a busy launcher. */
export const figures: FiguresView = {
  at: now,
  since: now - 26 * 60 * minute,
  hour: {
    in: wave(60, 24, 8),
    out: wave(60, 42, 12),
    rejected: wave(60, 0, 1).map((value) => Math.max(0, value)),
    connections: wave(60, 4, 1),
    answerMs: wave(60, 1800, 300),
  },
  day: { in: wave(96, 260, 90), out: wave(96, 480, 150) },
  mostConnections: 9,
  answers: { count: 1204, medianMs: 1812, p95Ms: 3380 },
};
