/** Matches a flag, and the value if it is only a placeholder. The first group contains the flag alone. */
export const FLAG_PATTERN = /(?<![\w-])(--[a-z][a-z-]*|-[a-zA-Z])(?![\w-])(?:[ =]<[^>\n]*>(?=[.,;:)\]'"`]*(?:\s|$)))?/g

/** Replaces the flags in a text with the names of a tool's parameters. Flags without a parameter stay unchanged. */
export const withParameters = (text: string, names: ReadonlyMap<string, string>): string =>
  text.replace(FLAG_PATTERN, (whole, flag: string) => names.get(flag) ?? whole)
