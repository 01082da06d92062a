/**
 * The version of the newest schema: `FIRST_VERSION`, plus one for each later migration. It has its own file, because
 * completions load it at each key press.
 */
export const SCHEMA_VERSION = 11
