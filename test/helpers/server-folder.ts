import { mkdtempSync, realpathSync, statSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'

/** A path that needs no quotes in settings, and leaves room for a name in the address of a Unix socket (103 bytes). */
const SUITABLE = /^[\w./-]{1,60}$/

/** Creates a temporary folder for a server with a Unix socket. Servers that refuse to run as root can enter it. */
export function serverFolder(prefix: string): string {
  const place = [tmpdir(), '/tmp'].find((path) => SUITABLE.test(path) && isOpen(realpathSync(path)))
  return mkdtempSync(join(place ?? tmpdir(), prefix))
}

/** Whether the user of a server can enter a folder: root may have a temporary folder of its own. */
function isOpen(path: string): boolean {
  if (process.getuid?.() !== 0) return true
  const above = dirname(path)
  return (statSync(path).mode & 0o001) !== 0 && (above === path || isOpen(above))
}
