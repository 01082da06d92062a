/** Colors by meaning. Output must be as informative without them. */
export interface Paint {
  bold(text: string): string
  dim(text: string): string
  good(text: string): string
  bad(text: string): string
  busy(text: string): string
}

const same = (text: string) => text

export const PLAIN: Paint = { bold: same, dim: same, good: same, bad: same, busy: same }

/** Colors a status: good or bad as listed here. All other statuses are in progress. */
export function paintStatus(status: string, text: string, paint: Paint): string {
  if (['deployed', 'done', 'finished', 'running'].includes(status)) return paint.good(text)
  if (['failed', 'error', 'unknown', 'damaged'].includes(status)) return paint.bad(text)
  return paint.busy(text)
}
