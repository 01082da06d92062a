/** Colors by meaning. The text alone has the same information. */
export interface Paint {
  bold(text: string): string
  dim(text: string): string
  good(text: string): string
  bad(text: string): string
  busy(text: string): string
}

const same = (text: string) => text

export const PLAIN: Paint = { bold: same, dim: same, good: same, bad: same, busy: same }

/** Colors a status: deployed and running are good, failed is bad, all others are in progress. */
export function paintStatus(status: string, text: string, paint: Paint): string {
  if (['deployed', 'done', 'finished', 'running'].includes(status)) return paint.good(text)
  if (['failed', 'error', 'unknown', 'damaged'].includes(status)) return paint.bad(text)
  return paint.busy(text)
}
