/** The cards of questions, whose code loads after the page. @module */
import type { JSX } from "preact";
import { later } from "../../live/later.ts";
import type { CardProps } from "./acts.ts";

const part = later(() => import("./question-card.tsx"));

interface LaterCardProps extends CardProps {
  /** Drawn until the card is loaded. */
  readonly until: JSX.Element;
}

export function LaterCard({ until, ...props }: LaterCardProps): JSX.Element {
  const loaded = part.module.value;
  return loaded ? <loaded.QuestionCard {...props} /> : until;
}

/** Moves to the next open card. */
export const showNextQuestion = (): void => part.use((card) => card.showNextQuestion());
