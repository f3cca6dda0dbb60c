// `doorward new`: writes an agent of ten lines with its test, to begin with.
import { mkdir, readdir, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { exitCodes, printJson, UsageError, type CommandContext } from "./command.ts";

interface Template {
  readonly files: (version: string) => Readonly<Record<string, string>>;
  /** Commands that run the test, then the agent. */
  readonly run: (folder: string) => readonly string[];
}

const pythonAgent = `from doorward import agent


@agent
async def reply(message, answer):
    if message.content.startswith("delete "):
        if await answer.allow(f"Delete {message.content[7:]}?"):
            yield "Deleted."
        else:
            yield "Kept."
    else:
        yield f"you said {message.content}"
`;

const pythonTest = `from bot import reply

from doorward.testing import talk


def test_repeats_the_message():
    assert talk(reply, "hello").text == "you said hello"


def test_asks_before_it_deletes():
    assert talk(reply, "delete build", replies=[False]).text == "Kept."
`;

const nodeAgent = `import { agent } from "doorward/agent";

export default agent(async function* (message, answer) {
  if (message.content.startsWith("delete ")) {
    const isAllowed = await answer.allow(\`Delete \${message.content.slice(7)}?\`);
    yield isAllowed ? "Deleted." : "Kept.";
  } else {
    yield \`you said \${message.content}\`;
  }
});
`;

const nodeTest = `import assert from "node:assert/strict";
import test from "node:test";
import { talk } from "doorward/agent/testing";
import reply from "./bot.mjs";

test("repeats the message", async () => {
  assert.equal((await talk(reply, "hello")).text, "you said hello");
});

test("asks before it deletes", async () => {
  assert.equal((await talk(reply, "delete build", { replies: [false] })).text, "Kept.");
});
`;

const templates: Readonly<Record<string, Template>> = {
  python: {
    files: () => ({
      "bot.py": pythonAgent,
      "test_bot.py": pythonTest,
      "requirements.txt": "doorward\npytest\n",
    }),
    run: (folder) => [
      `cd ${folder}`,
      "python3 -m venv .venv && .venv/bin/pip install -r requirements.txt",
      ".venv/bin/python -m pytest",
      "doorward run -- .venv/bin/python bot.py",
    ],
  },
  node: {
    files: (version) => ({
      "bot.mjs": nodeAgent,
      "bot.test.mjs": nodeTest,
      "package.json": `${JSON.stringify(
        {
          private: true,
          type: "module",
          scripts: { test: "node --test", start: "doorward run -- node bot.mjs" },
          dependencies: { doorward: `^${version}` },
        },
        undefined,
        2,
      )}\n`,
    }),
    run: (folder) => [`cd ${folder}`, "npm install", "npm test", "npm start"],
  },
};

/** Writes a path so that a shell reads it as one word. */
const toWord = (path: string): string =>
  /^[\w./\\:~-]+$/.test(path) ? path : `'${path.replaceAll("'", "'\\''")}'`;

/** Writes the files. It never overwrites one. */
export async function create(context: CommandContext): Promise<number> {
  const [language = "", folder = "", ...others] = context.words;
  const template = Object.hasOwn(templates, language) ? templates[language] : undefined;
  if (!template || folder === "" || others.length > 0)
    throw new UsageError("Name a language and a new folder: doorward new python DIR");
  await mkdir(folder, { recursive: true });
  if ((await readdir(folder)).length > 0)
    throw new UsageError(`The folder ${folder} has files. Name a new or an empty one.`);
  const files = template.files(context.version);
  for (const [name, text] of Object.entries(files))
    await writeFile(join(folder, name), text, { flag: "wx" });
  const run = template.run(toWord(folder)).map((command) => context.hinted(command));
  if (context.json) printJson(context, { folder, files: Object.keys(files), run });
  else {
    context.say(`Wrote ${Object.keys(files).join(", ")}. Test and run the agent:\n`);
    context.out(`${run.join("\n")}\n`);
  }
  return exitCodes.done;
}
