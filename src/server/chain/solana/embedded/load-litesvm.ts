import { createRequire } from 'node:module'
import { arch, platform } from 'node:os'
import type * as Native from 'litesvm/dist/internal.js'
import { GdnError, messageOf, systemCode } from '../../../../core/errors.ts'
import { howToInstall } from '../../how-to-install.ts'

export type LiteSvmModule = Pick<typeof Native, 'Account' | 'Clock' | 'FailedTransactionMetadata' | 'LiteSvm'>

export const LITESVM_VERSION = '1.5.0'

const PACKAGES: Record<string, readonly [string, ...string[]]> = {
  'linux-x64': ['litesvm-linux-x64-gnu', 'litesvm-linux-x64-musl'],
  'linux-arm64': ['litesvm-linux-arm64-gnu', 'litesvm-linux-arm64-musl'],
  'darwin-x64': ['litesvm-darwin-x64'],
  'darwin-arm64': ['litesvm-darwin-arm64'],
}

const REQUIREMENTS = 'LiteSVM runs on Linux and macOS, on x64 and arm64.'

/**
 * The platform and architecture, named as in `node:os`, and a function that loads a module. Default: this machine's.
 */
export interface LiteSvmLookup {
  platform?: string
  arch?: string
  require?: (name: string) => unknown
}

/**
 * Loads the virtual machine for this system from an optional dependency, one native package per platform. The
 * JavaScript wrapper of litesvm isn't used, because it would install fifty packages that the bundle already contains,
 * and takes a third of a transaction's execution time.
 *
 * @throws GdnError `native_missing`, with the install command if there is a build for this machine
 */
export function loadLiteSvm(lookup: LiteSvmLookup = {}): LiteSvmModule {
  const machine = `${lookup.platform ?? platform()}-${lookup.arch ?? arch()}`
  const names = PACKAGES[machine]
  if (names === undefined) {
    throw new GdnError('native_missing', `the embedded Solana chains need litesvm, which has no build for ${machine}`, {
      hint: REQUIREMENTS,
    })
  }
  const require = lookup.require ?? createRequire(import.meta.url)
  for (const name of names) {
    try {
      return require(name) as LiteSvmModule
    } catch (cause) {
      if (systemCode(cause) === 'MODULE_NOT_FOUND') continue
      throw new GdnError('native_missing', `litesvm can't run on this machine: ${messageOf(cause)}`, {
        hint: REQUIREMENTS,
        cause,
      })
    }
  }
  throw new GdnError(
    'native_missing',
    `the embedded Solana chains need litesvm: the package ${names[0]} is not installed`,
    {
      hint: `${howToInstall(`${names[0]}@${LITESVM_VERSION}`)} ${REQUIREMENTS}`,
    },
  )
}
