import { createHash } from 'node:crypto'
import { stat } from 'node:fs/promises'
import { resolve } from 'node:path'
import { existingPath } from '../../core/existing-path.ts'
import { keyValue } from '../flags/common.ts'
import type { Tool, Values } from './tools.ts'

/**
 * The arguments that specify a manifest whose rows are minted, by tool. Other tools read the content from the chain or
 * a saved plan.
 */
const MANIFEST_PARAMETERS: Readonly<Record<string, readonly string[]>> = {
  'batch mint': ['manifest', 'unrevealed'],
  'nft mint': ['file'],
}

/** Returns the paths of the local files to which the rows of a manifest refer. */
export type LocalFilesIn = (
  path: string,
  options: { columnMap: (readonly [string, string])[]; fileFolders: string[] },
) => Promise<ReadonlySet<string>>

/**
 * Returns, for each manifest, a digest of the local files to which its rows refer. The digest covers the paths, inodes,
 * sizes and timestamps of the files. It doesn't cover their content, because there may be many large files.
 *
 * @param root the base folder of relative paths
 */
export async function identifyRowFiles(
  { command }: Tool,
  values: Values,
  root: string,
  localFilesIn: LocalFilesIn,
): Promise<Record<string, string>> {
  const identities: Record<string, string> = {}
  const columnMap = [values.map ?? []].flat().map((pair) => {
    const { key, value } = keyValue(String(pair), '--map')
    return [key, value] as const
  })
  for (const property of MANIFEST_PARAMETERS[command] ?? []) {
    if (values[property] === undefined) continue
    const path = resolve(root, String(values[property]))
    const files = await localFilesIn(path, { columnMap, fileFolders: [root] })
    if (files.size > 0) identities[`a local file of ${path}`] = await digestFileIdentities(files)
  }
  return identities
}

async function digestFileIdentities(files: ReadonlySet<string>): Promise<string> {
  const hash = createHash('sha256')
  for (const file of files) {
    const { dev, ino, size, mtimeNs, ctimeNs } = await stat(existingPath(file), { bigint: true }).catch(
      () => MISSING_FILE,
    )
    hash.update(`${[file, dev, ino, size, mtimeNs, ctimeNs].join('\0')}\n`)
  }
  return hash.digest('hex')
}

const MISSING_FILE = { dev: 0n, ino: 0n, size: 0n, mtimeNs: 0n, ctimeNs: 0n }
