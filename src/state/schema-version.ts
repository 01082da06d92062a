/**
 * The version of the newest schema: `FIRST_VERSION`, plus one for each later migration. This constant has its own file,
 * so that shell completion can load it without the schema.
 */
export const SCHEMA_VERSION = 13
