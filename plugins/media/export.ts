// Adds the content of files to the JSON document of a conversation.
import type { Readable } from "node:stream";
import type { StoredFile } from "./contract.ts";

/** Writes base64 piece by piece: three bytes are four characters, so the rest waits. */
async function* toBase64(content: Readable): AsyncIterable<string> {
  let rest = Buffer.alloc(0);
  for await (const chunk of content) {
    const bytes = Buffer.concat([rest, chunk as Buffer]);
    const whole = bytes.length - (bytes.length % 3);
    yield bytes.toString("base64", 0, whole);
    rest = bytes.subarray(whole);
  }
  yield rest.toString("base64");
}

async function* fileJson(
  { channel: _channel, session: _session, ...file }: StoredFile,
  open: (id: string) => Promise<Readable>,
): AsyncIterable<string> {
  const content = await open(file.id).catch(() => undefined);
  if (!content) return void (yield JSON.stringify({ ...file, missing: true }));
  yield `${JSON.stringify(file).slice(0, -1)},"base64":"`;
  yield* toBase64(content);
  yield '"}';
}

/** @param document - An object in JSON that ends with `}` and white space. */
export async function* exportFiles(
  document: AsyncIterable<string>,
  files: readonly StoredFile[],
  open: (id: string) => Promise<Readable>,
): AsyncIterable<string> {
  let last = "";
  for await (const piece of document) {
    yield last;
    last = piece;
  }
  if (files.length === 0) return void (yield last);
  yield `${last.replace(/\}\s*$/, "")},"files":[`;
  for (const [index, file] of files.entries()) {
    yield index === 0 ? "\n" : ",\n";
    yield* fileJson(file, open);
  }
  yield "\n]}\n";
}
