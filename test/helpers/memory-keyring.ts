import type { Keyring } from '../../src/config/keyring.ts'
import { Secret } from '../../src/core/secret.ts'

export interface MemoryKeyring extends Keyring {
  readonly entries: Map<string, string>
  /** Calls so far, such as `get https://a.test`. */
  readonly calls: string[]
}

/** A keyring in memory. */
export function memoryKeyring(): MemoryKeyring {
  const entries = new Map<string, string>()
  const calls: string[] = []
  return {
    entries,
    calls,
    async get(origin) {
      calls.push(`get ${origin}`)
      const key = entries.get(origin)
      return key === undefined ? null : new Secret(key)
    },
    async set(origin, key) {
      calls.push(`set ${origin}`)
      entries.set(origin, key.reveal())
    },
    async remove(origin) {
      calls.push(`remove ${origin}`)
      entries.delete(origin)
    },
  }
}

/** An existing keyring that can't be used: locked, or without its daemon. */
export function lockedKeyring(): Keyring {
  const refuse = async () => {
    throw new Error('Platform failure: DBus error: the keyring is locked')
  }
  return { get: refuse, set: refuse, remove: refuse }
}
