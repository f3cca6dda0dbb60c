// Reads the one file of a form (multipart/form-data) as it arrives.
import type { IncomingHttpHeaders } from "node:http";
import { Readable } from "node:stream";
import { pipeline } from "node:stream/promises";
import type { Busboy, BusboyFileStream } from "@fastify/busboy";
import type { FileDetails } from "./contract.ts";
import { mediaErrors } from "./errors.ts";
import { cleanFilename } from "./filename.ts";

/** The field with the file. */
const fieldName = "file";
const limits = { files: 1, fields: 16, parts: 20, fieldSize: 4_096, headerPairs: 16 };

interface FormFile {
  readonly details: Pick<FileDetails, "contentType" | "filename">;
  readonly bytes: AsyncIterable<Uint8Array>;
}

/** The parser is loaded with the first form. */
async function openForm(headers: IncomingHttpHeaders): Promise<Busboy> {
  // The bundle of the program has only the default export of a CommonJS package.
  const { default: parser } = await import("@fastify/busboy");
  try {
    const named = { ...headers, "content-type": headers["content-type"] ?? "" };
    return new parser.Busboy({ headers: named, limits, isPartAFile: (name) => name === fieldName });
  } catch (error) {
    throw mediaErrors.form_invalid({ cause: error });
  }
}

interface FoundFile extends Pick<FormFile, "details"> {
  readonly stream: BusboyFileStream;
}

function findFile(form: Busboy): Promise<FoundFile> {
  return new Promise((resolve) => {
    form.once("file", (_, stream, filename, __, contentType) => {
      // The reader of the bytes receives the error.
      stream.on("error", () => undefined);
      resolve({ stream, details: { contentType, filename: cleanFilename(filename) } });
    });
  });
}

/**
 * @param body - The bytes of the form.
 * @returns The file. Its bytes end when the whole form has arrived; other fields are not used.
 * @throws form_invalid if the form has no file.
 */
export async function readForm(
  headers: IncomingHttpHeaders,
  body: AsyncIterable<Uint8Array>,
): Promise<FormFile> {
  const form = await openForm(headers);
  const found = findFile(form);
  const ending = new AbortController();
  const arrived = pipeline(Readable.from(body), form, { signal: ending.signal }).catch(
    (error: unknown) => {
      // The body has errors of its own; all others are those of the form.
      throw error instanceof Error && "code" in error
        ? error
        : mediaErrors.form_invalid({ cause: error });
    },
  );
  const withoutFile = arrived.then(() => {
    throw mediaErrors.form_invalid();
  });
  const { stream, details } = await Promise.race([found, withoutFile]);
  arrived.catch((error: Error) => stream.destroy(error));
  async function* read(): AsyncIterable<Uint8Array> {
    try {
      yield* stream as AsyncIterable<Uint8Array>;
      await arrived;
    } finally {
      ending.abort();
    }
  }
  withoutFile.catch(() => undefined);
  return { details, bytes: read() };
}
