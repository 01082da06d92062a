import { createRequire } from 'node:module'
import { GdnError, messageOf } from '../core/errors.ts'
import { Secret } from '../core/secret.ts'

/** The keyring of the system: one secret by server. Every method rejects where it is locked or out of reach. */
export interface Keyring {
  get(origin: string): Promise<Secret | null>
  set(origin: string, key: Secret): Promise<void>
  /** Removing what isn't there is no error. */
  remove(origin: string): Promise<void>
}

/** Gives the keyring. Rejects with `native_missing` where this machine has none that can be used. */
export type OpenKeyring = () => Promise<Keyring>

/** The part of @napi-rs/keyring that is used. */
export interface NativeKeyring {
  AsyncEntry: new (
    service: string,
    username: string,
    options: { linux: { store: 'secret-service' } },
  ) => {
    getPassword(): Promise<string | null>
    setPassword(password: string): Promise<void>
    deletePassword(): Promise<boolean>
  }
}

const SERVICE = 'gdn'
const PACKAGE = '@napi-rs/keyring'
const KEYRING_RANGE = '2'

const loadNative = (): unknown => createRequire(import.meta.url)(PACKAGE)

/**
 * The system's keyring: Keychain, Credential Manager, or the Secret Service on Linux. There the package would fall back
 * to the kernel's keyring, which forgets everything at a restart: a file is better, so the service is insisted on.
 *
 * @throws GdnError `native_missing`: turned off by GDN_KEYRING=off, or the package isn't there
 */
export async function openKeyring(env: NodeJS.ProcessEnv, load: () => unknown = loadNative): Promise<Keyring> {
  if (env.GDN_KEYRING === 'off') throw missing('it is turned off by GDN_KEYRING=off', 'unset GDN_KEYRING')
  const { AsyncEntry } = native(load)
  const entry = (origin: string) => new AsyncEntry(SERVICE, origin, { linux: { store: 'secret-service' } })
  return {
    async get(origin) {
      const found = await entry(origin).getPassword()
      return found === null ? null : new Secret(found)
    },
    async set(origin, key) {
      await entry(origin).setPassword(key.reveal())
    },
    async remove(origin) {
      await entry(origin).deletePassword()
    },
  }
}

function native(load: () => unknown): NativeKeyring {
  try {
    return load() as NativeKeyring
  } catch (cause) {
    const [reason = ''] = messageOf(cause).split('\n')
    throw missing(
      `the package ${PACKAGE} can't be loaded (${reason})`,
      `install it beside gdn: npm install ${PACKAGE}@${KEYRING_RANGE} (with -g where gdn is installed globally)`,
      cause,
    )
  }
}

const missing = (reason: string, hint: string, cause?: unknown) =>
  new GdnError('native_missing', `the system keyring can't be used: ${reason}`, { hint, cause })
