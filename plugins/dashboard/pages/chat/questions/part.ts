/** The code of the cards, which loads after the page. @module */
import { later } from "../../live/later.ts";

export const questionPart = later(() => import("./question-card.tsx"));
