import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { type Blockchain, isBlockchain } from '../../api/blockchains.ts'
import { sameAddress } from '../../api/same-address.ts'
import type { Server } from '../../config/server.ts'
import { systemCode } from '../../core/errors.ts'

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

export function serverName(server: Server): string {
  return server.source === 'local' ? 'local' : server.origin
}

/** The collections of one server, oldest first. A line that was cut off by a crash is passed over. */
export async function knownCollections(stateDir: string, server: string): Promise<KnownCollection[]> {
  const all = await allKnownCollections(stateDir)
  return all.filter((collection) => collection.server === server)
}

export function findByAddress(collections: readonly KnownCollection[], address: string): KnownCollection | undefined {
  return collections.find(({ contract_address }) => contract_address !== null && sameAddress(contract_address, address))
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
