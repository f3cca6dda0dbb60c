import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { sessionSockets } from "../../../plugins/tray/dbus/bus.ts";
import { createFraming, encodeMessage, type Message } from "../../../plugins/tray/dbus/message.ts";
import {
  decodeBody,
  parseSignature,
  variant,
  encodeBody,
  type BusValue,
} from "../../../plugins/tray/dbus/codec.ts";

/** An arbitrary signature of one complete type with a value. */
interface Typed {
  readonly signature: string;
  readonly value: BusValue;
}
const typed = (signature: string, values: fc.Arbitrary<BusValue>): fc.Arbitrary<Typed> =>
  values.map((value) => ({ signature, value }));
const text = fc
  .string({ unit: "grapheme", maxLength: 40 })
  .filter((value) => !value.includes("\0"));
const path = fc
  .array(fc.stringMatching(/^\w{1,8}$/), { maxLength: 4 })
  .map((parts) => `/${parts.join("/")}`);
const basic: fc.Arbitrary<Typed> = fc.oneof(
  typed("y", fc.nat(255)),
  typed("b", fc.boolean()),
  typed("n", fc.integer({ min: -0x8000, max: 0x7fff })),
  typed("q", fc.nat(0xffff)),
  typed("i", fc.integer()),
  typed("u", fc.nat(0xffff_ffff)),
  typed("x", fc.bigInt({ min: -(2n ** 63n), max: 2n ** 63n - 1n })),
  typed("t", fc.bigInt({ min: 0n, max: 2n ** 64n - 1n })),
  typed("d", fc.double({ noNaN: true })),
  typed("s", text),
  typed("o", path),
  typed("g", fc.constantFrom("", "a{sv}", "(ia{sv}av)")),
);
const { any } = fc.letrec<{ any: Typed }>((tie) => ({
  any: fc.oneof(
    { depthSize: "small", withCrossShrink: true },
    basic,
    fc.uint8Array({ maxLength: 30 }).map((value): Typed => ({ signature: "ay", value })),
    tie("any").map(({ signature, value }): Typed => ({
      signature: "v",
      value: variant(signature, value),
    })),
    // All items of an array have one type, so the array repeats one value.
    fc
      .tuple(
        tie("any").filter(({ signature }) => signature !== "y"),
        fc.nat(3),
      )
      .map(([{ signature, value }, times]): Typed => ({
        signature: `a${signature}`,
        value: Array.from({ length: times }, () => value),
      })),
    fc.array(tie("any"), { minLength: 1, maxLength: 4 }).map((parts): Typed => ({
      signature: `(${parts.map(({ signature }) => signature).join("")})`,
      value: parts.map(({ value }) => value),
    })),
    fc.tuple(text, tie("any")).map(([key, { signature, value }]): Typed => ({
      signature: `a{s${signature}}`,
      value: new Map([[key, value]]),
    })),
  ),
}));
const message = fc.array(any, { maxLength: 3 }).map((parts): Message => ({
  kind: "signal",
  serial: 7,
  noReply: true,
  path: "/a/b",
  interface: "org.example.One",
  member: "Told",
  sender: ":1.5",
  signature: parts.map(({ signature }) => signature).join(""),
  body: parts.map(({ value }) => value),
}));

describe("D-Bus wire format", () => {
  test("decodes every encoded value", () => {
    fc.assert(
      fc.property(any, ({ signature, value }) => {
        fc.pre(signature.length <= 255);
        expect(decodeBody(signature, encodeBody(signature, [value]), true)).toEqual([value]);
      }),
      { numRuns: 500 },
    );
  });

  test("decodes messages from chunks of any size", () => {
    fc.assert(
      fc.property(fc.array(message, { maxLength: 4 }), fc.array(fc.nat(400)), (messages, cuts) => {
        fc.pre(messages.every(({ signature }) => signature.length <= 255));
        const bytes = Buffer.concat(messages.map(encodeMessage));
        const framing = createFraming();
        const edges = [
          0,
          ...cuts.map((cut) => cut % (bytes.length + 1)).sort((a, b) => a - b),
          bytes.length,
        ];
        const found = edges
          .slice(1)
          .flatMap((edge, at) => framing(bytes.subarray(edges[at], edge)));
        expect(found).toEqual(messages);
      }),
      { numRuns: 200 },
    );
  });

  test("decodes or rejects damaged bytes", () => {
    const damage = fc.array(fc.tuple(fc.nat(), fc.nat(255)), { minLength: 1, maxLength: 5 });
    fc.assert(
      fc.property(message, damage, (one, damages) => {
        fc.pre(one.signature.length <= 255);
        const bytes = encodeMessage(one);
        for (const [at, value] of damages) bytes[at % bytes.length] = value;
        let found: Message[] = [];
        try {
          found = createFraming()(bytes);
        } catch (error) {
          expect(String(error)).toMatch(/^(Error|TypeError): ./);
        }
        for (const { serial, body } of found)
          expect([serial > 0, Array.isArray(body)]).toEqual([true, true]);
      }),
      { numRuns: 500 },
    );
  });

  const hex = (text: string): Buffer => Buffer.from(text.replaceAll(" ", ""), "hex");

  test.each<[string, string, string, BusValue[]]>([
    ["us", "02010000 02000000 686900", "00000102 00000002 686900", [258, "hi"]],
    ["a(yq)", "04000000 00000000 05000201", "00000004 00000000 05000102", [[[5, 258]]]],
    ["yv", "01017500 02010000", "01017500 00000102", [1, variant("u", 258)]],
    [
      "a{yb}",
      "08000000 00000000 07000000 01000000",
      "00000008 00000000 07000000 00000001",
      [new Map([[7, true]])],
    ],
  ])("%s has the bytes of the specification, in both orders", (signature, little, big, values) => {
    expect(encodeBody(signature, values)).toEqual(hex(little));
    expect([
      decodeBody(signature, hex(little), true),
      decodeBody(signature, hex(big), false),
    ]).toEqual([values, values]);
  });

  test("decodes a big-endian message", () => {
    const head = "42010001 00000000 00000007 0000001d";
    const bytes = hex(
      `${head} 01016f00 00000001 2f00 000000000000 03017300 00000004 50696e6700 000000`,
    );
    expect(createFraming()(bytes)).toEqual([
      {
        kind: "call",
        serial: 7,
        noReply: false,
        path: "/",
        member: "Ping",
        signature: "",
        body: [],
      },
    ]);
  });

  test.each([
    ["s", "05000000 686900", /beyond/],
    ["s", "02000000 686901", /does not have its stated length/],
    ["s", "01000000 ff00", /valid/],
    ["s", "02000000 610000", /does not have its stated length/],
    ["b", "02000000", /neither 0 nor 1/],
    ["o", "01000000 6100", /path/],
    ["ai", "05000000 01000000 02", /beyond/],
    ["ay", "ffffffff", /beyond/],
    ["yu", "01ff0000 00000000", /padding/],
    ["", "00", /longer/],
    ["y", "0000", /longer/],
    ["v", "027575 00 00000000", /not hold exactly one value/],
    ["v", "017a00", /not a signature/],
    ["v", `${"017600".repeat(70)}017900 01`, /too deep/],
  ])("rejects a body of %s that is %s", (signature, bytes, words) => {
    expect(() => decodeBody(signature, hex(bytes), true)).toThrow(words);
  });

  test.each([
    "a",
    "(",
    "()",
    "a{vs}",
    "a{s}",
    "{sv}",
    "a{s(}",
    "z",
    "(i",
    "i)",
    `${"a".repeat(33)}y`,
    "y".repeat(256),
  ])("rejects the signature %s", (signature) =>
    expect(() => parseSignature(signature)).toThrow(/signature/),
  );

  test.each([
    ["6c010001 00000010 01000000 00000000", /too large/],
    ["6c010001 00000000 01000000 f0ffffff", /too large/],
    ["47455420 2f204854 54502f31 2e310d0a", /not a D-Bus message/],
    ["6c010002 00000000 01000000 00000000", /not a D-Bus message/],
    ["6c010001 00000000 00000000 00000000", /serial number 0/],
    ["6c010001 00000000 01000000 00000000", /no "path"/],
    ["6c010001 00000000 01000000 0a000000 01017300 01000000 2f00000000000000", /another type/],
  ])("rejects the message %s after its header", (bytes, words) => {
    expect(() => createFraming()(hex(bytes))).toThrow(words);
  });
});

describe("sessionSockets", () => {
  test.each<[Record<string, string>, string[]]>([
    [{ DBUS_SESSION_BUS_ADDRESS: "unix:path=/run/user/1000/bus" }, ["/run/user/1000/bus"]],
    [{ DBUS_SESSION_BUS_ADDRESS: "unix:abstract=/tmp/dbus-x,guid=1f" }, ["\0/tmp/dbus-x"]],
    [
      { DBUS_SESSION_BUS_ADDRESS: "tcp:host=a,port=1;unix:guid=1,path=/tmp/a%20b;unix:path=/c" },
      ["/tmp/a b", "/c"],
    ],
    [{ DBUS_SESSION_BUS_ADDRESS: "unix:runtime=yes", XDG_RUNTIME_DIR: "/r" }, ["/r/bus"]],
    [
      {
        DBUS_SESSION_BUS_ADDRESS:
          "unix:path=%zz;unix:path=/a%00b;unixexec:path=/bin/sh;autolaunch:",
      },
      [],
    ],
    [{ XDG_RUNTIME_DIR: "/r" }, ["/r/bus"]],
    [{}, ["/run/user/1000/bus"]],
  ])("finds the sockets for %j", (env, sockets) => {
    expect(sessionSockets(env, 1000)).toEqual(sockets);
  });
});
