// Serves files of answers to the clients of a protocol, which have no token of the channel.
import type { StoredFile } from "../media/index.ts";
import { toFileRefusal, unknownFile, uploadsName } from "./files.ts";
import type { Protocol } from "./protocol.ts";
import { sessionOf } from "./requests.ts";
import type { Call, Route } from "./server.ts";

/** Whether the client may send messages to the session of the file. */
function mayUseSession({ name, config }: Protocol, call: Call, session: string): boolean {
  const { scope } = call.access;
  if (scope) return scope.resolve(session) === session;
  return config().sessions === "shared" || session.startsWith(`${name}/`);
}

async function mayRead(protocol: Protocol, call: Call, file: StoredFile): Promise<boolean> {
  if (file.channel !== "pico" || !mayUseSession(protocol, call, file.session)) return false;
  // A host may give several people the same session of uploads.
  const uploads = await sessionOf(protocol, call, uploadsName, "file");
  return file.session !== uploads || file.sender === call.access.sender.id;
}

/** A file of another client has the same response as an unknown one. */
async function download(protocol: Protocol, call: Call, id: string): Promise<undefined> {
  const { media, http } = protocol;
  const { request, response, cors: headers } = call;
  try {
    const file = await media?.get(id);
    if (!media || !file || !(await mayRead(protocol, call, file))) throw unknownFile();
    const hold = (bytes: number) => http.holdResponse(response, bytes);
    await media.send(file, request, response, { hold, headers });
  } catch (error) {
    throw toFileRefusal(protocol, error);
  }
}

/** Returns the routes of the address of one file. */
export function downloadRoutes(protocol: Protocol, id: string): readonly Route[] {
  const run = (call: Call): Promise<undefined> => download(protocol, call, id);
  return [
    { method: "GET", run },
    { method: "HEAD", run },
  ];
}
