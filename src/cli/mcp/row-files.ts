import { createHash } from 'node:crypto'
import { stat } from 'node:fs/promises'
import { dirname, resolve } from 'node:path'
import { readManifest } from '../../manifest/read.ts'
import { keyValue } from '../flags/parse.ts'
import type { Tool, Values } from './tools.ts'

/** Arguments with a manifest whose rows are minted. Of other tools, the chain or a saved plan has the contents. */
const MANIFESTS: Readonly<Record<string, readonly string[]>> = {
  'batch mint': ['manifest', 'unrevealed'],
  'nft mint': ['file'],
}

/**
 * Returns what identifies the local files that rows name, by manifest. They may be many and large, so it is their place
 * on disk with the time of the last change, not their contents.
 *
 * @param root the folder of relative paths of manifests
 */
export async function rowFilesOf({ command }: Tool, values: Values, root: string): Promise<Record<string, string>> {
  const found: Record<string, string> = {}
  const columnMap = [values.map ?? []].flat().map((pair) => {
    const { key, value } = keyValue(String(pair), '--map')
    return [key, value] as const
  })
  for (const property of MANIFESTS[command] ?? []) {
    if (values[property] === undefined) continue
    const path = resolve(root, String(values[property]))
    const files = new Set<string>()
    const options = { blockchain: null, localFiles: true, columnMap, fileFolders: [root] }
    // The command reports the problems of rows.
    for await (const _ of readManifest(
      { path },
      { ...options, onLocalFile: (file) => files.add(resolve(dirname(path), file)) },
    ));
    if (files.size > 0) found[`a local file of ${path}`] = await identityOf(files)
  }
  return found
}

async function identityOf(files: ReadonlySet<string>): Promise<string> {
  const hash = createHash('sha256')
  for (const file of files) {
    const { dev, ino, size, mtimeNs, ctimeNs } = await stat(file, { bigint: true }).catch(() => GONE)
    hash.update(`${[file, dev, ino, size, mtimeNs, ctimeNs].join('\0')}\n`)
  }
  return hash.digest('hex')
}

const GONE = { dev: 0n, ino: 0n, size: 0n, mtimeNs: 0n, ctimeNs: 0n }
