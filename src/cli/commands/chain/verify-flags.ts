import { existsSync } from 'node:fs'
import { resolve } from 'node:path'
import { flagError } from '../../../core/errors.ts'
import { isOnLoopback } from '../../../core/parse-url.ts'
import { Secret } from '../../../core/secret.ts'
import type { BackendFlags } from '../../connect/data-dir.ts'
import type { Deps } from '../../deps.ts'
import type { OutputFlags } from '../../flags/common.ts'
import { safe } from '../../io/io.ts'

export interface VerifyFlags extends OutputFlags, BackendFlags {
  etherscanKeyFile?: string
  sourcifyUrl?: string
  etherscanUrl?: string
  creationTx?: string
  to?: string
  timeout?: number
}

/**
 * Returns the key from a file or the environment. The key can't be an argument, because other users can see the
 * arguments of a process.
 */
export async function etherscanKey(
  { cwd, env }: Deps,
  { etherscanKeyFile, etherscanUrl }: VerifyFlags,
): Promise<Secret | null> {
  if (
    etherscanUrl !== undefined &&
    new URL(etherscanUrl).protocol === 'http:' &&
    !isOnLoopback(new URL(etherscanUrl))
  ) {
    throw flagError('--etherscan-url', 'must be an https URL, because http would send the key unencrypted')
  }
  const { passwordProblem, readPasswordFile } = await import('../../../keystore/password.ts')
  if (etherscanKeyFile !== undefined) return readPasswordFile(resolve(cwd, etherscanKeyFile), passwordProblem)
  const keyFromEnv = env.GDN_ETHERSCAN_KEY
  if (keyFromEnv !== undefined && keyFromEnv !== '') return new Secret(keyFromEnv)
  if (etherscanUrl === undefined) return null
  throw flagError('--etherscan-url', 'requires a key', 'Add --etherscan-key-file, or set GDN_ETHERSCAN_KEY.')
}

export function transactionHash(text: string | undefined): `0x${string}` | undefined {
  if (text === undefined || /^0x[0-9a-fA-F]{64}$/.test(text)) return text as `0x${string}` | undefined
  throw flagError('--creation-tx', 'must be the hash of a transaction (0x and 64 hex digits)')
}

export async function writeInput({ cwd, io }: Deps, to: string, text: string): Promise<void> {
  if (to === '-') return await io.data(`${text}\n`)
  const { writeNewFile } = await import('../../../core/new-file.ts')
  const file = resolve(cwd, to)
  if (existsSync(file) || !(await writeNewFile(file, `${text}\n`))) {
    throw flagError('--to', `${file} already exists`, 'Use another name. Existing files are not overwritten.')
  }
  io.note(`Wrote the standard JSON input to ${safe(file)}.`)
}
