// The law of questions, for two nodes of which one is killed again and again.
import { describe, test } from "vitest";
import { checkQuestionNodesLaw } from "../../conformance/question-nodes-law.ts";
import { hasRedis, startRedis } from "../../support/redis-server.ts";
import { rounds } from "../../support/runs.ts";

describe.skipIf(!hasRedis)("Questions of two nodes", () => {
  test("settle once, and are stored before the application knows", async () => {
    await using server = await startRedis();
    await checkQuestionNodesLaw(server, rounds(40));
  });
});
