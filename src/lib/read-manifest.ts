import { isBlockchain } from '../api/blockchains.ts'
import { formatProblem, GdnError } from '../core/errors.ts'
import type { Manifest, ManifestOptions } from './types.ts'

/**
 * Reads a manifest (CSV, JSON, JSONL) and checks every row against the API contract. Returns problems instead of
 * throwing them.
 *
 * @throws GdnError `invalid_input` if the option `blockchain` is not a blockchain
 * @example
 * const { rows, problems } = await readManifest('drop.csv', { blockchain: 'polygon' })
 * for (const { text } of problems) console.error(text)
 */
export async function readManifest(path: string, options: ManifestOptions = {}): Promise<Manifest> {
  const { blockchain, contractAddress = null, receiver = null, sender = null } = options
  if (blockchain !== undefined && !isBlockchain(blockchain)) {
    throw new GdnError('invalid_input', `unknown blockchain "${blockchain}"`, { place: { field: 'blockchain' } })
  }
  const { readManifest: read } = await import('../manifest/read.ts')
  const reading = read(
    { path },
    { blockchain: blockchain ?? null, contractAddress, receiver, sender, localFiles: true },
  )
  const rows: Manifest['rows'] = []
  const problems: Manifest['problems'] = []
  for await (const item of reading) {
    if ('row' in item) rows.push(item.row)
    else {
      const { place, message, hint } = item.issue
      problems.push({ text: formatProblem(item.issue), ...place, message, hint })
    }
  }
  return { rows, problems, ...reading.target }
}
