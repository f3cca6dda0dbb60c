// Files inside requests: reads them, and stores them as files of the session.
import { createHash } from "node:crypto";
import { codeOf } from "../../kernel/index.ts";
import type { Address, Media } from "../channels/index.ts";
import type { MediaFiles, StoredFile } from "../media/index.ts";
import { decodeBase64 } from "./media.ts";
import type { Protocol } from "./protocol.ts";
import { accessEnded, refuse, type Refusal } from "./errors.ts";
import type { Turn } from "./turn.ts";

/** Name of the session with the files that a client has uploaded before a message names them. */
export const uploadsName = "uploaded-files";

const dataUrl = /^data:([\w.+-]{1,64}\/[\w.+-]{1,128})?(?:;[\w.+-]{1,64}=[^;,]{0,128})?;base64,/i;
const defaultType = "application/octet-stream";

interface GivenFile {
  /** A `data:` URL, or base64 alone. */
  readonly data: string;
  /** MIME type, if the data does not name it. */
  readonly type?: string | undefined;
  readonly filename?: string | undefined;
}

/**
 * Decodes a file inside a request.
 *
 * @param param - The field with the data.
 * @throws Refusal if it is not base64.
 */
export function readFile({ data, type, filename }: GivenFile, param: string): Media {
  const [prefix = "", named] = dataUrl.exec(data.slice(0, 512)) ?? [];
  const text = data.slice(prefix.length);
  const bytes = decodeBase64(text);
  if (!bytes) {
    const message = `${param} must be a data: URL in base64 with the content of a file.`;
    throw refuse("invalid_file", message, { param });
  }
  return {
    type: (named ?? type ?? defaultType).toLowerCase().slice(0, 256),
    bytes,
    ...(filename !== undefined && { filename }),
  };
}

/** Images inside messages stay as they are: programs and histories know them. */
const isInline = ({ id, bytes, type }: Media): boolean =>
  id === undefined && (bytes === undefined || type.startsWith("image/"));

export const unknownFile = (): Refusal =>
  refuse("unknown_media", "There is no file with this id. Upload it again.");

const noImage = (): Refusal =>
  refuse("invalid_file", "The file of input_image has another type. Send it as input_file.");

/** Codes of the media service, for clients of protocols. */
const codes: Readonly<Record<string, string>> = {
  file_too_large: "file_too_large",
  media_full: "media_full",
  disk_full: "media_full",
  file_rejected: "invalid_file",
  form_invalid: "invalid_file",
  upload_invalid: "invalid_file",
  upload_slow: "body_timeout",
  uploads_busy: "rate_limited",
  downloads_busy: "rate_limited",
};

/** Converts an error of the media service. */
export function toFileRefusal({ log }: Pick<Protocol, "log">, error: unknown): unknown {
  const given = codeOf(error);
  if (given === "upload_unauthorized") return accessEnded();
  if (given === "unknown_media") return unknownFile();
  if (given === "media_unavailable") {
    log.error({ err: error }, "Files cannot be stored or read");
    const message = "Files cannot be stored or read now. Try again shortly.";
    return refuse("store_unavailable", message, { headers: { "Retry-After": "5" } });
  }
  const code = codes[given];
  if (code === undefined) return error;
  const headers = code === "rate_limited" ? { "Retry-After": "1" } : {};
  return refuse(code, (error as Error).message, { headers });
}

const toMedia = ({ id, contentType: type, size, sha256, filename }: StoredFile): Media => ({
  type,
  id,
  size,
  sha256,
  filename,
  url: `/pico/media/${id}`,
});

interface FileOwner {
  /** The session of the message. */
  readonly session: string;
  /** `Sender.id` of the client. */
  readonly sender: string;
  /** Returns the session of the files that the client has uploaded. */
  readonly uploads: () => Promise<string>;
}

/** Stores the files of one message. */
class TurnFiles {
  private readonly media: MediaFiles;
  private readonly owner: FileOwner;
  private readonly address: Address;
  private known: Promise<readonly StoredFile[]> | undefined;

  constructor(media: MediaFiles, owner: FileOwner) {
    this.media = media;
    this.owner = owner;
    this.address = { channel: "pico", session: owner.session };
  }

  /** One after the other, so that it stores a repeated file once. */
  async store(list: readonly Media[]): Promise<readonly Media[]> {
    const stored: Media[] = [];
    for (const each of list)
      stored.push(isInline(each) ? each : toMedia(await this.storeOne(each)));
    return stored;
  }

  private storeOne({ id, bytes, type, filename }: Media): Promise<StoredFile> {
    return id === undefined ? this.put(bytes!, type, filename) : this.claim(id, type);
  }

  /** Clients send the same file again with each request of a conversation. */
  private async findSame(sha256: string, filename?: string): Promise<StoredFile | undefined> {
    this.known ??= this.media.list(this.address);
    return (await this.known).find(
      (file) => file.sha256 === sha256 && (filename === undefined || file.filename === filename),
    );
  }

  private async put(
    bytes: Uint8Array,
    contentType: string,
    filename: string | undefined,
  ): Promise<StoredFile> {
    const { media, address, owner } = this;
    const same = await this.findSame(await sha256Of(bytes), filename);
    if (same) return media.use(address, same.id);
    const details = { contentType, filename, sender: owner.sender, size: bytes.byteLength };
    const { id } = await media.put(address, slicesOf(bytes), details);
    const file = await media.use(address, id);
    this.known = Promise.resolve([...(await this.known!), file]);
    return file;
  }

  /** Takes a file of this session, or one that the client has uploaded for any of its sessions. */
  private async claim(id: string, type: string): Promise<StoredFile> {
    const { media, address, owner } = this;
    const file = await media.get(id);
    if (file?.channel !== "pico") throw unknownFile();
    const isHere = file.session === owner.session;
    // A host may give several people the same session.
    const isUpload = !isHere && file.sender === owner.sender;
    if (!isHere && !(isUpload && file.session === (await owner.uploads()))) throw unknownFile();
    if (type === "image" && !file.inline?.startsWith("image/")) throw noImage();
    if (isHere) return media.use(address, id);
    // The upload stays as long as messages name it.
    await media.use(file, id);
    const same = await this.findSame(file.sha256, file.filename);
    const shared = await media.share(address, same?.id ?? id);
    this.known = undefined;
    return shared;
  }
}

const MiB = 1024 * 1024;
const sliceBytes = MiB / 4;

/** Lets the loop serve others. */
const nextTurn = (): Promise<void> => new Promise((resolve) => void setImmediate(resolve));

/** Yields a file in slices, each in a turn of the loop of its own. */
async function* slicesOf(bytes: Uint8Array): AsyncIterable<Uint8Array> {
  for (let at = 0; at < bytes.byteLength; at += sliceBytes) {
    if (at > 0) await nextTurn();
    yield bytes.subarray(at, at + sliceBytes);
  }
}

/** Hashes in slices. */
export async function sha256Of(bytes: Uint8Array): Promise<string> {
  const hash = createHash("sha256");
  for await (const slice of slicesOf(bytes)) hash.update(slice);
  return hash.digest("hex");
}

/** Ends the turn of the loop in which a large request was read. */
export const afterReading = async (bytes: number): Promise<void> => {
  if (bytes > sliceBytes) await nextTurn();
};

const sizeOf = (list: readonly Media[]): number =>
  list.reduce((sum, { bytes }) => sum + (bytes?.byteLength ?? 0), 0);

/** Earlier turns lose what is too large now; the client has the reply to it already. */
function withinLimit(turn: Turn, maxBytes: number, refusal: () => Refusal): Turn {
  const isLarge = ({ bytes }: Media): boolean => (bytes?.byteLength ?? 0) > maxBytes;
  if (turn.media.some(isLarge)) throw refusal();
  const previous = turn.previous.map(({ media, ...each }) => {
    const left = media?.filter((item) => !isLarge(item)) ?? [];
    return { ...each, ...(left.length > 0 && { media: left }) };
  });
  return { ...turn, previous };
}

function tooLarge({ config, uploadPath }: Protocol): Refusal {
  const other =
    uploadPath === undefined
      ? "Send a smaller one, or raise max_inline_mb."
      : `Upload a larger one with POST ${uploadPath}, and send its id as file_id.`;
  const limit = `A file inside a request may have at most ${config().max_inline_mb} MiB.`;
  return refuse("file_too_large", `${limit} ${other}`);
}

/**
 * Stores the files of a message and of the turns before it, so that the application receives ids.
 *
 * @throws Refusal if a limit is reached, or the client may not use a file.
 */
export async function storeFiles(protocol: Protocol, owner: FileOwner, given: Turn): Promise<Turn> {
  const { media, config } = protocol;
  const turn = withinLimit(given, config().max_inline_mb * MiB, () => tooLarge(protocol));
  await afterReading(sizeOf([turn.media, ...turn.previous.map((each) => each.media ?? [])].flat()));
  const lists = [turn.media, ...turn.previous.map((each) => each.media ?? [])];
  if (!media || lists.flat().every(isInline)) return turn;
  const files = new TurnFiles(media, owner);
  try {
    const previous = [];
    for (const each of turn.previous)
      previous.push(each.media ? { ...each, media: await files.store(each.media) } : each);
    return { ...turn, previous, media: await files.store(turn.media) };
  } catch (error) {
    throw toFileRefusal(protocol, error);
  }
}
