import { createRequire } from 'node:module'
import { arch, platform } from 'node:os'
import { dirname, join } from 'node:path'
import { GdnError } from '../../../../core/errors.ts'
import { howToInstall } from '../../how-to-install.ts'

export const ANVIL_VERSION = '1.7.1'

const PACKAGES: Record<string, string> = {
  'linux-x64': '@foundry-rs/anvil-linux-amd64',
  'linux-arm64': '@foundry-rs/anvil-linux-arm64',
  'darwin-x64': '@foundry-rs/anvil-darwin-amd64',
  'darwin-arm64': '@foundry-rs/anvil-darwin-arm64',
  'win32-x64': '@foundry-rs/anvil-win32-amd64',
}

const REQUIREMENTS =
  'Anvil runs on Linux (x64, arm64) with glibc 2.35 or newer (Ubuntu 22.04, Debian 12, not Alpine), on macOS, and on Windows x64.'

/** The platform, named as in `node:os`, and the function that resolves modules from gdn's own files. */
export interface AnvilLookup {
  platform?: string
  arch?: string
  resolve?: (specifier: string) => string
}

/**
 * Returns the path of the anvil binary for this machine. The binary for each platform is in a separate optional
 * dependency. The dependency is resolved from the running module, which works for sources, for the bundle and for a
 * global installation.
 *
 * @throws GdnError `native_missing`, with the install command if there is a build for this machine
 */
export function findAnvil(lookup: AnvilLookup = {}): string {
  const system = lookup.platform ?? platform()
  const machine = `${system}-${lookup.arch ?? arch()}`
  const name = PACKAGES[machine]
  if (name === undefined) {
    throw new GdnError('native_missing', `the embedded EVM chains need anvil, which has no build for ${machine}`, {
      hint: `Configure an RPC URL for the chain. ${REQUIREMENTS}`,
    })
  }
  const resolve = lookup.resolve ?? createRequire(import.meta.url).resolve
  try {
    const folder = dirname(resolve(`${name}/package.json`))
    return join(folder, 'bin', system === 'win32' ? 'anvil.exe' : 'anvil')
  } catch (cause) {
    throw new GdnError('native_missing', `the embedded EVM chains need anvil: the package ${name} is not installed`, {
      hint: `${howToInstall(`${name}@${ANVIL_VERSION}`)} ${REQUIREMENTS}`,
      cause,
    })
  }
}

/** Returns the error for a binary that doesn't start, usually because of another libc or a missing executable bit. */
export function anvilCannotRunError(binary: string, reason: string, cause?: unknown): GdnError {
  return new GdnError('native_missing', `anvil can't run on this machine: ${reason}`, {
    hint: `Configure an RPC URL for the chain. ${REQUIREMENTS}`,
    details: { binary },
    cause,
  })
}
