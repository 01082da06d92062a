/** Replaces the amounts in a reason, so that a state whose amounts change is logged only once. */
export const maskAmounts = (reason: string): string => reason.replace(/[0-9]+(\.[0-9]+)?/g, '#')
