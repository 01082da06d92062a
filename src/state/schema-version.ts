/**
 * The version of the newest schema: `FIRST_VERSION`, plus one for each later migration. It is in a separate file,
 * because shell completion loads it, but not the schema.
 */
export const SCHEMA_VERSION = 13
