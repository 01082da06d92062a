/** Quotes a word for a POSIX shell if the word needs quotes. */
export const shellWord = (word: string): string =>
  /^[\w./@%+=:,-]+$/.test(word) ? word : `'${word.replaceAll("'", "'\\''")}'`
