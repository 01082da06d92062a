import { appendFile, mkdir, rename, writeFile } from 'node:fs/promises'
import { dirname } from 'node:path'
import { sameAddress } from '../api/address.ts'
import type { Server } from '../config/server.ts'
import { allKnownCollections, type KnownCollection, knownCollectionsFile } from './read-known-collections.ts'

export type { KnownCollection }

export function serverName(server: Server): string {
  return server.source === 'local' ? 'local' : server.origin
}

/** Adds a collection, or what became known of it since: a later line replaces an earlier one. */
export async function rememberCollection(stateDir: string, collection: KnownCollection): Promise<void> {
  const path = knownCollectionsFile(stateDir)
  await mkdir(dirname(path), { recursive: true, mode: 0o700 })
  await appendFile(path, `${JSON.stringify(collection)}\n`, { mode: 0o600 })
}

/** The collections of one server, oldest first. A line that was cut off by a crash is passed over. */
export async function knownCollections(stateDir: string, server: string): Promise<KnownCollection[]> {
  const all = await allKnownCollections(stateDir)
  return all.filter((collection) => collection.server === server)
}

/** Forgets what was on a server that is gone. */
export async function forgetCollections(stateDir: string, server: string): Promise<void> {
  const all = await allKnownCollections(stateDir)
  const kept = all.filter((collection) => collection.server !== server)
  if (kept.length === all.length) return
  const path = knownCollectionsFile(stateDir)
  await writeFile(`${path}.new`, kept.map((collection) => `${JSON.stringify(collection)}\n`).join(''), { mode: 0o600 })
  await rename(`${path}.new`, path)
}

export function findByAddress(collections: readonly KnownCollection[], address: string): KnownCollection | undefined {
  return collections.find(({ contract_address }) => contract_address !== null && sameAddress(contract_address, address))
}
