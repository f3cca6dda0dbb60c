import { describe } from "vitest";
import { storageModelConformance } from "../../../conformance/storage-model.ts";

describe("openSqliteStorage", () => storageModelConformance(12));
