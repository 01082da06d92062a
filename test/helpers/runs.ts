/** Number of runs of a property test: `count` in `npm test`, twenty times that in `npm run soak`. */
export const runs = (count: number): number => (process.env.GDN_SOAK === '1' ? count * 20 : count)
