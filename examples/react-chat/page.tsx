// The page: the state of the connection, the messages of all kinds, and a form.
import { StrictMode, useState, type FormEvent } from "react";
import { createRoot } from "react-dom/client";
import { useChat, type Entry } from "./use-chat.ts";

function Row({ entry }: { readonly entry: Entry }) {
  const { role, kind, content, toolCalls, delivery, final } = entry;
  if (kind === "tool_calls")
    return (
      <li className={kind}>
        {toolCalls.map(({ id, name, result = "…" }) => (
          <code key={id}>{`${name}: ${result}`}</code>
        ))}
      </li>
    );
  if (kind === "thought")
    return (
      <li className={kind}>
        <details>
          <summary>Thought</summary>
          {content}
        </details>
      </li>
    );
  return (
    <li className={role}>
      {content}
      {!final && " …"}
      {delivery === "failed" && " (not delivered)"}
    </li>
  );
}

function Chat() {
  const { entries, state, problem, isRunning, send, stop } = useChat("/pico", "main");
  const [text, setText] = useState("");
  const submit = (event: FormEvent): void => {
    event.preventDefault();
    if (text.trim() === "") return;
    send(text);
    setText("");
  };
  return (
    <main>
      <p role="status">{state.check ?? state.to}</p>
      <ol aria-live="polite">
        {entries.map((entry) => (
          <Row key={entry.key} entry={entry} />
        ))}
      </ol>
      <form onSubmit={submit}>
        <label>
          Message <input value={text} onChange={({ target }) => setText(target.value)} />
        </label>
        <button>Send</button>
        {isRunning && (
          <button type="button" onClick={stop}>
            Stop
          </button>
        )}
      </form>
      {problem && <p role="alert">{problem}</p>}
    </main>
  );
}

createRoot(document.getElementById("root")!).render(
  <StrictMode>
    <Chat />
  </StrictMode>,
);
