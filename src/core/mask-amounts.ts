/** Replaces the amounts in a reason with `#`, so that a reason isn't logged again if only its amounts change. */
export const maskAmounts = (reason: string): string => reason.replace(/[0-9]+(\.[0-9]+)?/g, '#')
