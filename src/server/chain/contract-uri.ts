/** Prefix of a URI that contains the metadata itself. */
export const DATA_URI = 'data:application/json;base64,'

/**
 * Returns whether a contract still has its initial metadata. Until the owner sets metadata, the contract returns a data
 * URI with only its name.
 */
export const isInitialMetadata = (uri: string, metadata: object): boolean =>
  uri.startsWith(DATA_URI) && Object.keys(metadata).join() === 'name'
