/**
 * The version of the newest schema: `FIRST_VERSION`, plus one for each later migration. This constant is in a separate
 * file, because shell completion loads it without the schema.
 */
export const SCHEMA_VERSION = 13
