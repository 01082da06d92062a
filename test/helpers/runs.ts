/** How often a property is tried: `count` in `npm test`, twenty times as often in `npm run soak`. */
export const runs = (count: number): number => (process.env.GDN_SOAK === '1' ? count * 20 : count)
