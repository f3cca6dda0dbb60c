// Hocuspocus with documents as sessions and "stateless" messages as messages.
import process from "node:process";
import { picoToken } from "../settings.mjs";
import { respond } from "./answer.mjs";

// Belongs to `bench/package.json`, so the package may be missing.
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
