import type { Command } from "./command.ts";

export type { CommandContext, Command } from "./command.ts";

/** What `client` and `send` share. */
const linkOptions = {
  url: { type: "string" },
  "token-file": { type: "string" },
  session: { type: "string" },
  timeout: { type: "string" },
  silence: { type: "string" },
} as const;

/** Name -> command. A first word with a dot or a slash is the path of a configuration file. */
export const commands: Readonly<Record<string, Command>> = {
  open: {
    usage: [
      ["open [-print]", "opens the dashboard with a fresh one-time link, or prints the link"],
    ],
    options: { print: { type: "boolean" } },
    load: async () => (await import("./open.ts")).open,
  },
  token: {
    usage: [
      [
        "token show [launcher|pico]",
        "prints a token (default: launcher; a channel of a plugin: its name)",
      ],
      ["token source [launcher|pico]", "says where tokens come from, and which places disagree"],
      ["token set [launcher|pico]", "reads a token from standard input and stores it"],
      [
        "token rotate [launcher|pico]",
        "makes a new token, stores and prints it; -grace S for pico",
      ],
    ],
    options: { grace: { type: "string" } },
    load: async () => (await import("./token.ts")).token,
  },
  sessions: {
    usage: [
      ["sessions list", "signed-in browsers"],
      ["sessions revoke ID", "signs one of them out"],
    ],
    load: async () => (await import("./sessions.ts")).sessions,
  },
  unblock: {
    usage: [["unblock [IP]", "forgets wrong tokens of an address, or of all"]],
    load: async () => (await import("./unblock.ts")).unblock,
  },
  status: {
    usage: [["status", "what the running launcher does"]],
    load: async () => (await import("./status.ts")).status,
  },
  client: {
    usage: [
      [
        "client",
        "talks to this launcher's channel, or to another one; -json: a Pico message per line, for programs",
      ],
      ["", "-url U, -token-file F, -session S, -timeout SECONDS (without a reply; 60, 0 = never)"],
      ["", "-silence SECONDS (then a reply without a marked end counts as complete; 30)"],
    ],
    options: linkOptions,
    load: async () => (await import("./client.ts")).client,
  },
  send: {
    usage: [
      [
        "send TEXT",
        "sends one message, or standard input (-), prints the answer; options as for client",
      ],
    ],
    options: linkOptions,
    load: async () => (await import("./send.ts")).send,
  },
  doctor: {
    usage: [["doctor", "looks for what is wrong and says what mends it"]],
    load: async () => (await import("./doctor.ts")).doctor,
  },
};
