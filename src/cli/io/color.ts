export type ColorLevel = 0 | 1 | 2 | 3

interface Stream {
  isTTY?: boolean
  getColorDepth?: (env?: object) => number
}

/**
 * Returns the color level of a stream. A non-empty NO_COLOR or --no-color turns color off, and overrides FORCE_COLOR.
 * By default, only terminals get color, except with TERM=dumb.
 */
export function colorLevel(stream: Stream, env: NodeJS.ProcessEnv, noColor = false): ColorLevel {
  if (noColor || (env.NO_COLOR ?? '') !== '') return 0
  const force = env.FORCE_COLOR
  if (force !== undefined && force !== '') {
    if (force === '0' || force === 'false') return 0
    return force === '2' ? 2 : force === '3' ? 3 : 1
  }
  if (env.TERM === 'dumb' || !stream.isTTY) return 0
  const depth = stream.getColorDepth?.(env) ?? 4
  return depth >= 24 ? 3 : depth >= 8 ? 2 : depth >= 4 ? 1 : 0
}
