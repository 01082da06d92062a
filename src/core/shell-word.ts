/** A word as a POSIX shell takes it, quoted where it must be. */
export const shellWord = (word: string): string =>
  /^[\w./@%+=:,-]+$/.test(word) ? word : `'${word.replaceAll("'", "'\\''")}'`
