// Tests which errors of a host their senders read, and where.
import { describe, expect, test } from "vitest";
import { errorTable } from "../../../kernel/index.ts";
import { channelsErrors } from "../../../plugins/channels/errors.ts";
import { sentenceForSender } from "../../../plugins/channels/sender-error.ts";
import { toMessageError } from "../../../plugins/pico-server/session/channel-adapter.ts";
import { toRefusal } from "../../../plugins/protocols/errors.ts";

const hostErrors = errorTable({
  out_of_credit: "Your credit is used up.",
  PORT_IN_USE: "Port 80 is in use.",
});
const exposed = Object.assign(new Error("Sign in\u001b[2J first."), { expose: true });
const readable: readonly (readonly [unknown, string])[] = [
  [hostErrors.out_of_credit(), "Your credit is used up."],
  [exposed, "Sign in [2J first."],
];
const hidden: readonly unknown[] = [
  new Error("ENOENT: no such file, open '/etc/key.txt'"),
  Object.assign(new Error("secret"), { expose: false }),
  Object.assign(new Error("  "), { expose: true }),
  Object.assign(new Error("EACCES: /etc/bot"), { code: "EACCES" }),
  hostErrors.PORT_IN_USE(),
  channelsErrors.reply_invalid("reply", "it is null"),
  channelsErrors.undeliverable("radio"),
  { expose: true, message: 7 },
  undefined,
  "text",
];

describe("an error of a host", () => {
  test.each(readable)("reaches clients of each protocol: %s", (error, sentence) => {
    expect(sentenceForSender(error)).toBe(sentence);
    const answer = { code: "application_refused", message: sentence };
    expect(toMessageError(error)).toEqual(answer);
    expect(toRefusal(error)).toMatchObject(answer);
  });

  test.each(hidden)("stays in the log: %s", (error) => {
    expect(sentenceForSender(error)).toBeUndefined();
    expect(toMessageError(error).code).toBe("internal");
    expect(toRefusal(error)).toMatchObject({ code: "internal" });
  });
});
