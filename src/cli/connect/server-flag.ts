import type { Server } from '../../config/server.ts'

/**
 * What names the same server again in a command that people are told to type: a flag with a space before it, or
 * nothing where their configuration names it.
 */
export function serverFlag({ source, baseUrl }: Server): string {
  if (source === 'local') return ' --local'
  return source === 'flag' ? ` --base-url ${baseUrl}` : ''
}
