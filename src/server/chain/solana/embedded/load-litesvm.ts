import { createRequire } from 'node:module'
import { arch, platform } from 'node:os'
import type * as Native from 'litesvm/dist/internal.js'
import { GdnError, messageOf, systemCode } from '../../../../core/errors.ts'

export type LiteSvmModule = Pick<typeof Native, 'Account' | 'Clock' | 'FailedTransactionMetadata' | 'LiteSvm'>

export const LITESVM_VERSION = '1.5.0'

const PACKAGES: Record<string, readonly [string, ...string[]]> = {
  'linux-x64': ['litesvm-linux-x64-gnu', 'litesvm-linux-x64-musl'],
  'linux-arm64': ['litesvm-linux-arm64-gnu', 'litesvm-linux-arm64-musl'],
  'darwin-x64': ['litesvm-darwin-x64'],
  'darwin-arm64': ['litesvm-darwin-arm64'],
}

const NEEDS = 'litesvm runs on Linux and macOS, on x64 and arm64'

/** A machine as `node:os` names it, and how a module is loaded from where gdn's own files are. */
export interface LiteSvmLookup {
  platform?: string
  arch?: string
  require?: (name: string) => unknown
}

/**
 * The virtual machine for this system: a package of native code per platform, as an optional dependency. Its wrapper
 * in JavaScript isn't used: it would bring fifty packages along that are in the bundle already, and takes a third of
 * the time of executing a transaction.
 *
 * @throws GdnError `native_missing` that names the command which installs it
 */
export function loadLiteSvm(lookup: LiteSvmLookup = {}): LiteSvmModule {
  const machine = `${lookup.platform ?? platform()}-${lookup.arch ?? arch()}`
  const names = PACKAGES[machine]
  if (names === undefined) {
    throw new GdnError('native_missing', `the embedded Solana chains need litesvm, which isn't made for ${machine}`, {
      hint: NEEDS,
    })
  }
  const require = lookup.require ?? createRequire(import.meta.url)
  for (const name of names) {
    try {
      return require(name) as LiteSvmModule
    } catch (cause) {
      if (systemCode(cause) === 'MODULE_NOT_FOUND') continue
      throw new GdnError('native_missing', `litesvm can't run on this machine: ${messageOf(cause)}`, {
        hint: NEEDS,
        cause,
      })
    }
  }
  throw new GdnError(
    'native_missing',
    `the embedded Solana chains need litesvm: the package ${names[0]} isn't installed`,
    {
      hint: `install it beside gdn: npm install ${names[0]}@${LITESVM_VERSION} (with -g where gdn is installed globally), or reinstall gdn without --omit=optional; ${NEEDS}`,
    },
  )
}
