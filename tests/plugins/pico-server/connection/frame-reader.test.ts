import fc from "fast-check";
import * as library from "ws";
import { describe, expect, test } from "vitest";
import {
  FrameReader,
  type FrameListener,
  type ViolationCode,
} from "../../../../plugins/pico-server/connection/web-socket.ts";
import { fragmented, rawFrame } from "../raw-frames.ts";

const maxPayload = 100_000;
type Event = readonly [type: string, detail: string];

/** Collects what a reader reports. */
function record(): { events: Event[]; listener: FrameListener } {
  const events: Event[] = [];
  const add = (type: string, detail: string | number = ""): void =>
    void events.push([type, String(detail)]);
  return {
    events,
    listener: {
      message: (data) => add("message", data.toString("base64")),
      ping: (payload) => add("ping", payload.toString("base64")),
      pong: () => add("pong"),
      closeReceived: (code, reason) => add("close", `${code} ${reason}`),
      violation: (code) => add("violation", code),
    },
  };
}

function readChunks(chunks: readonly Buffer[]): Event[] {
  const { events, listener } = record();
  const reader = new FrameReader(listener, maxPayload);
  for (const chunk of chunks) reader.read(Buffer.from(chunk));
  return events;
}

interface LibraryReceiver extends NodeJS.EventEmitter {
  write(chunk: Buffer): boolean;
}
/** Exported by the library, but missing in its types. */
const { Receiver } = library as unknown as {
  Receiver: new (options: object) => LibraryReceiver;
};

/** Reads the same bytes with the receiver of the library. */
async function readWithLibrary(chunks: readonly Buffer[]): Promise<Event[]> {
  const { events, listener } = record();
  const receiver = new Receiver({ isServer: true, maxPayload, maxFragments: 0 });
  receiver.on("message", (data: Buffer) => listener.message(data));
  receiver.on("ping", (payload: Buffer) => listener.ping(payload));
  receiver.on("pong", () => listener.pong());
  receiver.on("conclude", (code: number, reason: Buffer) =>
    listener.closeReceived(code, reason.toString()),
  );
  receiver.on("error", (error: Record<symbol, ViolationCode>) => {
    const [status] = Object.getOwnPropertySymbols(error);
    listener.violation(error[status!]!);
  });
  for (const chunk of chunks) {
    if (events.some(([type]) => type === "close" || type === "violation")) break;
    receiver.write(Buffer.from(chunk));
    await new Promise((resolve) => setImmediate(resolve));
  }
  return events;
}

/** Cuts bytes at the given distances, which repeat. */
function cut(bytes: Buffer, lengths: readonly number[]): Buffer[] {
  const chunks: Buffer[] = [];
  let at = 0;
  for (let n = 0; at < bytes.length; n++) {
    const end = at + lengths[n % lengths.length]!;
    chunks.push(bytes.subarray(at, end));
    at = end;
  }
  return chunks;
}

const rarely = (arbitrary: fc.Arbitrary<number>, usually: number): fc.Arbitrary<number> =>
  fc.oneof({ weight: 30, arbitrary: fc.constant(usually) }, { weight: 1, arbitrary });
const text = fc.string({ unit: "binary" }).map((value) => Buffer.from(value));
const zeros = fc
  .oneof(
    fc.nat(300),
    fc.integer({ min: 65_530, max: 65_540 }),
    fc.integer({ max: 110_000, min: 0 }),
  )
  .map((size) => Buffer.alloc(size));
const short = fc.uint8Array({ maxLength: 125 }).map((bytes) => Buffer.from(bytes));
const closePayload = fc
  .tuple(fc.integer({ min: 900, max: 5_100 }), text)
  .map(([code, reason]) => Buffer.concat([Buffer.of(code >> 8, code & 255), reason]));

const payload = fc.oneof(
  { weight: 6, arbitrary: text },
  { weight: 2, arbitrary: short },
  { weight: 2, arbitrary: zeros },
  { weight: 1, arbitrary: closePayload },
);
/** Frames as a client may send them, most of them valid. */
const frame = fc
  .record({
    opcode: fc.oneof(
      { weight: 8, arbitrary: fc.constantFrom(0, 1, 2) },
      { weight: 4, arbitrary: fc.constantFrom(9, 10) },
      { weight: 1, arbitrary: fc.constantFrom(3, 8, 8, 8, 11) },
    ),
    isFinal: fc.boolean(),
    payload,
    reserved: rarely(fc.constantFrom(0x10, 0x20, 0x40), 0),
    mask: rarely(fc.constant(0), 0x80),
  })
  .map(({ reserved, mask, ...rest }) => {
    const bytes = rawFrame({ ...rest, isFinal: rest.isFinal || rest.opcode > 7 });
    bytes[0]! |= reserved;
    if (mask === 0) bytes[1]! &= 0x7f;
    return bytes;
  });
/** A fragmented message with control frames between its fragments. */
const message = fc
  .tuple(fc.constantFrom(1, 2), fc.array(fc.tuple(payload, short), { minLength: 1, maxLength: 4 }))
  .map(([opcode, parts]) =>
    Buffer.concat(
      parts.flatMap(([part, ping], at) => {
        const isFinal = at === parts.length - 1;
        const fragment = rawFrame({ opcode: at === 0 ? opcode : 0, isFinal, payload: part });
        return isFinal ? [fragment] : [fragment, rawFrame({ opcode: 9, payload: ping })];
      }),
    ),
  );
const input = fc.array(
  fc.oneof({ weight: 3, arbitrary: message }, { weight: 1, arbitrary: frame }),
  { minLength: 1, maxLength: 6 },
);
/** Together, these cause each kind of event: random input alone may miss a rare one. */
const examples = [
  { opcode: 1, payload: Buffer.from("text") },
  { opcode: 9 },
  { opcode: 10 },
  { opcode: 8, payload: Buffer.of(1_000 >> 8, 1_000 & 255) },
  { opcode: 3 },
  { opcode: 1, payload: Buffer.of(0xff) },
  { opcode: 2, payload: Buffer.alloc(maxPayload + 1) },
].map((example): [Buffer[]] => [[rawFrame(example)]]);
const lengths = fc.array(
  fc.oneof(fc.integer({ min: 1, max: 20 }), fc.integer({ min: 1, max: 70_000 })),
  { minLength: 1, maxLength: 5 },
);

describe("FrameReader", () => {
  test("reads any input as the WebSocket library does", async () => {
    const seen = new Set<string>();
    await fc.assert(
      fc.asyncProperty(input, async (frames) => {
        const chunks = [Buffer.concat(frames)];
        const expected = await readWithLibrary(chunks);
        for (const [type, detail] of expected)
          seen.add(type === "violation" ? `${type} ${detail}` : type);
        expect(readChunks(chunks)).toEqual(expected);
      }),
      { numRuns: 300, examples },
    );
    expect(seen).toEqual(
      new Set(
        ["message", "ping", "pong", "close"].concat(
          [1002, 1007, 1009].map((code) => `violation ${code}`),
        ),
      ),
    );
  });

  test("reports the same for chunks of any size", () => {
    fc.assert(
      fc.property(input, lengths, (frames, sizes) => {
        const bytes = Buffer.concat(frames);
        expect(readChunks(cut(bytes, sizes))).toEqual(readChunks([bytes]));
      }),
      { numRuns: 100 },
    );
  });

  test("keeps at most twice the bytes that arrived, and nothing between messages", () => {
    const { events, listener } = record();
    const reader = new FrameReader(listener, maxPayload);
    const bytes = rawFrame({ opcode: 2, payload: Buffer.alloc(90_000) });
    for (const [at, byte] of bytes.subarray(0, 40_000).entries()) {
      reader.read(Buffer.of(byte));
      expect(reader.unfinishedBytes()).toBeLessThanOrEqual(Math.max(1_024, 2 * (at + 1)));
    }
    expect(reader.unfinishedBytes()).toBeGreaterThanOrEqual(40_000);
    reader.read(bytes.subarray(40_000));
    expect([events.length, reader.unfinishedBytes()]).toEqual([1, 0]);
  });

  test("keeps a fragmented message in the same bound", () => {
    const { events, listener } = record();
    const reader = new FrameReader(listener, maxPayload);
    const bytes = fragmented(Buffer.alloc(50_000), 1, 2);
    reader.read(bytes.subarray(0, -1));
    expect(reader.unfinishedBytes()).toBeLessThanOrEqual(2 * 50_000 + 1_024);
    reader.read(bytes.subarray(-1));
    expect([events.length, reader.unfinishedBytes()]).toEqual([1, 0]);
  });

  test("releases an unfinished message when it stops", () => {
    const { events, listener } = record();
    const reader = new FrameReader(listener, maxPayload);
    reader.read(rawFrame({ opcode: 1, isFinal: false, payload: Buffer.from("never ends") }));
    expect(reader.unfinishedBytes()).toBeGreaterThan(0);
    reader.stop();
    reader.read(rawFrame({ opcode: 0, payload: Buffer.from("more") }));
    expect([events, reader.unfinishedBytes()]).toEqual([[], 0]);
  });
});
