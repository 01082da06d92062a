/**
 * The value of `order` that the dry run of a finished run prints. `gdn mcp` uses this text to recognize a finished run.
 */
export const NOTHING_LEFT = 'Nothing is left to send'
