/** Returns a reason without its amounts, so that a state is logged once while its amounts change. */
export const stateOf = (reason: string): string => reason.replace(/[0-9]+(\.[0-9]+)?/g, '#')
