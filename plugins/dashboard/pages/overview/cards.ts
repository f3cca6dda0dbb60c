/** The cards of the overview whose code loads after the page. @module */
export { ApplicationCard } from "./application-card.tsx";
export { Attention } from "./attention.tsx";
export { ConnectionsCard } from "./connections-card.tsx";
export { Guide } from "./guide.tsx";
export { NodesCard } from "./nodes-card.tsx";
export { Traffic } from "./traffic.tsx";
