import { describe, expect, test } from "vitest";
import { tokenParameters } from "../../../plugins/http/kit.ts";

describe("tokenParameters", () => {
  test.each([
    [undefined, []],
    ["/", []],
    ["/?", []],
    ["/?a=1", []],
    ["/?token=", [""]],
    ["/?token=a+b%2Bc%20d", ["a+b+c d"]],
    ["/?a=+&token=a&token=b", ["a", "b"]],
    ["/?next=/?token=x&token=y", ["y"]],
    ["/?token=%", ["%"]],
  ])("reads %j as %j", (url, expected) => {
    expect(tokenParameters(url)).toEqual(expected);
  });
});
