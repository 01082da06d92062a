import { appendFile, mkdir, readFile, rename, writeFile } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { sameAddress } from '../api/address.ts'
import { type Blockchain, isBlockchain } from '../api/blockchains.ts'
import type { Server } from '../config/server.ts'
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

export function serverName(server: Server): string {
  return server.source === 'local' ? 'local' : server.origin
}

const fileIn = (stateDir: string) => join(stateDir, 'collections.jsonl')

/** Adds a collection, or what became known of it since: a later line replaces an earlier one. */
export async function rememberCollection(stateDir: string, collection: KnownCollection): Promise<void> {
  const path = fileIn(stateDir)
  await mkdir(dirname(path), { recursive: true, mode: 0o700 })
  await appendFile(path, `${JSON.stringify(collection)}\n`, { mode: 0o600 })
}

/** The collections of one server, oldest first. A line that was cut off by a crash is passed over. */
export async function knownCollections(stateDir: string, server: string): Promise<KnownCollection[]> {
  const all = await readAll(stateDir)
  return all.filter((collection) => collection.server === server)
}

/** Forgets what was on a server that is gone. */
export async function forgetCollections(stateDir: string, server: string): Promise<void> {
  const all = await readAll(stateDir)
  const kept = all.filter((collection) => collection.server !== server)
  if (kept.length === all.length) return
  const path = fileIn(stateDir)
  await writeFile(`${path}.new`, kept.map((collection) => `${JSON.stringify(collection)}\n`).join(''), { mode: 0o600 })
  await rename(`${path}.new`, path)
}

export function findByAddress(collections: readonly KnownCollection[], address: string): KnownCollection | undefined {
  return collections.find(({ contract_address }) => contract_address !== null && sameAddress(contract_address, address))
}

async function readAll(stateDir: string): Promise<KnownCollection[]> {
  const text = await readFile(fileIn(stateDir), 'utf8').catch((error: unknown) => {
    if (systemCode(error) === 'ENOENT' || systemCode(error) === 'ENOTDIR') return ''
    throw error
  })
  const byId = new Map<string, KnownCollection>()
  for (const line of text.split('\n')) {
    const collection = parseLine(line)
    if (collection !== null) byId.set(`${collection.server} ${collection.transaction_gdn_id}`, collection)
  }
  return [...byId.values()]
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
