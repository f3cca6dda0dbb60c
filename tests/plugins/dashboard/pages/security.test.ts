import { describe, expect, test } from "vitest";
import {
  isChangeable,
  replaceText,
  tokenCommand,
  tokenNoun,
  tokenPurpose,
  type Changeable,
} from "../../../../plugins/dashboard/pages/security/token-texts.ts";
import { protocolTokens } from "../../../../plugins/dashboard/shared/protocols.ts";

describe("tokens of protocols", () => {
  test.each(protocolTokens)("change on the page, as %s does", (name: Changeable) => {
    expect(isChangeable(name)).toBe(true);
    expect(tokenCommand({ name, managedByEnv: false } as never)).toBeUndefined();
    expect(tokenPurpose(name)).toBe("Anyone with this token can connect as a client.");
    expect(replaceText(name)).toMatch(/Replies in progress end, and clients need the new token/);
    expect(tokenNoun(name)).toMatch(/^(?:OpenAI|AI SDK|AG-UI) token$/);
  });

  test("name the command of a token that another server issues", () => {
    const row = { name: "pico_client", managedByEnv: false } as never;
    expect(tokenCommand(row)).toBe("doorward token set pico_client");
  });
});
