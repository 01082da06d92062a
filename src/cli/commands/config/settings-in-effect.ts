import type { Settings } from '../../../config/settings.ts'

const STORAGE_NAMES = ['storage', 'storage_endpoint', 'storage_region', 'storage_public_url', 'ipfs_api'] as const
const PRICE_NAMES = ['price_url', 'price_path', 'price_currency'] as const
const WALLET_NAMES = ['email', 'wallet_url'] as const
export const SETTINGS_SHOWN = [
  'profile',
  'base_url',
  'blockchain',
  'contract',
  'wallet',
  'rate',
  'api_version',
  ...STORAGE_NAMES,
  ...WALLET_NAMES,
  ...PRICE_NAMES,
] as const
type SettingName = (typeof SETTINGS_SHOWN)[number]

export interface SettingInEffect {
  name: SettingName
  value: string | number | null
  from: string | null
}

/** Returns every setting with its value in effect and its source. Unset versions, storage and wallet settings are left out. */
export function settingsInEffect(settings: Settings): SettingInEffect[] {
  const { profile, baseUrl, blockchain, contract, wallet, rate, apiVersion } = settings
  const row = (name: SettingName, setting: { value: string | number; from: string } | null): SettingInEffect => ({
    name,
    value: setting?.value ?? null,
    from: setting?.from ?? null,
  })
  return [
    { name: 'profile', value: profile, from: null },
    row('base_url', baseUrl),
    row('blockchain', blockchain),
    row('contract', contract),
    row('wallet', wallet),
    row('rate', rate),
    ...(apiVersion === null ? [] : [row('api_version', apiVersion)]),
    ...STORAGE_NAMES.flatMap((name) => {
      const value = settings.storage[name]
      return value === undefined ? [] : [row(name, { value, from: `profile ${profile}` })]
    }),
    ...PRICE_NAMES.flatMap((name) => {
      const value = settings.prices[name]
      return value === undefined ? [] : [row(name, { value, from: `profile ${profile}` })]
    }),
    ...(settings.email === null ? [] : [row('email', settings.email)]),
    ...(settings.walletUrl === null ? [] : [row('wallet_url', settings.walletUrl)]),
  ]
}
