// Tests that no function over text from outside takes quadratic time.
import type { IncomingMessage } from "node:http";
import { describe, expect, test } from "vitest";
import { createRedactor, redactLine } from "../../bin/log/redact.ts";
import { sanitize, sanitizeLine, width, wrap } from "../../bin/client/text.ts";
import { escapeMarkup } from "../../bin/markup.ts";
import { parseJson } from "../../lib/files/json.ts";
import { retryAfterMs } from "../../lib/pico-link/dial.ts";
import { parseCloseReason } from "../../lib/pico-wire/codes.ts";
import { parseCursor } from "../../lib/pico-wire/cursor.ts";
import { readImage as readInlineImage } from "../../lib/pico-wire/media.ts";
import { decodeServer } from "../../lib/pico-wire/decode-server.ts";
import { decode, decodeRequest } from "../../lib/pico-wire/decode.ts";
import { isId } from "../../lib/pico-wire/json.ts";
import { toLine, withoutMarkdown } from "../../lib/util.ts";
import { splitText } from "../../plugins/channels/split-text.ts";
import { toPreview, toTitle } from "../../plugins/conversations/turn-frames.ts";
import { withoutToken } from "../../plugins/dashboard/server/auth/guard.ts";
import { cookieValues, hostName } from "../../plugins/dashboard/server/request.ts";
import { parseFilter } from "../../plugins/dashboard/pages/activity/filter.ts";
import { splitMarks } from "../../plugins/dashboard/pages/parts/marked.tsx";
import { isConversationName } from "../../plugins/dashboard/pages/chat/state/names.ts";
import { readToolCall } from "../../plugins/dashboard/pages/chat/tool-calls.ts";
import { decodeReferences, safeHref } from "../../plugins/dashboard/pages/chat/markdown/links.ts";
import { findSections } from "../../plugins/dashboard/pages/docs/search.ts";
import { containsWords } from "../../plugins/dashboard/pages/frame/palette-choices.ts";
import { addItems } from "../../plugins/dashboard/pages/settings/form.ts";
import { browserLabel } from "../../plugins/dashboard/shared/client-labels.ts";
import { readImage } from "../../plugins/protocols/media.ts";
import { normaliseAddress } from "../../plugins/http/addresses.ts";
import { isBasePath, normaliseBasePath, parseTarget } from "../../plugins/http/requests.ts";
import { recogniseTask, replyToTask } from "../../plugins/protocols/openai/tasks.ts";
import { isOriginPattern } from "../../plugins/pico-server/handshake/origins.ts";
import { proxyFor } from "../../plugins/pico-client/proxy.ts";
import { plainText } from "../../lib/child-process/index.ts";
import { intendedTargetOfPrefix, parseFrame } from "../../plugins/program/protocol.ts";

type TextFunction = (text: string) => unknown;

const title = { kind: "title", isPlain: true } as const;
const request = { headers: {} } as IncomingMessage;
const redactor = createRedactor();
redactor.add("a-secret-of-the-test");

/** Every function over text from outside. A new one is one line here. */
const functions: Readonly<Record<string, TextFunction>> = {
  replyToTask: (text) => replyToTask(title, text),
  "replyToTask of a history": (text) => replyToTask(title, `<chat_history>${text}</chat_history>`),
  "replyToTask of an open history": (text) => replyToTask(title, `<chat_history>${text}`),
  recogniseTask: (text) =>
    recogniseTask(request, {
      turn: { content: `### Task:\n<text>${text}` },
      stream: false,
      messageCount: 1,
    } as Parameters<typeof recogniseTask>[1]),
  withoutMarkdown,
  toTitle,
  toLine,
  toPreview: (content) => toPreview([{ content }] as never),
  splitText: (text) => splitText(text, 1_000),
  "decode of a client": (text) => decode(text, "client"),
  "decode of a content": (content) =>
    decode(JSON.stringify({ type: "message.send", payload: { content } }), "client"),
  decodeRequest: (content) => decodeRequest(JSON.stringify({ content })),
  decodeServer: (content) =>
    decodeServer(JSON.stringify({ type: "message.create", payload: { content } })),
  parseCloseReason,
  parseCursor,
  isId,
  "readImage of the wire": (text) => readInlineImage(`data:image/png;base64,${text}`),
  "readImage of a protocol": (text) => readImage(`data:image/png;base64,${text}`),
  retryAfterMs: (text) => retryAfterMs(text, 0),
  parseFrame: (content) => parseFrame({ type: "message.create", payload: { content } }),
  intendedTargetOfPrefix,
  plainText: (text) => plainText(text),
  parseJson: (text) => parseJson(text, "file"),
  "parseJson of a string": (text) => parseJson(`{"a": ${JSON.stringify(text)}, }`, "file"),
  cookieValues: (text) => cookieValues(text, "a"),
  "cookieValues of a pair": (text) => cookieValues(`${text}=${text}`, "a"),
  hostName,
  withoutToken: (text) => withoutToken(`/?a=${text}`),
  parseTarget,
  "parseTarget of a path": (text) => parseTarget(`/${text}`),
  normaliseBasePath,
  isBasePath,
  normaliseAddress,
  isOriginPattern,
  proxyFor: (text) => proxyFor("http://a.example", { HTTP_PROXY: "http://b", NO_PROXY: text }),
  redactLine,
  "redactLine of a query": (text) => redactLine(`{"msg":"?token=${text}"}`),
  "redactLine of a field": (text) => redactLine(`{"token": {"a": ${text}`),
  "redact of known values": (text) => redactor.redact(text),
  sanitize,
  sanitizeLine,
  width,
  wrap: (text) => wrap(text, 80),
  escapeMarkup,
  browserLabel,
  parseFilter,
  splitMarks: (text) => splitMarks(text, ["a", "*"]),
  decodeReferences,
  safeHref,
  readToolCall: (text) => readToolCall({ name: text, arguments: text, result: text }),
  "findSections of a query": (text) => findSections([["p", "id", "Heading", "text"]], text),
  "findSections of a section": (text) => findSections([["p", "id", "Heading", text]], "a b"),
  containsWords: (text) => containsWords(text, "a b"),
  addItems: (text) => addItems([], text),
  isConversationName,
};

/** Repeated until the text is long. */
const units = [
  ..."a \n\t*_`~#>-+=|!\\/:;.,&<?%@1\"'()[]{}$^\0\u0301é漢",
  ...["😀", "\r\n", "\n\n", "a ", "a\n", "> ", "- ", "* ", "1. ", "*a_", "**a ", "__a ", "~~a "],
  ...["*a ", "_a ", "[a", "[a](", "![a](", "](", "`a", "``a ```", "```\n", "~~~\n", "<a", "</a>"],
  ...["<!--", "&amp;", "a=b;", "a: b\n", "a:b:", '{"a":', '"a",', '\\"', "\\\\", "http://a"],
  ...["a, ", "/..", "%2e", "a@b.c ", "User: ", "User:\n", "<chat_history>", "token=", "Bearer a "],
  ...["- a\n  ", "? ", "&a ", "*a: ", "!!a ", '"request_id" : ', "Chrome/1", "Version/1 "],
];

const size = 10_000;
/** A function of quadratic time needs several times as much. */
const maxMs = 50;

/** The time of the processor, in milliseconds: the machine may run other processes. */
function measure(call: TextFunction, text: string): number {
  const began = process.cpuUsage();
  try {
    call(text);
  } catch {
    // Many of these texts are invalid.
  }
  return process.cpuUsage(began).user / 1_000;
}

/** The shortest time of a few, without a garbage collection. */
const shortest = (call: TextFunction, text: string): number =>
  Math.min(...Array.from({ length: 3 }, () => measure(call, text)));

const fill = (unit: string, length: number): string =>
  unit.repeat(Math.ceil(length / unit.length)).slice(0, length);

/** Whether twice the text takes three times as long, and longer than is acceptable. */
function isSlow(call: TextFunction, toText: (length: number) => string): boolean {
  if (measure(call, toText(2 * size)) < maxMs) return false;
  const whole = shortest(call, toText(2 * size));
  return whole > maxMs && whole > 3 * shortest(call, toText(size));
}

const frames: readonly ((run: string) => string)[] = [(run) => run, (run) => `x${run}\0`];

describe("Functions over text from outside", () => {
  test.each(Object.entries(functions))("%s takes linear time", (_, call) => {
    const slow = units.filter((unit) =>
      frames.some((frame) => isSlow(call, (length) => frame(fill(unit, length)))),
    );
    expect(slow).toEqual([]);
  });

  test("finds a function of quadratic time", () => {
    const trim: TextFunction = (text) => text.replace(/\s+$/, "");
    expect(isSlow(trim, (length) => `${fill(" ", length)}x`)).toBe(true);
  });
});
