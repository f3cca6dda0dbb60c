/**
 * The form of batches in the log, and how the log is read. A file begins with a text of its own, so
 * that the log of another database is never used. Each record has a checksum and a number, so that
 * reading ends before a record that was cut off.
 */
import { readFileSync } from "node:fs";
import { crc32 } from "node:zlib";

/** Bytes of a record before its batch: checksum and size (4 each), then the number (8). */
export const recordHeader = 16;

/** A batch in the log. Numbers are consecutive. */
export interface LogRecord {
  readonly number: number;
  /** As `encodeBatch` encodes it, without the header of the record. */
  readonly batch: Uint8Array;
}

/** The files of the log. While the worker writes the rows of one, batches enter the other. */
export const logFiles = (path: string): readonly [string, string] => [
  `${path}-log1`,
  `${path}-log2`,
];

/** The text that begins a file. @param key - Identifies the database. */
export const logHeader = (key: string): string => `doorward log 1 ${key}\n`;

/** Completes the header of a record. */
export function sealRecord(record: Uint8Array, number: number): void {
  const bytes = Buffer.from(record.buffer, record.byteOffset, record.byteLength);
  bytes.writeUInt32LE(bytes.byteLength, 4);
  bytes.writeDoubleLE(number, 8);
  bytes.writeUInt32LE(crc32(bytes.subarray(4)), 0);
}

/** Splits consecutive records that `sealRecord` completed. */
export const splitRecords = ({ buffer, byteOffset, byteLength }: Uint8Array): LogRecord[] =>
  readRecords(Buffer.from(buffer, byteOffset, byteLength), () => true);

const isUndamaged = (record: Buffer): boolean =>
  crc32(record.subarray(4)) === record.readUInt32LE();

/** Reads records up to the first one that was cut off or is not valid. */
function readRecords(bytes: Buffer, isValid: (record: Buffer) => boolean): LogRecord[] {
  const records: LogRecord[] = [];
  for (let at = 0; at + recordHeader <= bytes.byteLength;) {
    const size = bytes.readUInt32LE(at + 4);
    const record = bytes.subarray(at, at + size);
    const isComplete = size > recordHeader && record.byteLength === size;
    if (!isComplete || !isValid(record)) break;
    records.push({ number: record.readDoubleLE(8), batch: record.subarray(recordHeader) });
    at += size;
  }
  return records;
}

function readFile(file: string): Buffer {
  try {
    return readFileSync(file);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === "ENOENT") return Buffer.alloc(0);
    throw error;
  }
}

/**
 * Reads the batches that follow the last one whose rows the database has.
 *
 * @param written - The number of that batch.
 * @returns The records, and whether the log has others that do not follow it.
 */
export function readLog(
  path: string,
  key: string,
  written: number,
): { readonly records: readonly LogRecord[]; readonly hasOthers: boolean } {
  const header = Buffer.from(logHeader(key));
  const files = logFiles(path).map(readFile);
  const own = files.filter((bytes) => bytes.subarray(0, header.byteLength).equals(header));
  const later = own
    .flatMap((bytes) => readRecords(bytes.subarray(header.byteLength), isUndamaged))
    .filter(({ number }) => number > written)
    .toSorted((a, b) => a.number - b.number);
  const records = later.filter(({ number }, at) => number === written + 1 + at);
  const isForeign = files.some(
    (bytes) => bytes.byteLength > header.byteLength && !own.includes(bytes),
  );
  return { records, hasOthers: isForeign || records.length < later.length };
}
