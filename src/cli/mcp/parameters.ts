/**
 * Matches a flag and the placeholder of its value, if the value is only a placeholder. The first group is the flag
 * alone.
 */
export const FLAG = /(?<![\w-])(--[a-z][a-z-]*|-[a-zA-Z])(?![\w-])(?:[ =]<[^>\n]*>(?=[.,;:)\]'"`]*(?:\s|$)))?/g

/** Replaces the flags in a text with the names of a tool's parameters. A flag without a parameter stays. */
export const withParameters = (text: string, words: ReadonlyMap<string, string>): string =>
  text.replace(FLAG, (whole, flag: string) => words.get(flag) ?? whole)
