import { appendFileSync, closeSync } from 'node:fs'
import { dirname } from 'node:path'
import { makePrivateFolder, openToAppend, writePrivateFile } from '../../core/private-file.ts'
import { allKnownCollections, type KnownCollection, knownCollectionsFile } from './read-known-collections.ts'

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

/** Forgets what was on a server that is gone. */
export async function forgetCollections(stateDir: string, server: string): Promise<void> {
  const all = await allKnownCollections(stateDir)
  const kept = all.filter((collection) => collection.server !== server)
  if (kept.length === all.length) return
  const path = knownCollectionsFile(stateDir)
  await writePrivateFile(path, kept.map((collection) => `${JSON.stringify(collection)}\n`).join(''))
}
