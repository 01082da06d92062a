import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { type Blockchain, isBlockchain } from '../api/blockchains.ts'
import { systemCode } from '../core/errors.ts'

/** A collection that was created from this machine. The API has no list of them, so the CLI keeps one. */
export interface KnownCollection {
  /** The server's origin, or `local` for the local backend, whose port may change. */
  server: string
  transaction_gdn_id: string
  contract_address: string | null
  name: string
  blockchain: Blockchain
  wallet_address: string
  created_at: string
}

export const knownCollectionsFile = (stateDir: string) => join(stateDir, 'collections.jsonl')

/** The collections of every server, oldest first. */
export async function allKnownCollections(stateDir: string): Promise<KnownCollection[]> {
  const text = readIfThere(knownCollectionsFile(stateDir))
  const byId = new Map<string, KnownCollection>()
  for (const line of text.split('\n')) {
    const collection = parseLine(line)
    if (collection !== null) byId.set(`${collection.server} ${collection.transaction_gdn_id}`, collection)
  }
  return [...byId.values()]
}

function readIfThere(path: string): string {
  try {
    return readFileSync(path, 'utf8')
  } catch (error) {
    if (systemCode(error) === 'ENOENT' || systemCode(error) === 'ENOTDIR') return ''
    throw error
  }
}

function parseLine(line: string): KnownCollection | null {
  try {
    const value = JSON.parse(line) as Partial<KnownCollection> | null
    const { server, transaction_gdn_id, contract_address, name, blockchain, wallet_address, created_at } = value ?? {}
    if (typeof server !== 'string' || typeof transaction_gdn_id !== 'string') return null
    if (typeof name !== 'string' || typeof blockchain !== 'string' || !isBlockchain(blockchain)) return null
    return {
      server,
      transaction_gdn_id,
      contract_address: typeof contract_address === 'string' ? contract_address : null,
      name,
      blockchain,
      wallet_address: typeof wallet_address === 'string' ? wallet_address : '',
      created_at: typeof created_at === 'string' ? created_at : '',
    }
  } catch {
    return null
  }
}
