import { appendFileSync, existsSync } from 'node:fs'
import { join } from 'node:path'
import * as z from 'zod'
import { parseJson } from '../core/json.ts'
import { readSecretFile } from '../keystore/private-file.ts'
import { checkWalletFolder } from './folder.ts'

/**
 * Name of the file with the records. The name doesn't have the extension of a keystore, so that the file isn't listed
 * as a wallet.
 */
const EXPORTS_FILE = 'exports.jsonl'
const MAX_EXPORTS_BYTES = 1024 * 1024

const lineSchema = z.object({
  name: z.string(),
  format: z.string(),
  /** The destination, or null for standard output. */
  to: z.string().nullable(),
  at: z.string(),
})

/** The record of an export, which copies a wallet's key out of the wallet folder. */
export type WalletExport = z.output<typeof lineSchema>

/** Records that the key of a wallet was copied. The record doesn't contain the key. */
export function recordExport(folder: string, newExport: WalletExport): void {
  appendFileSync(join(folder, EXPORTS_FILE), `${JSON.stringify(newExport)}\n`, { mode: 0o600 })
}

/** Returns the recorded exports, oldest first. Lines that can't be read are omitted. */
export function readExports(folder: string): WalletExport[] {
  if (!checkWalletFolder(folder) || !existsSync(join(folder, EXPORTS_FILE))) return []
  const lines = readSecretFile(join(folder, EXPORTS_FILE), MAX_EXPORTS_BYTES).split('\n')
  return lines.flatMap((text) => {
    const { data } = lineSchema.safeParse(parseJson(text))
    return data === undefined ? [] : [data]
  })
}
