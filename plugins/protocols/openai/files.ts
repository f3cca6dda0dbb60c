// Serves /v1/files: a client uploads a file, and its messages name the id.
import { codeOf } from "../../../kernel/index.ts";
import type { MediaFiles, StoredFile } from "../../media/index.ts";
import { downloadRoutes, sessionOf } from "../requests.ts";
import { toFileRefusal, unknownFile, uploadsName } from "../files.ts";
import type { Protocol } from "../protocol.ts";
import type { Call, JsonReply, Route } from "../server.ts";

const filePath = /^\/v1\/files\/([^/]{1,128})(\/content)?$/;
/** An upload lives that long after its last use. */
const keepSeconds = 86_400;

/** The purpose that a client names has no effect. */
function toFileObject({ id, size, at, usedAt = at, filename }: StoredFile): object {
  return {
    id,
    object: "file",
    bytes: size,
    created_at: Math.floor(at / 1_000),
    expires_at: Math.floor(usedAt / 1_000) + keepSeconds,
    filename,
    purpose: "user_data",
    status: "processed",
  };
}

/** Returns the session of the uploads of this client. */
const uploadsOf = (protocol: Protocol, call: Call): Promise<string> =>
  sessionOf(protocol, call, uploadsName, "file");

/** @returns Undefined if the client has left. */
async function upload(
  protocol: Protocol,
  media: MediaFiles,
  call: Call,
): Promise<JsonReply | undefined> {
  const { access, request } = call;
  const session = await uploadsOf(protocol, call);
  try {
    const file = await media.receive(request, {
      address: { channel: "pico", session },
      sender: access.sender.id,
      key: protocol.http.peer(request).key,
      isCurrent: () => access.isCurrent?.() !== false && access.ending?.aborted !== true,
      isForm: true,
    });
    return { value: toFileObject(file) };
  } catch (error) {
    if (codeOf(error) === "upload_incomplete") return undefined;
    throw toFileRefusal(protocol, error);
  }
}

/** An upload of another client has the same response as an unknown one. */
async function requireUpload(
  protocol: Protocol,
  media: MediaFiles,
  call: Call,
  id: string,
): Promise<StoredFile> {
  const session = await uploadsOf(protocol, call);
  try {
    const file = await media.get(id);
    const isOwn =
      file?.channel === "pico" && file.session === session && file.sender === call.access.sender.id;
    if (file && isOwn) return file;
  } catch (error) {
    throw toFileRefusal(protocol, error);
  }
  throw unknownFile();
}

/** Returns the routes of a path; undefined for others, and without the plugin `media`. */
export function findFileRoute(
  protocol: Protocol,
  path: string,
): Route | readonly Route[] | undefined {
  const { media } = protocol;
  if (!media) return undefined;
  if (path === "/v1/files")
    return {
      method: "POST",
      rights: ["write"],
      run: (call) => upload(protocol, media, call),
    };
  const [, id, content] = filePath.exec(path) ?? [];
  if (id === undefined) return undefined;
  if (content !== undefined) return downloadRoutes(protocol, id);
  const find = (call: Call): Promise<StoredFile> => requireUpload(protocol, media, call, id);
  return [
    { method: "GET", run: async (call) => ({ value: toFileObject(await find(call)) }) },
    {
      method: "DELETE",
      async run(call) {
        await media.remove(await find(call));
        return { value: { id, object: "file", deleted: true } };
      },
    },
  ];
}
