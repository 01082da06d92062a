import { createRequire } from 'node:module'
import { GdnError, messageOf } from '../core/errors.ts'
import { Secret } from '../core/secret.ts'

/** The system keyring, with one secret for each server. All methods reject if the keyring is locked or unavailable. */
export interface Keyring {
  get(origin: string): Promise<Secret | null>
  set(origin: string, key: Secret): Promise<void>
  /** Removes the secret of a server, if there is one. */
  remove(origin: string): Promise<void>
}

/** Opens the keyring. Rejects with `native_missing` if this machine has no usable keyring. */
export type OpenKeyring = () => Promise<Keyring>

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
 * Opens the system keyring: Keychain, Credential Manager, or the Secret Service on Linux. On Linux, the Secret Service
 * is required. Otherwise, the package would fall back to the kernel's keyring, which loses the keys when the machine
 * restarts.
 *
 * @throws GdnError `native_missing` if GDN_KEYRING=off disables the keyring, or if the package can't be loaded
 */
export async function openKeyring(env: NodeJS.ProcessEnv, load: () => unknown = loadNative): Promise<Keyring> {
  if (env.GDN_KEYRING === 'off') throw missingKeyringError('GDN_KEYRING=off disables it', 'Unset GDN_KEYRING.')
  const { AsyncEntry } = requireNative(load)
  const entry = (origin: string) => new AsyncEntry(SERVICE, origin, { linux: { store: 'secret-service' } })
  return {
    async get(origin) {
      const password = await entry(origin).getPassword()
      return password === null ? null : new Secret(password)
    },
    async set(origin, key) {
      await entry(origin).setPassword(key.reveal())
    },
    async remove(origin) {
      await entry(origin).deletePassword()
    },
  }
}

function requireNative(load: () => unknown): NativeKeyring {
  try {
    return load() as NativeKeyring
  } catch (cause) {
    const [reason = ''] = messageOf(cause).split('\n')
    throw missingKeyringError(
      `the package ${PACKAGE} can't be loaded (${reason})`,
      `Run \`npm install ${PACKAGE}@${KEYRING_RANGE}\` where gdn is installed (add -g if it is installed globally).`,
      cause,
    )
  }
}

const missingKeyringError = (reason: string, hint: string, cause?: unknown) =>
  new GdnError('native_missing', `can't use the system keyring: ${reason}`, { hint, cause })
