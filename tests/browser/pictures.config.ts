import { defineConfig } from "vitest/config";
import shared from "../vitest.config.ts";

/** `npm run pictures`: writes the pictures of the README and the documentation. */
export default defineConfig({ test: { ...shared.test, include: ["tests/browser/pictures.ts", "tests/desktop/pictures.ts"] } });
