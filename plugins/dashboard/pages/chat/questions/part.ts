/** The cards of questions, whose code loads after the page. @module */
import { later } from "../../live/later.ts";

const part = later(() => import("./question-card.tsx"));

/** @returns Undefined until the card is loaded. */
export const cardPart = () => part.module.value && { QuestionCard: part.module.value.QuestionCard };

/** Moves to the next open card. */
export const showNextQuestion = (): void => part.use((card) => card.showNextQuestion());
