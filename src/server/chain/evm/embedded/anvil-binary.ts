import { createRequire } from 'node:module'
import { arch, platform } from 'node:os'
import { dirname, join } from 'node:path'
import { GdnError } from '../../../../core/errors.ts'

export const ANVIL_VERSION = '1.7.1'

const PACKAGES: Record<string, string> = {
  'linux-x64': '@foundry-rs/anvil-linux-amd64',
  'linux-arm64': '@foundry-rs/anvil-linux-arm64',
  'darwin-x64': '@foundry-rs/anvil-darwin-amd64',
  'darwin-arm64': '@foundry-rs/anvil-darwin-arm64',
  'win32-x64': '@foundry-rs/anvil-win32-amd64',
}

const NEEDS =
  'anvil runs on Linux with glibc 2.35 or newer (Ubuntu 22.04, Debian 12, not Alpine) on x64 or arm64, on macOS, and on Windows x64'

/** A machine as `node:os` names it, and how a module is found from gdn's own files. */
export interface AnvilLookup {
  platform?: string
  arch?: string
  resolve?: (specifier: string) => string
}

/**
 * The path of the anvil binary for this machine. It ships as an optional dependency, a package per platform, and is
 * looked up from the running module: that works from the sources, from the bundle and from a global installation.
 *
 * @throws GdnError `native_missing` that names the command which installs it
 */
export function findAnvil(lookup: AnvilLookup = {}): string {
  const system = lookup.platform ?? platform()
  const machine = `${system}-${lookup.arch ?? arch()}`
  const name = PACKAGES[machine]
  if (name === undefined) {
    throw new GdnError('native_missing', `the embedded EVM chains need anvil, which isn't made for ${machine}`, {
      hint: `${NEEDS}; elsewhere give the chain by RPC URL`,
    })
  }
  const resolve = lookup.resolve ?? createRequire(import.meta.url).resolve
  try {
    const folder = dirname(resolve(`${name}/package.json`))
    return join(folder, 'bin', system === 'win32' ? 'anvil.exe' : 'anvil')
  } catch (cause) {
    throw new GdnError('native_missing', `the embedded EVM chains need anvil: the package ${name} isn't installed`, {
      hint: `install it beside gdn: npm install ${name}@${ANVIL_VERSION} (with -g where gdn is installed globally), or reinstall gdn without --omit=optional; ${NEEDS}`,
      cause,
    })
  }
}

/** The error for a binary that is there but doesn't start, which in practice means another libc or a missing x bit. */
export function anvilCannotRun(binary: string, reason: string, cause?: unknown): GdnError {
  return new GdnError('native_missing', `anvil can't run on this machine: ${reason}`, {
    hint: `${NEEDS}; elsewhere give the chain by RPC URL`,
    details: { binary },
    cause,
  })
}
