import type { Server } from '../../config/server.ts'

/**
 * Returns the flag that names the same server in a suggested command, with a space before it. Empty if the
 * configuration names the server.
 */
export function serverFlag({ source, baseUrl }: Server): string {
  if (source === 'local') return ' --local'
  return source === 'flag' ? ` --base-url ${baseUrl}` : ''
}
