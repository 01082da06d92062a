/** Replaces the amounts in a reason with `#`, so that a reason is logged only once if only its amounts change. */
export const maskAmounts = (reason: string): string => reason.replace(/[0-9]+(\.[0-9]+)?/g, '#')
