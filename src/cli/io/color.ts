export type ColorLevel = 0 | 1 | 2 | 3

interface Stream {
  isTTY?: boolean
  getColorDepth?: (env?: object) => number
}

/**
 * Returns the color level of one stream. A non-empty NO_COLOR and --no-color turn color off and override FORCE_COLOR.
 * Without any of these, only terminals get color, except with TERM=dumb.
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
