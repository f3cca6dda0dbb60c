export { iconsFor, type Icon } from "./draw.ts";
export { encodePng } from "./png.ts";
