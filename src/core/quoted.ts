const MAX_LENGTH = 60

/** Returns the beginning of a user's text in quotes, for a message. */
export const quoted = (text: string): string =>
  JSON.stringify(text.length > MAX_LENGTH ? `${text.slice(0, MAX_LENGTH)}…` : text)
