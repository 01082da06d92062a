/**
 * The number of the newest schema: that of the first migration and one for each later one. Apart from the migrations,
 * because completions load it at each key press.
 */
export const SCHEMA_VERSION = 11
