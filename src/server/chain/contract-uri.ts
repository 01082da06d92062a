/** The start of a URI that has metadata in itself. */
export const DATA_URI = 'data:application/json;base64,'

/** Whether a contract has no metadata from its owner yet: until then, it returns a URI with its name alone. */
export const isOfCreation = (uri: string, metadata: object): boolean =>
  uri.startsWith(DATA_URI) && Object.keys(metadata).join() === 'name'
