/** Colors by meaning. Output must contain the same information without color. */
export interface Paint {
  bold(text: string): string
  dim(text: string): string
  good(text: string): string
  bad(text: string): string
  busy(text: string): string
}

const keepUnstyled = (text: string) => text

export const PLAIN_PAINT: Paint = {
  bold: keepUnstyled,
  dim: keepUnstyled,
  good: keepUnstyled,
  bad: keepUnstyled,
  busy: keepUnstyled,
}

/** Colors a text according to a status: good, bad or in progress. Unknown statuses count as in progress. */
export function paintStatus(status: string, text: string, paint: Paint): string {
  if (['deployed', 'done', 'finished', 'running'].includes(status)) return paint.good(text)
  if (['failed', 'error', 'unknown', 'damaged'].includes(status)) return paint.bad(text)
  return paint.busy(text)
}
