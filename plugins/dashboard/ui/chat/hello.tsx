/** Drawn in a conversation without messages. @module */
import type { JSX } from "preact";
import { Icon, Mark } from "../parts/icon.tsx";

interface HelloProps {
  /** Name of the application. */
  readonly name: string;
  readonly onChoose: (text: string) => void;
}

/** Messages to begin with. */
const suggestions = [
  { icon: "sparkles", title: "What can you do?", text: "Ask what it can help with" },
  { icon: "message-square", title: "Say hello", text: "See how it answers" },
];

export function Hello({ name, onChoose }: HelloProps): JSX.Element {
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
        {suggestions.map(({ icon, title, text }) => (
          <button key={title} type="button" class="idea" onClick={() => onChoose(title)}>
            <Icon name={icon} />
            <b>{title}</b>
            <span>{text}</span>
          </button>
        ))}
      </div>
    </div>
  );
}
