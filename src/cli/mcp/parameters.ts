/** A flag in a text, without the placeholder of its value. */
export const FLAG = /(?<![\w-])(--[a-z][a-z-]*|-[a-zA-Z])(?![\w-])(?:[ =]<[^>\n]*>)?/g

/** Returns a text with the parameters of a tool in place of the flags of its command. */
export const withParameters = (text: string, words: ReadonlyMap<string, string>): string =>
  text.replace(FLAG, (whole, flag: string) => words.get(flag) ?? whole)
