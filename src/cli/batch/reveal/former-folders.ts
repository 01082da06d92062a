import { existsSync } from 'node:fs'
import { basename, dirname, join } from 'node:path'
import { listDirectory } from '../../../core/existing-path.ts'

/**
 * Returns a line break and a sentence that lists the folders to which `gdn art generate` renamed the former folder of a
 * manifest. Returns '' if there are none. Only the edition that was minted can be used to resume or reveal its drop.
 */
export function formerFoldersText(manifest: string | null): string {
  if (manifest === null) return ''
  const folder = dirname(manifest)
  const [name, parent] = [basename(folder), dirname(folder)]
  const former = listDirectory(parent)
    .filter((entry) => entry.startsWith(`${name}.before-`) && /^\d+$/.test(entry.slice(`${name}.before-`.length)))
    .filter((entry) => existsSync(join(parent, entry, basename(manifest))))
    .sort((a, b) => a.length - b.length || (a < b ? -1 : 1))
  const [first] = former
  if (first === undefined) return ''
  const rename = existsSync(folder) ? `move ${name} away, and rename` : 'rename'
  const which = former.length === 1 ? first : 'the minted folder'
  return `\nA former edition is in ${former.join(' or ')}, next to ${name}. If you minted the former edition, ${rename} ${which} to ${name}.`
}
