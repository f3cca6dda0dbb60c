// Hocuspocus with documents as sessions; what is said travels in its "stateless" messages.
import process from "node:process";
import { picoToken } from "../settings.mjs";
import { respond } from "./answer.mjs";

// A package of `bench/package.json`, which not everybody installs.
const { Server } = await import(/** @type {string} */ ("@hocuspocus/server"));
const server = new Server(
  {
    quiet: true,
    stopOnSignals: false,
    async onAuthenticate(/** @type {any} */ { token }) {
      if (token !== picoToken) throw new Error("not allowed");
    },
    async onStateless(/** @type {any} */ { document, payload }) {
      respond(JSON.parse(payload), document.name, (answer) =>
        document.broadcastStateless(JSON.stringify(answer)),
      );
    },
  },
  { perMessageDeflate: false },
);
await server.listen(Number(process.argv[2]));
