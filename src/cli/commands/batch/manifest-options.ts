import { realpath } from 'node:fs/promises'
import { resolve } from 'node:path'
import type { ManifestOptions, ManifestSource } from '../../../manifest/read.ts'
import type { Deps } from '../../deps.ts'
import type { BatchMintFlags } from './flags.ts'

type TargetFlags = Pick<BatchMintFlags, 'contract' | 'blockchain' | 'receiver' | 'sender' | 'extraColumns'>

/** How the flags have a manifest read. */
export async function manifestOptions({ addresses, cwd }: Deps, flags: TargetFlags): Promise<ManifestOptions> {
  const book = await addresses()
  return {
    blockchain: flags.blockchain ?? null,
    contractAddress: flags.contract ?? null,
    receiver: flags.receiver ?? null,
    sender: flags.sender ?? null,
    addressOf: (name) => book.resolve(name, {}),
    extraColumns: flags.extraColumns ?? false,
    localFiles: true,
    fileFolders: [cwd],
  }
}

/** A manifest by its path as it was typed, so that messages read `drop.csv:7`; standard input for `-`. */
export function manifestSource({ io }: Deps, manifest: string): ManifestSource {
  if (manifest === '-') return { stdin: io.stdin }
  return { path: manifest }
}

/** The path by which runs know a manifest; null for standard input. */
export async function manifestPath({ cwd }: Deps, manifest: string): Promise<string | null> {
  if (manifest === '-') return null
  const path = resolve(cwd, manifest)
  return await realpath(path).catch(() => path)
}
