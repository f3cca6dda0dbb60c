// Sends through all protocols into one conversation, and compares what each client sees of it.
import { once } from "node:events";
import fc from "fast-check";
import { expect, test } from "vitest";
import { WebSocket } from "ws";
import { startProtocols, tokens, type ProtocolService } from "../support/protocol-service.ts";

const session = "home";
const json = { "Content-Type": "application/json" };
const bearer = (token: string): Record<string, string> => ({ Authorization: `Bearer ${token}` });

interface Frame {
  readonly type: string;
  readonly payload?: {
    readonly message_id?: string;
    readonly content?: string;
    readonly at?: number;
  };
}

/** Message id -> text, in the order of the first frames. */
type View = Map<string, string>;

/** A client of the pico channel. The chat page has all features. */
async function watch({ origin }: ProtocolService, features: string) {
  const url = `${origin.replace("http", "ws")}/pico/ws?session_id=${session}${features}`;
  const socket = new WebSocket(url, { headers: bearer(tokens.pico) });
  const view: View = new Map();
  socket.on("message", (data) => {
    const { type, payload: { message_id: id = "", content = "", at = 0 } = {} } = JSON.parse(
      String(data),
    ) as Frame;
    if (type === "message.create" || type === "message.update") view.set(id, content);
    else if (type === "message.append") view.set(id, view.get(id)!.slice(0, at) + content);
    else if (type === "message.delete") view.delete(id);
  });
  await once(socket, "open");
  const send = (id: string, content: string): void =>
    socket.send(JSON.stringify({ type: "message.send", id, payload: { content } }));
  return { view, send, close: () => socket.terminate() };
}

const post = async (
  { origin }: ProtocolService,
  path: string,
  token: string,
  body: object,
): Promise<Response> =>
  fetch(origin + path, {
    method: "POST",
    headers: { ...json, ...bearer(token), "X-Doorward-Session": session },
    body: JSON.stringify(body),
  });

const eventsOf = (text: string): readonly Record<string, string>[] =>
  [...text.matchAll(/^data: (\{.*)$/gm)].map(
    ([, event = ""]) => JSON.parse(event) as Record<string, string>,
  );

/** Adds the growth of each message. */
function fold(deltas: readonly (readonly [id: string, delta: string])[]): View {
  const view: View = new Map();
  for (const [id, delta] of deltas) view.set(id, (view.get(id) ?? "") + delta);
  return view;
}

/** One protocol: sends a message, and returns the answer as its client sees it. */
const senders = {
  openai: async (service: ProtocolService, content: string) => {
    const messages = [{ role: "user", content }];
    const body = { model: "doorward", messages };
    const response = await post(service, "/v1/chat/completions", tokens.openai, body);
    const { choices } = (await response.json()) as { choices: [{ message: { content: string } }] };
    return { text: choices[0].message.content };
  },
  ai_sdk: async (service: ProtocolService, content: string) => {
    const parts = [{ type: "text", text: content }];
    const body = { id: session, messages: [{ id: content, role: "user", parts }] };
    const response = await post(service, "/ai/chat", tokens.ai_sdk, body);
    const deltas = eventsOf(await response.text()).filter(({ type }) => /-delta$/.test(type!));
    return { view: fold(deltas.map(({ id, delta }) => [id!.replace(/:0$/, ""), delta!])) };
  },
  ag_ui: async (service: ProtocolService, content: string) => {
    const messages = [{ id: content, role: "user", content }];
    const body = { threadId: session, runId: "r", messages };
    const response = await post(service, "/ag-ui", tokens.ag_ui, body);
    const events = eventsOf(await response.text());
    // Messages of other clients arrive as messages of users.
    const users = new Set(events.filter(({ role }) => role === "user").map((e) => e["messageId"]));
    const deltas = events.filter(
      ({ type, messageId }) => /_CONTENT$/.test(type!) && !users.has(messageId),
    );
    return { view: fold(deltas.map(({ messageId, delta }) => [messageId!, delta!])) };
  },
};
type Sender = keyof typeof senders;

/** Each message of an answer: a thought or a text, in parts. */
interface Reply {
  readonly isThought: boolean;
  readonly parts: readonly string[];
}
interface Turn {
  readonly sender: Sender | "pico";
  readonly replies: readonly Reply[];
}

const part = fc.constantFrom("a", "Hello ", "😀", "é\n", "x".repeat(3_000));
const turns = fc.array(
  fc.record<Turn>({
    sender: fc.constantFrom("openai", "ai_sdk", "ag_ui", "pico"),
    replies: fc.array(
      fc.record({ isThought: fc.boolean(), parts: fc.array(part, { minLength: 1, maxLength: 6 }) }),
      { minLength: 1, maxLength: 3 },
    ),
  }),
  { minLength: 1, maxLength: 8 },
);

/** Content of a message -> ids and texts of its answer, as the application sent them. */
function answerFrom(service: ProtocolService, plan: readonly Turn[]) {
  const sent = new Map<string, { readonly id: string; readonly text: string; isText: boolean }[]>();
  service.state.handler = async (message) => {
    const answer = sent.get(message.content) ?? [];
    sent.set(message.content, answer);
    for (const { isThought, parts } of plan[Number(message.content)]!.replies) {
      const stream = message.stream(isThought ? { kind: "thought" } : {});
      for (const each of parts) {
        stream.write(each);
        await new Promise((done) => setImmediate(done));
      }
      const { id } = await stream.end();
      answer.push({ id, text: parts.join(""), isText: !isThought });
    }
  };
  return sent;
}

test("shows every client the same ids, order and text", async () => {
  await fc.assert(
    fc.asyncProperty(turns, fc.boolean(), async (plan, isParallel) => {
      await using service = await startProtocols({ config: { sessions: "shared" } });
      const sent = answerFrom(service, plan);
      const watchers = await Promise.all(
        ["", "&pico_ext=1", "&pico_ext=1&pico_can=append,turns,stop"].map((features) =>
          watch(service, features),
        ),
      );
      const send = async ({ sender }: Turn, index: number): Promise<void> => {
        const content = String(index);
        if (sender === "pico") return watchers[index % 3]!.send(content, content);
        const seen: { view?: View; text?: string } = await senders[sender](service, content);
        const answer = sent.get(content)!;
        if (seen.view) {
          expect([...seen.view].toSorted()).toEqual(
            answer.map(({ id, text }) => [id, text]).toSorted(),
          );
        } else {
          const texts = answer.filter(({ isText }) => isText).map(({ text }) => text);
          expect(seen.text).toBe(texts.join("\n\n"));
        }
      };
      if (isParallel) await Promise.all(plan.map(send));
      else for (const [index, turn] of plan.entries()) await send(turn, index);
      const total = plan.reduce((sum, { replies }) => sum + replies.length, 0);
      const answers = (): number => [...sent.values()].flat().length;
      await expect.poll(answers).toBe(total);
      const truth = [...sent.values()].flat().map(({ id, text }) => [id, text]);
      for (const { view } of watchers) {
        await expect.poll(() => [...view].toSorted()).toEqual(truth.toSorted());
        expect([...view.keys()]).toEqual([...watchers[0]!.view.keys()]);
      }
      expect([...watchers[0]!.view]).toEqual(truth);
      for (const { close } of watchers) close();
    }),
    { numRuns: Number(process.env["PROTOCOL_RUNS"] ?? 15) },
  );
});
