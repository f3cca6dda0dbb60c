// The bounds of the records of one name.

export const maxRecords = 10_000;
export const maxBytes = 8 * 1_048_576;
/** Of one value as JSON, in UTF-8. */
export const maxValueBytes = 64 * 1_024;
export const maxKeyLength = 256;
