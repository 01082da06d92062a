/** The `order` in the dry run of a run that is finished, by which `gdn mcp` recognizes it. */
export const NOTHING_LEFT = 'Nothing is left to send'
