/** Returns what stays the same of a reason while its amounts change, so that a state is logged once. */
export const stateOf = (reason: string): string => reason.replace(/[0-9]+(\.[0-9]+)?/g, '#')
