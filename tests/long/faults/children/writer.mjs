// Repeats the writes of a launcher until it is killed: settings, the channel token, the launcher
// token, the log with rotation, the name of a conversation. Prints the begin and the end of each
// write. The argument is a JSON object.
import { writeSync } from "node:fs";
import { join } from "node:path";

const { home, dist, logModule } = JSON.parse(process.argv[2]);
const { editJson, updateFile } = await import(`${dist}/lib/files/index.js`);
const { files } = await import(`${dist}/plugins/token-store/index.js`);
const { openSession } = await import(`${dist}/plugins/pico-client/session-store.js`);
const { createLog } = await import(logModule);

const say = (word, n) => writeSync(1, `${word} ${n}\n`);
const silent = { debug() {}, info() {}, warn() {}, error() {} };
const tokens = files({ home, env: {} });
tokens.open?.(silent);
const file = join(home, "logs", "launcher.log");
const { log } = await createLog({ file, stderr: process.stderr, maxBytes: 4_000, keep: 3 });
const settings = join(home, "config.json");
const tokenOf = (name, n) => `${name}-${String(n).padStart(8, "0")}-${"x".repeat(24)}`;

const writes = {
  settings: (n) =>
    updateFile(settings, (text) =>
      editJson(text, [{ path: ["channels", "pico", "max_connections"], value: n }], settings),
    ),
  pico: (n) => tokens.write("pico", tokenOf("pico", n), { setupPending: false }),
  launcher: (n) => tokens.write("launcher", tokenOf("launcher", n), { setupPending: false }),
  log: async (n) => {
    for (let line = 0; line < 10; line++) log.info({ n, line, text: "x".repeat(80) });
  },
  conversation: async (n) => {
    const newId = () => n.toString(16).padStart(32, "0");
    const given = {
      home,
      profile: String(n % 1_000),
      url: "ws://127.0.0.1:1/pico",
      newId,
      log: silent,
    };
    const { release } = await openSession(given);
    await release();
  },
};
let n = Date.now();
for (;;) {
  for (const [name, write] of Object.entries(writes)) {
    n += 1;
    say(`begun ${name}`, n);
    await write(n);
    say(`done ${name}`, n);
  }
}
