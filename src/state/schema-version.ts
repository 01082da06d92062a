/**
 * The version of the newest schema: `FIRST_VERSION`, plus one for each later migration. It has its own file, because
 * shell completions load it at each keystroke.
 */
export const SCHEMA_VERSION = 11
