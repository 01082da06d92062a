/** The `order` that the dry run of a finished run prints. `gdn mcp` recognizes a finished run by it. */
export const NOTHING_LEFT = 'Nothing is left to send'
