import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { encode } from "../../../../lib/pico-wire/index.ts";
import type { InboundMessage, Sender } from "../../../../plugins/channels/index.ts";
import { frameText, frameWithPosition } from "../../../../plugins/pico-server/frame-encoding.ts";
import { toTurnEntry } from "../../../../plugins/conversations/log/turn-entry.ts";
import { encodePlaceholder } from "../../../../plugins/pico-server/frame-encoding.ts";

const id = "0123456789abcdef0123456789abcdef";
const text = fc.oneof(
  fc.constantFrom("hello", 'quotes "', "back\\slash", "é", "\u2028", "\ud800", "\x7f", " ~"),
  fc.string(),
);
const sender: fc.Arbitrary<Sender | undefined> = fc.option(
  fc.oneof(fc.record({ id: text }), fc.record({ id: text, name: text })),
  { nil: undefined },
);
const turns: fc.Arbitrary<InboundMessage> = fc.record({
  channel: fc.constant("pico"),
  session: text,
  id: text,
  content: text,
  media: fc.constant([]),
  sender,
  at: fc.nat(),
  hops: fc.constant(0),
  replaces: fc.option(text, { nil: undefined }),
}) as fc.Arbitrary<InboundMessage>;

describe("toTurnEntry", () => {
  test("encodes every turn as the general encoder", () => {
    fc.assert(
      fc.property(turns, (turn) => {
        const entry = toTurnEntry(turn, () => id);
        const { session, content, at } = turn;
        const payload = {
          message_id: id,
          request_id: turn.id,
          content,
          media: [],
          attachments: [],
          ...(turn.sender && { sender: turn.sender }),
          door: "pico",
          ...(turn.replaces !== undefined && { replaces: turn.replaces }),
        };
        const frame = {
          type: "message.user",
          payload,
          session_id: session,
          timestamp: at,
        } as const;
        expect(Buffer.from(entry.frame).toString()).toBe(Buffer.from(encode(frame)).toString());
      }),
    );
  });
});

describe("encodePlaceholder", () => {
  test("encodes every session as the general encoder", () => {
    fc.assert(
      fc.property(turns, fc.nat(), (turn, seq) => {
        const { session } = turn;
        const cursor = { epoch: "00000000000000aa", seq };
        const { frame } = toTurnEntry(turn, () => id);
        const payload = { message_id: id };
        const removal = encode({ type: "message.delete", payload, session_id: session });
        const expected = frameWithPosition({
          session,
          cursor,
          numbered: true,
          framed: frameText(removal),
          frame: Buffer.from(removal),
        });
        expect(encodePlaceholder({ session, cursor, numbered: true, frame })).toEqual(expected);
      }),
    );
  });
});
