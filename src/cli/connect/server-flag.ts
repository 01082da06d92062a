import type { Server } from '../../config/server.ts'

/**
 * Returns a space and the flag that selects the same server in a suggested command. Returns an empty string if the
 * configuration selects the server.
 */
export function serverFlag({ source, baseUrl }: Server): string {
  if (source === 'local') return ' --local'
  return source === 'flag' ? ` --base-url ${baseUrl}` : ''
}
