import { appendFileSync, closeSync } from 'node:fs'
import { dirname } from 'node:path'
import { sameAddress } from '../api/same-address.ts'
import type { Server } from '../config/server.ts'
import { makePrivateFolder, openToAppend, writePrivateFile } from '../core/private-file.ts'
import { allKnownCollections, type KnownCollection, knownCollectionsFile } from './read-known-collections.ts'

export type { KnownCollection }

export function serverName(server: Server): string {
  return server.source === 'local' ? 'local' : server.origin
}

/** Adds a collection, or what became known of it since: a later line replaces an earlier one. */
export async function rememberCollection(stateDir: string, collection: KnownCollection): Promise<void> {
  const path = knownCollectionsFile(stateDir)
  await makePrivateFolder(dirname(path))
  const file = openToAppend(path)
  try {
    appendFileSync(file, `${JSON.stringify(collection)}\n`)
  } finally {
    closeSync(file)
  }
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
  await writePrivateFile(path, kept.map((collection) => `${JSON.stringify(collection)}\n`).join(''))
}

export function findByAddress(collections: readonly KnownCollection[], address: string): KnownCollection | undefined {
  return collections.find(({ contract_address }) => contract_address !== null && sameAddress(contract_address, address))
}
