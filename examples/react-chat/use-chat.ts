// A hook for one conversation. Copy it into your page and change it.
import { useCallback, useEffect, useReducer, useRef, useState } from "react";
import {
  connect,
  type ChatError,
  type ChatMessage,
  type ChatStateChange,
  type ChatToolCall,
  type Client,
} from "doorward-client";

/** A row of the chat. */
export interface Entry {
  /** The id that the sender gave the message of a person, or the id of a message of the application. */
  readonly key: string;
  readonly role: "user" | "assistant" | "tool";
  readonly kind: ChatMessage["kind"];
  readonly content: string;
  readonly toolCalls: readonly ChatToolCall[];
  /** Of a message of a person: whether the application has it. */
  readonly delivery?: "sending" | "delivered" | "failed";
  /** False while the text grows. */
  readonly final: boolean;
}

type Change =
  | { readonly type: "put"; readonly entry: Entry }
  | { readonly type: "history"; readonly entries: readonly Entry[] }
  | { readonly type: "delivery"; readonly key: string; readonly delivery: Entry["delivery"] }
  | { readonly type: "remove"; readonly key: string };

function reduce(entries: readonly Entry[], change: Change): readonly Entry[] {
  const find = ({ key }: Entry): Entry | undefined => entries.find((entry) => entry.key === key);
  switch (change.type) {
    case "put":
      if (!find(change.entry)) return [...entries, change.entry];
      return entries.map((entry) => (entry.key === change.entry.key ? change.entry : entry));
    case "history": {
      // An entry of the connection is newer than the same entry of history.
      const known = new Set(change.entries.map(({ key }) => key));
      const later = entries.filter(({ key }) => !known.has(key));
      return [...change.entries.map((entry) => find(entry) ?? entry), ...later];
    }
    case "delivery":
      return entries.map((entry) =>
        entry.key === change.key && change.delivery
          ? { ...entry, delivery: change.delivery }
          : entry,
      );
    case "remove":
      return entries.filter(({ key }) => key !== change.key);
  }
}

const userEntry = (key: string, content: string, delivery: "sending" | "delivered"): Entry => ({
  key,
  role: "user",
  kind: "text",
  content,
  toolCalls: [],
  delivery,
  final: true,
});

const historyOf = async (client: Client): Promise<readonly Entry[]> => {
  const { items } = await client.history({ limit: 200 });
  return items.map(({ id, role, requestId, kind, content, toolCalls, complete }) =>
    role === "user"
      ? userEntry(requestId ?? id, content, "delivered")
      : { key: id, role, kind, content, toolCalls, final: complete !== false },
  );
};

/** Connects while the component is mounted. React may mount it twice: each client is closed. */
export function useChat(url: string, sessionId: string) {
  const [entries, dispatch] = useReducer(reduce, []);
  const [state, setState] = useState<Pick<ChatStateChange, "to" | "check">>({ to: "connecting" });
  const [running, setRunning] = useState<readonly string[]>([]);
  const [problem, setProblem] = useState("");
  const current = useRef<Client>(undefined);
  const ended = useCallback(
    (id: string) => setRunning((ids) => ids.filter((other) => other !== id)),
    [],
  );

  useEffect(() => {
    const load = (): void => {
      const failed = ({ message }: ChatError): void => {
        if (current.current === client) setProblem(message);
      };
      historyOf(client).then((page) => {
        if (current.current === client) dispatch({ type: "history", entries: page });
      }, failed);
    };
    const client = connect({
      url,
      token: "", // The cookie of the page authenticates it.
      sessionId,
      onState: setState,
      onUpdate({ id, kind, content, toolCalls, final }) {
        const entry: Entry = { key: id, role: "assistant", kind, content, toolCalls, final };
        dispatch({ type: "put", entry });
      },
      onTurn: ({ requestId, content }) =>
        dispatch({ type: "put", entry: userEntry(requestId, content, "delivered") }),
      onRemoved: ({ id }) => dispatch({ type: "remove", key: id }),
      onEnd: ({ requestId }) => ended(requestId),
      onGap: () => load(),
      onError: ({ message }) => setProblem(message),
    });
    current.current = client;
    load();
    return () => {
      current.current = undefined;
      client.close();
    };
  }, [url, sessionId, ended]);

  const send = useCallback(
    (content: string) => {
      const client = current.current;
      if (!client) return;
      const { id, accepted } = client.send(content);
      dispatch({ type: "put", entry: userEntry(id, content, "sending") });
      setRunning((ids) => [...ids, id]);
      accepted.then(
        () => {
          dispatch({ type: "delivery", key: id, delivery: "delivered" });
          if (!client.reportsEnds()) ended(id);
        },
        ({ message }: ChatError) => {
          dispatch({ type: "delivery", key: id, delivery: "failed" });
          ended(id);
          setProblem(message);
        },
      );
    },
    [ended],
  );
  const stop = useCallback(() => {
    current.current?.stop().catch(({ message }: ChatError) => setProblem(message));
  }, []);
  return { entries, state, problem, isRunning: running.length > 0, send, stop };
}
