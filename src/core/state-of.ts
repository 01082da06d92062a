/** Replaces the amounts in a reason, so that a state is logged only once while its amounts change. */
export const stateOf = (reason: string): string => reason.replace(/[0-9]+(\.[0-9]+)?/g, '#')
