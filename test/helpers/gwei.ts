/** One gwei in wei. */
export const GWEI = 10n ** 9n
