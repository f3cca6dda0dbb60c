/** Drawn in a conversation without messages. @module */
import type { JSX } from "preact";
import { Icon, Mark } from "../parts/icon.tsx";

interface HelloProps {
  /** Name of the application. */
  readonly name: string;
  /** Texts of the application; undefined if it has none. */
  readonly suggestions: readonly string[] | undefined;
  /** Sends a suggestion. */
  readonly onChoose: (text: string) => void;
}

interface Suggestion {
  readonly icon: string;
  readonly title: string;
  /** Explains the suggestion. */
  readonly text?: string;
}

/** Messages to begin with, unless the application has its own. */
const usual: readonly Suggestion[] = [
  { icon: "sparkles", title: "What can you do?", text: "Ask what it can help with" },
  { icon: "message-square", title: "Say hello", text: "See how it answers" },
];

export function Hello({ name, suggestions, onChoose }: HelloProps): JSX.Element {
  const own = suggestions?.map((title): Suggestion => ({ icon: "message-square", title }));
  return (
    <div class="hello">
      <span class="arch">
        <Mark size={44} />
      </span>
      <div>
        <h2>Talk to {name === "Application" ? "your application" : name}</h2>
        <p>Messages go straight to your application. Answers appear while they are written.</p>
      </div>
      <div class="ideas">
        {(own ?? usual).map(({ icon, title, text }) => (
          <button key={title} type="button" class="idea" onClick={() => onChoose(title)}>
            <Icon name={icon} />
            <b>{title}</b>
            {text !== undefined && <span>{text}</span>}
          </button>
        ))}
      </div>
    </div>
  );
}
