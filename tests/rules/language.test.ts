import { spawnSync } from "node:child_process";
import { describe, expect, test } from "vitest";
import { markdownProse, sourceProse, testTitles } from "./prose.ts";
import { filesUnder, projectFiles, read, root } from "./source.ts";

/* Keeps the texts of the project in plain English. The banned words and patterns come from its
 * first years, when its texts used a private vocabulary. */

const folders = [
  ...["kernel", "lib", "plugins", "config", "bin", "testkit"],
  ...["scripts", "tests", "bench", "examples", ".ci"],
];
/** It quotes what it bans. */
const self = "tests/rules/language.test.ts";
/** "Door" and "gate" are product terms here: protocols that lead to one application, and the checks
 *  in front of them. Elsewhere the words were metaphors. */
const productTerms = [
  "plugins/protocols/ag-ui/",
  "plugins/protocols/ai-sdk/",
  "plugins/protocols/",
  "plugins/protocols/openai/",
  "plugins/pico-server/protocol-service.ts",
  "plugins/pico-server/protocol-hub.ts",
  "plugins/pico-server/service.ts",
  "tests/plugins/protocols/ag-ui/",
  "tests/plugins/protocols/ai-sdk/",
  "tests/plugins/protocols/",
  "tests/plugins/protocols/openai/",
  "docs/doors.md",
];

interface Pattern {
  readonly pattern: RegExp;
  /** What to write instead. */
  readonly instead: string;
}

const patterns: Readonly<Record<string, Pattern>> = {
  people: {
    pattern: /\b(nobody|somebody|whoever|whomever|everybody|anybody)\b/i,
    instead: 'the actor: client, user, process, "no client"',
  },
  "bare-who": {
    pattern: /(^|[.;:(–—]\s+)(who|whom|whose|what)\s+(?!(is|are|was|does|do|can|should)\b.*\?)/i,
    instead: '"Anyone who …", "The client that …"',
  },
  "what-subject": {
    pattern: /\b(what|that)\s+(comes?|came|stands|waits|is left|is there|hangs)\b/i,
    instead: "the name of the thing",
  },
  "is-no": {
    pattern:
      /(?<!there )\b(is|are|was|were)\s+no\s+(?!longer\b|more than\b|such\b|need\b|way\b)[a-z]+/i,
    instead: '"isn\'t a", "is not a"',
  },
  mends: { pattern: /\bmend(s|ed|ing)?\b/i, instead: "fix" },
  "at-once": { pattern: /\bat once\b/i, instead: '"immediately", "in parallel"' },
  "other-end": { pattern: /\b(the|its) other (end|side)\b/i, instead: "server, client, peer" },
  stands: {
    pattern: /\b(stands?|stood)\s+(in|above|below|beside|behind|before|for|there)\b/i,
    instead: '"is in", "overrides", "precedes", "means"',
  },
  told: {
    pattern:
      /\b(is|are|was|were|be)\s+(told|given|taken|sent off|sent away|turned away|given up)\b/i,
    instead: "receives, is passed, accepted, closed, rejected, timed out",
  },
  "for-ever": { pattern: /\bfor (ever|good)\b/i, instead: "indefinitely, permanently" },
  knock: {
    pattern: /\b(knock|usher|door(?!ward)|gate(?!way)|occupant|farewell|fate|remark)s?\b/i,
    instead: "handshake, limit, dashboard, check, process, close, exit status, warning",
  },
  anew: {
    pattern: /\b(anew|beside|meanwhile|wherein|nevertheless|be it)\b/i,
    instead: "again, in addition to, in the meantime, still",
  },
  "try-noun": { pattern: /\b(a|the|each|one|another|last)\s+try\b/i, instead: "attempt" },
  "so-many": {
    pattern: /\bso (many|much|long|few) (as|bytes|clients|files|connections|milliseconds)\b/i,
    instead: '"at most N", "this many", "limit"',
  },
  "without-a-word": { pattern: /\bwithout a word\b/i, instead: "silently" },
  we: {
    pattern: /\b([Ww][Ee]|[Uu]s|[Oo][Uu][Rr][Ss]?)\b/,
    instead: "Doorward, this process, the server",
  },
  pictures: { pattern: /\bpictures?\b/i, instead: "image, screenshot" },
  possessive: {
    pattern:
      /\b(desktop|environment|system|library|machine|socket|message|file|page|setting|variable)'s\b/i,
    instead: 'a compound: "environment variables"',
  },
  "verb-last": {
    pattern: /\b(how|where|when|why) (it|they|things) (stands?|fares?|goes)\b/i,
    instead: "status, state",
  },
  "of-a-cell": { pattern: /^(Of|At|For) (a|one|each) [a-z ]+\.$/i, instead: "a sentence" },
};

const titleRules: Readonly<Record<string, Pattern>> = {
  "title-length": { pattern: /^\S+(\s+\S+){12}/, instead: "at most 12 words" },
  "title-start": {
    pattern: /^(a|an|the|what|who|that|are|is|was|of|with)\b/i,
    instead: "a verb in the third person",
  },
  "title-should": { pattern: /\bshould\b/i, instead: "what the unit does" },
};

interface Hit {
  readonly path: string;
  readonly place: string;
}

const hits: readonly Hit[] = [
  ...filesUnder(folders, /\.(ts|tsx|mjs|js)$/)
    .filter((path) => path !== self && !path.includes("/fixtures/"))
    .flatMap((path) => [
      ...search(path, sourceProse(path, read(path)), patterns),
      ...(/\.test\.ts$/.test(path) ? search(path, testTitles(path, read(path)), titleRules) : []),
    ]),
  ...projectFiles
    .filter((path) => path.endsWith(".md") && (!path.includes("/") || path.startsWith("docs/")))
    .flatMap((path) => search(path, markdownProse(read(path)), patterns)),
];

function withoutTerms(path: string, text: string): string {
  const isProduct = productTerms.some((start) => path.startsWith(start));
  return isProduct ? text.replace(/\b(door|gate)s?\b/gi, "name") : text;
}

function search(
  path: string,
  texts: readonly { line: number; text: string }[],
  rules: Readonly<Record<string, Pattern>>,
): Hit[] {
  const searched = texts.map(({ line, text }) => ({ line, text, words: withoutTerms(path, text) }));
  return Object.entries(rules).flatMap(([id, { pattern, instead }]) =>
    searched
      .filter(({ words }) => pattern.test(words))
      .flatMap(({ line, text, words }) =>
        [...words.matchAll(new RegExp(pattern, `g${pattern.flags}`))].map(({ index }) => ({
          path,
          place: `${path}:${line} ${id}: "${text.slice(Math.max(0, index - 30), index + 60)}", write ${instead}`,
        })),
      ),
  );
}

describe("language", () => {
  test("contains no banned words and patterns", () => {
    expect(hits.map(({ place }) => place)).toEqual([]);
  });
});

describe("patterns", () => {
  const matches = (id: string, text: string): boolean =>
    (patterns[id] ?? titleRules[id])!.pattern.test(text);

  test.each([
    ["people", "A check that fails is nobody"],
    ["bare-who", "Whose frames they are."],
    ["bare-who", "It closes: what waits is lost."],
    ["what-subject", "Sends what waits first."],
    ["is-no", "This is no command."],
    ["told", "The peer is told why."],
    ["knock", "All doors are open."],
    ["we", "It is one of ours."],
    ["of-a-cell", "Of a client."],
    ["title-length", "one two three four five six seven eight nine ten eleven twelve thirteen"],
    ["title-start", "the limiter counts attempts"],
  ])("%s matches: %s", (id, text) => expect(matches(id, text)).toBe(true));

  test.each([
    ["bare-who", "Who is this?"],
    ["is-no", "There is no client."],
    ["is-no", "It is no longer needed."],
    ["knock", "Doorward and its gateway."],
    ["we", "The US and the bus."],
    ["title-length", "one two three four five six seven eight nine ten eleven twelve"],
    ["title-start", "answers the client"],
  ])("%s allows: %s", (id, text) => expect(matches(id, text)).toBe(false));
});

describe("commit subjects", () => {
  const subject =
    /^(feat|fix|perf|refactor|docs|style|test|build|ci|chore|revert)(\([a-z-]+\))?!?: [a-z0-9].{1,70}[^.]$/;

  test("follow Conventional Commits since the formatting commit", ({ skip }) => {
    const [formatting] = /^[0-9a-f]{40}$/m.exec(read(".git-blame-ignore-revs")) ?? [];
    const log = spawnSync("git", ["log", "--no-merges", "--format=%s", `${formatting}..HEAD`], {
      cwd: root,
      encoding: "utf8",
    });
    skip(log.status !== 0, "needs git and the history since the formatting commit");
    const subjects = log.stdout.split("\n").filter((line) => line !== "");
    expect(subjects.filter((line) => line.length > 72 || !subject.test(line))).toEqual([]);
  });
});
