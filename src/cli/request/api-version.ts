import type { Settings } from '../../config/settings.ts'

/** Returns whether requests use version 1.2 of the API. */
export const isV12 = ({ apiVersion }: Pick<Settings, 'apiVersion'>): boolean => apiVersion?.value === '1.2'

/** Returns a hint if the server requires a field that is optional in version 1.2; undefined for any other error. */
export function versionHint(settings: Pick<Settings, 'apiVersion'>, refusal: string): string | undefined {
  if (!isV12(settings) || !/\b(blockchain|sender_wallet_address) is required\b/.test(refusal)) return undefined
  return `The server uses version 1.1 of the API for this key, but ${settings.apiVersion?.from} sets api_version 1.2. Change that setting, or use a key for version 1.2.`
}
