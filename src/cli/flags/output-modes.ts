export const OUTPUT_MODES = ['table', 'json', 'ndjson', 'csv', 'ids'] as const

export type OutputMode = (typeof OUTPUT_MODES)[number]
