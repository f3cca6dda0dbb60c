export { iconsOf, type Icon } from "./draw.ts";
export { pngOf } from "./png.ts";
