// Generates hostile input from the expected grammar: almost valid, so that it reaches deep code.

export type Random = () => number;

/** Creates a repeatable generator of numbers from 0 to 1 (mulberry32). */
export function randomFrom(seed: number): Random {
  let state = seed >>> 0;
  return () => {
    state = (state + 0x6d2b79f5) >>> 0;
    let mixed = Math.imul(state ^ (state >>> 15), state | 1);
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61);
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
  };
}

/** `FUZZ_SEED` repeats a run. The seed is printed with a failure. */
export function seedOf(what: string): number {
  const seed = Number(process.env["FUZZ_SEED"] ?? Date.now() % 2 ** 32);
  console.info(`${what}: FUZZ_SEED=${seed}`);
  return seed;
}

export const below = (random: Random, most: number): number => Math.floor(random() * most);
export const pick = <T>(random: Random, from: readonly T[]): T => from[below(random, from.length)]!;

const types = [
  "message.send",
  "media.send",
  "typing.start",
  "typing.stop",
  "ping",
  "ack",
  "message.create",
  "hello",
  "error",
  "pong",
  "__proto__",
  "",
  "MESSAGE.SEND",
  "message.send\0",
];
const texts = [
  "hello",
  "",
  " ",
  "\0",
  "\u001b[2J",
  "\ud800",
  "\udfff\ud800",
  "\u2028",
  "é".repeat(300),
  "x".repeat(5_000),
  "__proto__",
  "constructor",
  "data:image/png;base64,AAAA",
  "data:image/png;base64,A",
  "data:image/svg+xml;base64,AAAA",
  "data:,",
  "DATA:image/png;base64,!!!!",
];
const numbers = [
  0,
  -0,
  1,
  -1,
  255,
  256,
  1.5,
  1e308,
  -1e308,
  2 ** 53,
  2 ** 53 - 1,
  1_700_000_000_000,
];

function value(random: Random, depth = 0): unknown {
  const kind = below(random, depth > 4 ? 5 : 8);
  if (kind === 0) return pick(random, numbers);
  if (kind === 1) return pick(random, [true, false, null]);
  if (kind < 5) return pick(random, texts);
  const size = below(random, 5);
  if (kind === 5) return Array.from({ length: size }, () => value(random, depth + 1));
  const keys = [
    "url",
    "data_url",
    "type",
    "content",
    "seq",
    "__proto__",
    "toString",
    pick(random, texts),
  ];
  return Object.fromEntries(
    Array.from({ length: size }, () => [pick(random, keys), value(random, depth + 1)]),
  );
}

function payload(random: Random): unknown {
  if (random() < 0.1) return value(random);
  const fields = ["content", "media", "attachments", "hops", "seq", "message_id", "constructor"];
  const fit: Readonly<Record<string, () => unknown>> = {
    content: () => pick(random, texts),
    seq: () => pick(random, numbers),
    hops: () => pick(random, numbers),
    media: () =>
      pick(random, [texts[12], [texts[12], { url: texts[12] }, { data_url: texts[12] }]]),
  };
  return Object.fromEntries(
    fields
      .filter(() => random() < 0.4)
      .map((name) => [name, random() < 0.6 ? (fit[name]?.() ?? value(random)) : value(random)]),
  );
}

function mutate(random: Random, text: string): string {
  const at = below(random, text.length + 1);
  const to = at + below(random, 12);
  const kinds = [
    () => text.slice(0, at),
    () => text.slice(0, at) + text.slice(to),
    () => text.slice(0, to) + text.slice(at),
    () =>
      text.slice(0, at) +
      pick(random, [
        '"',
        "{",
        "}",
        "[",
        "]",
        ",",
        ":",
        "\\",
        "\\u",
        "0",
        "-",
        "1e999",
        "\0",
        "\ufeff",
      ]) +
      text.slice(at),
    () => `${"[".repeat(below(random, 200))}${text}`,
    () => text.replace('"type"', '"type":"ping","type"'),
  ];
  return pick(random, kinds)();
}

/** @returns The text of a valid or almost valid client frame. */
export function frameText(random: Random): string {
  const frame = {
    type: random() < 0.9 ? pick(random, types) : value(random),
    ...(random() < 0.6 && { id: random() < 0.8 ? pick(random, texts) : value(random) }),
    ...(random() < 0.5 && { session_id: random() < 0.8 ? pick(random, texts) : value(random) }),
    ...(random() < 0.3 && { timestamp: value(random) }),
    ...(random() < 0.8 && { payload: payload(random) }),
  };
  const text = JSON.stringify(frame) ?? "";
  return random() < 0.5 ? text : mutate(random, text);
}

/** @returns The bytes of such a text, possibly invalid UTF-8. */
export function frameBytes(random: Random): Buffer {
  const bytes = Buffer.from(frameText(random));
  if (bytes.length > 0 && random() < 0.2) bytes[below(random, bytes.length)] = below(random, 256);
  return bytes;
}

export interface WireFrame {
  readonly fin?: boolean;
  readonly reserved?: number;
  readonly opcode?: number;
  readonly masked?: boolean;
  readonly length?: bigint;
  /** Size of the length field: 7, 16 or 64 bits, even if fewer are enough. */
  readonly bits?: 7 | 16 | 64;
}

/** Encodes a WebSocket frame, valid or not. The mask is zero, so the payload is unchanged. */
export function wireFrame(payload: Uint8Array, o: WireFrame = {}): Buffer {
  const {
    fin = true,
    reserved = 0,
    opcode = 1,
    masked = true,
    length = BigInt(payload.length),
  } = o;
  const bits = o.bits ?? (length < 126n ? 7 : length < 65_536n ? 16 : 64);
  const head = Buffer.alloc(bits === 7 ? 2 : bits === 16 ? 4 : 10);
  head[0] = (fin ? 0x80 : 0) | (reserved << 4) | opcode;
  head[1] = (masked ? 0x80 : 0) | (bits === 7 ? Number(length) & 0x7f : bits === 16 ? 126 : 127);
  if (bits === 16) head.writeUInt16BE(Number(length & 0xffffn), 2);
  if (bits === 64) head.writeBigUInt64BE(BigInt.asUintN(64, length), 2);
  return Buffer.concat([head, masked ? Buffer.alloc(4) : Buffer.alloc(0), payload]);
}

/** @returns Frames of which most are valid. */
export function wireFrames(random: Random): Buffer {
  const frames = Array.from({ length: 1 + below(random, 12) }, () => {
    if (random() < 0.6) return wireFrame(frameBytes(random), random() < 0.5 ? {} : { opcode: 2 });
    const bytes = frameBytes(random).subarray(0, random() < 0.5 ? 125 : 100_000);
    return wireFrame(bytes, {
      fin: random() < 0.7,
      reserved: random() < 0.1 ? below(random, 8) : 0,
      opcode: random() < 0.8 ? pick(random, [0, 1, 2, 8, 9, 10]) : below(random, 16),
      masked: random() < 0.95,
      ...(random() < 0.1 && {
        length: pick(random, [
          0n,
          1n,
          126n,
          65_536n,
          2n ** 31n,
          2n ** 53n,
          2n ** 63n,
          2n ** 64n - 1n,
        ]),
      }),
      ...(random() < 0.2 && { bits: pick(random, [16, 64] as const) }),
    });
  });
  const all = Buffer.concat(frames);
  return random() < 0.2 ? all.subarray(0, below(random, all.length)) : all;
}

const lines = [
  "Connection: Upgrade",
  "Connection: keep-alive, Upgrade",
  "Upgrade: websocket",
  "Upgrade: h2c",
  "Upgrade: WEBSOCKET, h2c",
  "Sec-WebSocket-Version: 13",
  "Sec-WebSocket-Version: 8",
  "Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==",
  "Sec-WebSocket-Key: x",
  "Sec-WebSocket-Protocol: pico.v1",
  "Sec-WebSocket-Protocol: pico.v1,,",
  "Sec-WebSocket-Protocol: token.wrong, token.wrong",
  "Sec-WebSocket-Protocol: token64.!!!",
  "Sec-WebSocket-Protocol: \xff\xfe, =",
  "Sec-WebSocket-Extensions: permessage-deflate",
  'Sec-WebSocket-Extensions: permessage-deflate; server_max_window_bits=99; x="',
  "Authorization: Bearer wrong",
  "Authorization: Basic eDp4",
  "Authorization: Bearer",
  "Authorization: Bearer \xc3\x28",
  "Origin: null",
  "Origin: http://evil.example",
  "Origin: \x80",
  "Cookie: service_session_000000=a.b; =; ;;",
  "Content-Length: 5",
  "Transfer-Encoding: chunked",
  "Last-Event-ID: a:b",
  "X-Forwarded-For: 1.2.3.4, %",
  "Host: localhost",
  "Expect: 100-continue",
];
const queries = [
  "",
  "?",
  "?token=wrong",
  "?token=wrong&token=wrong",
  "?session_id=%00",
  `?session_id=${"x".repeat(300)}`,
  "?session_id=%ff%fe",
  "?pico_ext=1&resume=a:b",
  "?pico_ext=1&resume=:9999999999999999999&conn=x",
  "?session_id=a&session_id=b",
  "?%zz=%",
  "?__proto__=1",
  "?wait=1e9",
];

/** @returns A channel request with valid and invalid lines. It never has the correct token. */
export function handshake(random: Random): Buffer {
  const chosen = lines.filter(() => random() < 0.25);
  const host = random() < 0.9 ? ["Host: localhost"] : [];
  const path = pick(random, [
    "/pico",
    "/pico/",
    "/pico/ws",
    "/pico/events",
    "/pico/messages",
    "/pico/%2e%2e/pico",
    "/pico//",
  ]);
  const method = random() < 0.8 ? "GET" : pick(random, ["POST", "HEAD", "OPTIONS", "PUT", "TRACE"]);
  const head = [
    `${method} ${path}${pick(random, queries)} HTTP/1.1`,
    ...host,
    ...chosen,
    "",
    "",
  ].join("\r\n");
  const bytes = Buffer.concat([
    Buffer.from(head, "latin1"),
    random() < 0.2 ? frameBytes(random) : Buffer.alloc(0),
  ]);
  if (random() < 0.1) bytes[below(random, bytes.length)] = below(random, 256);
  return random() < 0.1 ? bytes.subarray(0, below(random, bytes.length)) : bytes;
}
