/** The keys of request metadata that the API defines. All other keys are extra keys. */
export const METADATA_KEYS: ReadonlySet<string> = new Set(['title', 'description', 'file_fields', 'attribute'])
