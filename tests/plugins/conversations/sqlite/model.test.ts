import { describe } from "vitest";
import { storageModelConformance } from "../../../conformance/storage-model.ts";

describe("SqliteStore", () => storageModelConformance(25));
