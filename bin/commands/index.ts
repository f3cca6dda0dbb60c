// Table of all commands. Their code is imported when they run.
import type { Command } from "./command.ts";

export type { CommandContext, Command } from "./command.ts";

/** Options of `client` and `send`. */
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
      ["open", "Open the dashboard with a one-time sign-in link"],
      ["  -print", "Print the link instead"],
    ],
    options: { print: { type: "boolean" } },
    load: async () => (await import("./launcher.ts")).open,
  },
  token: {
    usage: [
      ["token show [NAME]", "Print a token; NAME is launcher (default), pico or another channel"],
      ["token source [NAME]", "Show where tokens come from, and places with a different value"],
      ["token set [NAME]", "Read a token from standard input and store it"],
      ["token rotate [NAME]", "Generate, store and print a new token"],
      [
        "  -grace SECONDS",
        "With pico: spread the closing of old connections over this time (default 0)",
      ],
      ["  -force", "With set and rotate: accept a name that resembles another one"],
    ],
    options: { grace: { type: "string" }, force: { type: "boolean" } },
    load: async () => (await import("./token.ts")).token,
  },
  key: {
    usage: [
      ["key create NAME", "Create a key for a device or script, and print it once"],
      ["  -can RIGHTS", "Rights: read, write, answer, stop (default read,write)"],
      ["  -sessions NAMES", "own (default), all, or names of sessions: a,b"],
      ["  -protocols NAMES", "keys, openai, ai_sdk, ag_ui (default all of them)"],
      ["  -expires TIME", "With create: the end of the key, such as 90d or 12h (default never)"],
      ["key list", "List the keys in use; -all also lists those that were revoked"],
      ["key rotate NAME", "Replace the secret of a key, and print the new one once"],
      ["  -grace TIME", "With rotate: how long the old secret still counts (default 0)"],
      ["  -out FILE", "With create and rotate: write the secret to a new file instead"],
      ["key revoke NAME", "End a key, and close its connections on all nodes"],
    ],
    options: {
      can: { type: "string" },
      sessions: { type: "string" },
      protocols: { type: "string" },
      expires: { type: "string" },
      grace: { type: "string" },
      out: { type: "string" },
      all: { type: "boolean" },
    },
    load: async () => (await import("./key.ts")).key,
  },
  sessions: {
    usage: [
      ["sessions list", "List signed-in browsers"],
      ["sessions revoke ID", "Sign out one of them"],
    ],
    load: async () => (await import("./launcher.ts")).sessions,
  },
  conversations: {
    usage: [
      ["conversations list", "List conversations, the latest used first"],
      ["conversations show ID", "Print the latest messages of both sides"],
      ["conversations search WORDS", "Find messages"],
      ["conversations export ID", "Print the whole conversation"],
      ["conversations forget ID", "Delete a conversation with all traces in the store"],
      ["  -format FORMAT", "With export: json (default) or markdown"],
      ["  -before CURSOR", "With list and show: print the page before this one"],
      ["  -limit NUMBER", "With list, show and search: the length of the page"],
    ],
    options: {
      format: { type: "string" },
      before: { type: "string" },
      limit: { type: "string" },
    },
    load: async () => (await import("./conversations.ts")).conversations,
  },
  decisions: {
    usage: [
      ["decisions", "List who has decided what in the last seven days, and what followed"],
      ["  -since TIME", "How far back: 30d, 12h (default 7d)"],
      ["  -limit NUMBER", "At most this many, the latest (default 200)"],
    ],
    options: { since: { type: "string" }, limit: { type: "string" } },
    load: async () => (await import("./decisions.ts")).decisions,
  },
  questions: {
    usage: [["questions", "List the questions of the application that wait for an answer"]],
    load: async () => (await import("./questions.ts")).questions,
  },
  answer: {
    usage: [
      ["answer ID [OPTION]", "Answer a question; several options in one text: a,b"],
      ["  -text TEXT", "Add a reason, or answer with this text"],
      ["  -set NAME=VALUE", "Fill in a field of a form; repeat it for each field"],
      ["  -dismiss", "Close the question without an answer"],
      ["  -session NAME", "Required if the question is from before a restart"],
    ],
    options: {
      text: { type: "string" },
      set: { type: "string", multiple: true },
      dismiss: { type: "boolean" },
      session: { type: "string" },
    },
    load: async () => (await import("./questions.ts")).answer,
  },
  push: {
    usage: [
      ["push", "List the devices that receive notifications"],
      ["push test", "Send a test to all of them"],
    ],
    load: async () => (await import("./push.ts")).push,
  },
  stop: {
    usage: [
      ["stop", "Stop the running answer of a conversation; the launcher continues"],
      ["  -session NAME", "Required if answers of several conversations run"],
    ],
    options: { session: { type: "string" } },
    load: async () => (await import("./launcher.ts")).stop,
  },
  unblock: {
    usage: [["unblock [IP]", "Unblock one address, or all, after too many wrong tokens"]],
    load: async () => (await import("./launcher.ts")).unblock,
  },
  status: {
    usage: [["status", "Show the state of the running launcher"]],
    load: async () => (await import("./launcher.ts")).status,
  },
  client: {
    usage: [
      [
        "client",
        "Talk to this launcher's pico channel, or to another server; /stop stops an answer",
      ],
      ["  -json", "Exchange one Pico message per line, for programs"],
      ["  -url URL", "Connect to this channel: ws://host:port/pico or wss://host/pico"],
      ["  -token-file FILE", "Read the channel token from this file"],
      ["  -session NAME", "Continue this conversation (default: one kept in the home)"],
      [
        "  -timeout SECONDS",
        "Stop waiting after this long without a reply (default 60, 0 = never)",
      ],
      ["  -silence SECONDS", "End a reply without a marked end after this silence (default 30)"],
    ],
    options: linkOptions,
    load: async () => (await import("./client.ts")).client,
  },
  acp: {
    usage: [
      ["acp", "Be an ACP agent on standard input and output, for editors; options of client"],
    ],
    options: linkOptions,
    load: async () => (await import("./acp.ts")).acp,
  },
  send: {
    usage: [
      ["send TEXT", "Send one message (- = standard input), print the reply; options of client"],
    ],
    options: linkOptions,
    load: async () => (await import("./send.ts")).send,
  },
  backup: {
    usage: [
      ["backup FILE", "Write conversations, files and settings into one checked archive"],
      ["  -tokens", "Add tokens and sign-ins, encrypted with a passphrase"],
      ["  -passphrase-file FILE", "With -tokens: read the passphrase from a file"],
    ],
    options: { tokens: { type: "boolean" }, "passphrase-file": { type: "string" } },
    load: async () => (await import("./backup.ts")).backup,
  },
  restore: {
    usage: [
      ["restore FILE", "Restore a backup to this home, which must be empty"],
      ["  -replace", "Move the present home aside first"],
      ["  -no-tokens", "Leave out the tokens and sign-ins of the backup"],
      ["  -passphrase-file FILE", "Read the passphrase of the tokens from a file"],
    ],
    options: {
      replace: { type: "boolean" },
      tokens: { type: "boolean" },
      "passphrase-file": { type: "string" },
    },
    load: async () => (await import("./backup.ts")).restore,
  },
  doctor: {
    usage: [
      ["doctor", "Check the configuration and suggest fixes"],
      ["doctor -public [URL]", "Check the way from outside (default gateway.public_url)"],
      ["  -quick", "Leave out two minutes of silence, and send a small body"],
      ["  -silence SECONDS", "Length of the silence (default 120)"],
      ["  -http-port PORT", "Port of http, if the one of https is not 443"],
      ["  -ca FILE", "Trust the authorities in this file (PEM), too"],
      ["  -token-file FILE", "Send this token, if the proxy asks for one itself"],
    ],
    options: {
      public: { type: "boolean" },
      quick: { type: "boolean" },
      silence: { type: "string" },
      "http-port": { type: "string" },
      ca: { type: "string" },
      "token-file": { type: "string" },
    },
    load: async () => (await import("./doctor.ts")).doctor,
  },
  expose: {
    usage: [
      ["expose caddy NAME", "Show how Caddy would serve the launcher with https as this host"],
      [
        "  -apply",
        "Do it: write the configuration of Caddy and the settings, and check the way in",
      ],
      [
        "  -internal",
        "With certificates of Caddy's own authority, for a network without a public name",
      ],
      ["  -caddyfile FILE", "The configuration of Caddy (default /etc/caddy/Caddyfile)"],
      ["expose tailscale [NAME]", "Print the commands for Tailscale Serve"],
      ["expose cloudflare [NAME]", "Print the commands for a tunnel of Cloudflare"],
    ],
    options: {
      apply: { type: "boolean" },
      internal: { type: "boolean" },
      caddyfile: { type: "string" },
      quick: { type: "boolean" },
      ca: { type: "string" },
    },
    load: async () => (await import("./expose.ts")).expose,
  },
  new: {
    usage: [["new python|node DIR", "Write an agent of ten lines with its test into a new folder"]],
    load: async () => (await import("./new.ts")).create,
  },
  service: {
    usage: [
      ["service install", "Run the launcher as a service of this user, now and at each sign-in"],
      ["service uninstall", "Stop and remove the service; files of the home stay"],
      ["service status", "Show whether the service is installed and running"],
      ["  -print", "With install and uninstall: print what would be done"],
    ],
    options: { print: { type: "boolean" } },
    load: async () => {
      const { service } = await import("./service.ts");
      return (context) => service(context);
    },
  },
  completion: {
    usage: [["completion bash|zsh|fish", "Print a completion script for this shell"]],
    load: async () => (await import("./completion.ts")).completion,
  },
};
